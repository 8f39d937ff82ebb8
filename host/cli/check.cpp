// `waybill check`: configuration, plugins and registry; with --online also what they lead to.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "base/printing.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/online_check.h"
#include "cli/progress_line.h"

namespace waybill {
namespace {

constexpr auto kKept = " (where hosts of an earlier version ran, it stays in the host until plugin_isolation is set)";

// Where each plugin runs, and why.
void print(const std::vector<LoadedPlugin>& plugins) {
  for (const auto& plugin : plugins)
    print_text("%-8s %-24s %s: %s%s\n", "plugin", plugin.file.c_str(), word_of(plugin.isolation.mode),
               plugin.isolation.why.c_str(),
               plugin.isolation.by_default && plugin.isolation.mode == IsolationMode::process ? kKept : "");
}

Json json_of(const std::vector<LoadedPlugin>& plugins) {
  Json list = Json::array();
  for (const auto& plugin : plugins)
    list.push_back({{"file", plugin.file}, {"isolation", word_of(plugin.isolation.mode)}, {"why", plugin.isolation.why}});
  return list;
}

struct Report {
  Problems problems, warnings;
  std::string summary;
  std::vector<LoadedPlugin> plugins;
  Findings findings;  // of what was asked online
};

std::string summary_of(const LoadedInstallation& installation) {
  if (!installation.registry) return "";
  const auto& registry = *installation.registry;
  return std::to_string(installation.catalogue->loaded().size()) + " plugin(s), " + std::to_string(registry.targets().size()) +
         " target(s), " + std::to_string(registry.forms().size()) + " form(s), " + std::to_string(registry.pipelines().size()) +
         " pipeline(s)";
}

Report look_at(const Config& config, bool online) {
  LoadedInstallation installation = load_installation(config);
  Report report{.problems = {},
                .warnings = config.warnings,
                .summary = summary_of(installation),
                .plugins = installation.catalogue->loaded(),
                .findings = {}};
  for (const auto& plugin : installation.catalogue->refused())
    report.problems.push_back(
        {(config.plugins / plugin.file).string(), 0, {}, "refused: " + plugin.reason + " (" + plugin.remedy + ")"});
  const auto add = [](Problems& to, const Problems& more) { to.insert(to.end(), more.begin(), more.end()); };
  add(report.problems, installation.problems);
  add(report.warnings, installation.warnings);
  if (!online) return report;
  ProgressLine progress("asking the database, relays and destinations");
  progress.show();
  Log log = quiet_log();
  report.findings = check_database_online(config, log);
  if (!installation.problems.empty()) return report;
  if (const auto asking = make_asking(config, std::move(installation)))
    for (auto& finding : check_outside(*asking)) report.findings.push_back(std::move(finding));
  else
    report.problems.push_back({config.file.string(), 0, "", "what is outside could not be asked: see above"});
  return report;
}

}  // namespace

int check(const GlobalOptions& options, bool online) {
  const auto config = configuration(options);
  if (!config) return 1;
  Report report;
  if (auto harm = harm_of(*config); !harm.empty())
    report.problems.push_back({config->file.string(), 0, "", std::move(harm)});
  else
    report = look_at(*config, online);
  auto& problems = report.problems;
  const bool good = problems.empty() && !has_problem(report.findings);
  if (options.json) {
    const auto more = problems.size() - std::min(problems.size(), kMaxPrintedProblems);
    problems.resize(problems.size() - more);
    Json answer{{"good", good},
                {"problems", problems_json(problems)},
                {"more", more},
                {"warnings", problems_json(report.warnings)},
                {"plugins", json_of(report.plugins)}};
    if (online) answer["online"] = json_of(report.findings);
    print_json(answer);
    return good ? 0 : 1;
  }
  print(problems);
  print(report.warnings, "warning: ");
  for (const auto& finding : report.findings) print(finding);
  print(report.plugins);
  if (!good) return 1;
  print_text(Ink::bold, "good:");
  print_text(" %s\n", report.summary.c_str());
  return 0;
}

}  // namespace waybill
