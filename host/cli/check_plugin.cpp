// `waybill plugin check`: the conformance checks of one plugin file, as a table or as JSON.
#include <waybill/conformance.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_check.h"
#include "base/printing.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "plugin_bridge/executable_plugin.h"

namespace waybill {
namespace {

using conformance::Finding;
using conformance::Result;

constexpr int kCalledWrongly = 2;

// Validates the schemas with the code that will validate them when the plugin is installed.
conformance::SchemaValidator schema_validator() {
  return {.fault =
              [](std::string_view schema) {
                const auto compiled = JsonCheck::compile(schema);
                return compiled ? std::string() : compiled.error().what;
              },
          .problems =
              [](std::string_view schema, const std::string& json) {
                std::vector<std::string> words;
                const auto compiled = JsonCheck::compile(schema);
                if (!compiled) return words;  // the schema itself is what is wrong
                for (const auto& problem : compiled->check(json)) words.push_back(to_string(problem));
                return words;
              }};
}

tl::expected<const wb_plugin*, std::string> open_for_check(const std::filesystem::path& folder) {
  auto opened = open_executable(folder);
  if (!opened) return tl::unexpected(opened.error().what);
  return *opened;
}

int list(bool as_json) {
  Json list = Json::array();
  for (const auto& check : conformance::list_checks()) {
    if (as_json)
      list.push_back({{"name", check.name}, {"rule", check.rule}, {"needs", check.needs}});
    else
      print_text("%-20s %s\n", check.name.c_str(), check.rule.c_str());
  }
  if (as_json) print_json(list);
  return 0;
}

Json json_of(const std::string& file, const conformance::Report& report) {
  Json checks = Json::array();
  for (const auto& one : report.findings) {
    Json json{{"name", one.check}, {"result", word_for(one.result)}, {"found", one.found}};
    if (!one.action_type.empty()) json["action_type"] = one.action_type;
    if (!one.remedy.empty()) json["remedy"] = one.remedy;
    checks.push_back(std::move(json));
  }
  return {{"file", file}, {"good", report.good()}, {"checks", std::move(checks)}};
}

std::string title_of(const Finding& one) {
  return one.action_type.empty() ? one.check : one.check + " [" + one.action_type + "]";
}

void print_table(const std::string& file, const conformance::Report& report) {
  std::size_t width = 0, counts[3] = {};
  for (const auto& one : report.findings) width = std::max(width, title_of(one).size());
  const auto line = [&](const std::string& title, const char* word, const std::string& text) {
    print_line(title + std::string(width - title.size() + 2, ' ') + word + (text.empty() ? "" : "  " + text));
  };
  for (const auto& one : report.findings) {
    ++counts[static_cast<int>(one.result)];
    const auto* const word = one.result == Result::ok ? "ok" : one.result == Result::failed ? "FAILED " : "skipped";
    line(title_of(one), word, one.found.empty() ? "" : one.found.front());
    for (std::size_t i = 1; i < one.found.size(); ++i) line("", "       ", one.found[i]);
    if (!one.remedy.empty()) line("", "       ", "remedy: " + one.remedy);
  }
  print_text("%zu ok, %zu failed, %zu skipped: %s %s\n", counts[0], counts[1], counts[2], file.c_str(),
             report.good() ? "keeps the rules" : "breaks the rules");
}

}  // namespace

int check_plugin_file(const PluginCheckOptions& options) {
  if (options.list) return list(options.json);
  if (options.file.empty()) {
    failed("plugin check needs the plugin's file (see --help)");
    return kCalledWrongly;
  }
  const bool is_executable = std::filesystem::is_directory(options.file);
  ProgressLine progress("checking " + options.file);
  progress.show();
  const auto report = conformance::check_plugin({.file = options.file,
                                                 .samples = options.samples,
                                                 .only = options.only,
                                                 .time_limit = std::chrono::milliseconds(std::llround(options.time_limit * 1000)),
                                                 .schemas = schema_validator(),
                                                 .open = is_executable ? open_for_check : nullptr});
  progress.clear();
  if (!report) {
    failed(report.error());
    return kCalledWrongly;
  }
  if (options.json)
    print_json(json_of(options.file, *report));
  else
    print_table(options.file, *report);
  return report->good() ? 0 : 1;
}

}  // namespace waybill
