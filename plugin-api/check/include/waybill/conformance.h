// Checks whether a plugin keeps the rules of plugin.h. Every check runs in a process of its own, so that there is an answer
// whatever the plugin does. `waybill plugin check` prints the report.
#pragma once

#include <waybill/plugin.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace waybill::conformance {

// How the host that will load the plugin validates its JSON Schemas. The caller passes it in, so that both decide alike.
struct SchemaValidator {
  std::function<std::string(std::string_view schema)> fault;  // "" if it can be used
  std::function<std::vector<std::string>(std::string_view schema, const std::string& json)> problems;
};

struct Order {
  std::filesystem::path file;
  std::filesystem::path samples;                 // "" for none
  std::vector<std::string> only;                 // names of checks; empty for all
  std::chrono::milliseconds time_limit{10'000};  // of each check
  SchemaValidator schemas;
  // Opens a plugin that is no shared library, in a process that lives for one check; an error says why it cannot be opened. Null:
  // it is one. The checks of what only a shared library can do are left out then.
  std::function<tl::expected<const wb_plugin*, std::string>(const std::filesystem::path& file)> open;
};

// An extension that only those have whom `open` opens: it tells them that the host ended a call, which a shared library learns
// from nothing.
inline constexpr const char* kEndedExtension = "waybill.check.ended/1";
struct EndedExtension {
  void (*ended)(wb_sender* self, wb_call call);
};

enum class Result { ok, failed, skipped };
std::string_view word_for(Result result);

struct Finding {
  std::string check;
  std::string action_type;  // "" of the whole plugin
  Result result = Result::ok;
  std::vector<std::string> found;  // of a skipped one: why
  std::string remedy;              // of a failed one
};

struct Report {
  std::vector<Finding> findings;  // in the order of list_checks
  bool good() const;              // nothing failed
};

struct CheckName {
  std::string name;
  std::string rule;   // what a plugin must do
  std::string needs;  // what must work before it is tried: file, plugin, action or sender
};
std::vector<CheckName> list_checks();

// An error says how the order is wrong: no such file or check, or a place in the samples. Forks: call it while the process has no
// second thread.
tl::expected<Report, std::string> check_plugin(const Order& order);

}  // namespace waybill::conformance
