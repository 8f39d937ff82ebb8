// Logs are events with a name and fields, not prose. spdlog is behind this.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace_context.h"

namespace waybill {

struct Field {
  std::string_view key;
  std::string value;
  Field(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  template <class T>
  requires std::is_arithmetic_v<T> Field(std::string_view k, T v) : key(k), value(std::to_string(v)) {}
};

// The same with the id of the trace as `trace_id`; null: without.
std::vector<Field> traced(std::vector<Field> fields, const Trace& trace);

// Safe from any thread.
class Log {
 public:
  enum class Level { debug, info, warn, error };
  // One JSON object a line; columns for a terminal; entries of the systemd journal, or what it does not take as JSON.
  enum class Format { json, pretty, journal };

  Log(Level least, Format format);  // writes to standard error
  virtual ~Log();
  virtual void write(Level level, std::string_view event, std::span<const Field> fields);

  void debug(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::debug, event, fields); }
  void info(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::info, event, fields); }
  void warn(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::warn, event, fields); }
  void error(std::string_view event, std::initializer_list<Field> fields = {}) { write(Level::error, event, fields); }
  void flush();

 protected:
  Log();  // for tests that keep the events

 private:
  struct Sink;
  std::unique_ptr<Sink> sink_;
};

// Of the words json, pretty and journal.
std::optional<Log::Format> log_format_of(std::string_view word);
// Pretty on a terminal, journal if it leads there, else JSON.
Log::Format log_format_of_standard_error();

}  // namespace waybill
