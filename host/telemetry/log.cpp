// Writes log events to standard error through spdlog.
#include "telemetry/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "telemetry/journal.h"

namespace waybill {
namespace {

spdlog::level::level_enum spdlog_level(Log::Level level) {
  switch (level) {
    case Log::Level::debug:
      return spdlog::level::debug;
    case Log::Level::info:
      return spdlog::level::info;
    case Log::Level::warn:
      return spdlog::level::warn;
    case Log::Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

const char* word(Log::Level level) {
  switch (level) {
    case Log::Level::debug:
      return "debug";
    case Log::Level::info:
      return "info";
    case Log::Level::warn:
      return "warn";
    case Log::Level::error:
      return "error";
  }
  return "error";
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(millis / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char day[32];
  char text[48];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text, sizeof text, "%s.%03dZ", day, static_cast<int>(millis % 1000));
  return text;
}

std::string json_line(Log::Level level, std::string_view event, std::span<const Field> fields) {
  Json line = {{"ts", utc_now()}, {"level", word(level)}, {"event", event}};
  for (const auto& field : fields) {
    std::string key(field.key);
    while (line.contains(key)) key += '_';  // a field never hides another, nor the event itself
    line[key] = field.value;
  }
  return dump(line);
}

// As it is when that is unmistakable, else quoted: a value can never begin a line of its own or colour the terminal.
std::string readable(std::string_view value) {
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(),
                                                   [](unsigned char c) { return c > ' ' && c < 127 && c != '"' && c != '='; });
  return plain ? std::string(value) : json_string(value);
}

std::string columns(std::string_view event, std::span<const Field> fields) {
  std::string line(event);
  if (!fields.empty() && line.size() < 24) line.resize(24, ' ');
  for (const auto& field : fields) line.append(" ").append(readable(field.key)).append("=").append(readable(field.value));
  return line;
}

}  // namespace

std::vector<Field> traced(std::vector<Field> fields, const Trace& trace) {
  if (trace) fields.emplace_back("trace_id", trace->trace_id);
  return fields;
}

struct Log::Sink {
  Format format;
  spdlog::logger logger;

  Sink(Level least, Format chosen)
      : format(chosen),
        logger("waybill", chosen == Format::pretty ? spdlog::sink_ptr(std::make_shared<spdlog::sinks::stderr_color_sink_mt>())
                                                   : std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger.set_level(spdlog_level(least));
    logger.set_pattern(chosen == Format::pretty ? "%H:%M:%S.%e %^%-7l%$ %v" : "%v");
    logger.set_error_handler([](const std::string&) {});  // a full disk behind standard error must not end the host
  }
};

Log::Log(Level least, Format format) : sink_(std::make_unique<Sink>(least, format)) {}
Log::Log() = default;
Log::~Log() = default;

void Log::write(Level level, std::string_view event, std::span<const Field> fields) {
  if (!sink_ || !sink_->logger.should_log(spdlog_level(level))) return;
  try {
    if (sink_->format == Format::journal && write_to_journal(level, event, fields, columns(event, fields))) return;
    const std::string line = sink_->format == Format::pretty ? columns(event, fields) : json_line(level, event, fields);
    sink_->logger.log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
  } catch (...) {  // out of memory: the event is lost, its cause goes on
  }
}

std::optional<Log::Format> log_format_of(std::string_view word) {
  if (word == "json") return Log::Format::json;
  if (word == "pretty") return Log::Format::pretty;
  if (word == "journal") return Log::Format::journal;
  return std::nullopt;
}

Log::Format log_format_of_standard_error() {
  if (isatty(STDERR_FILENO)) return Log::Format::pretty;
  return is_standard_error_the_journal() ? Log::Format::journal : Log::Format::json;
}

void Log::flush() {
  if (!sink_) return;
  try {
    sink_->logger.flush();
  } catch (...) {
  }
}

}  // namespace waybill
