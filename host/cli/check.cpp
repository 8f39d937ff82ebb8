// `waybill check`: configuration, plugins and registry; with --online also what they lead to.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "base/printing.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/online_check.h"

namespace waybill {
namespace {

void print(const Findings& findings) {
  for (const auto& finding : findings)
    print_text("%-8s %-24s %s%s%s\n", word_of(finding.level), finding.what.c_str(), finding.message.c_str(),
               finding.remedy.empty() ? "" : "; remedy: ", finding.remedy.c_str());
}

Json json_of(const Findings& findings) {
  Json list = Json::array();
  for (const auto& finding : findings)
    list.push_back(
        {{"level", word_of(finding.level)}, {"what", finding.what}, {"message", finding.message}, {"remedy", finding.remedy}});
  return list;
}

}  // namespace

int check(const GlobalOptions& options, bool online) {
  const auto config = configuration(options);
  if (!config) return 1;
  LoadedInstallation installation = load_installation(*config);
  Problems problems;
  for (const auto& plugin : installation.catalogue->refused())
    problems.push_back(
        {(config->plugins / plugin.file).string(), 0, {}, "refused: " + plugin.reason + " (" + plugin.remedy + ")"});
  problems.insert(problems.end(), installation.problems.begin(), installation.problems.end());
  Problems warnings = config->warnings;
  warnings.insert(warnings.end(), installation.warnings.begin(), installation.warnings.end());
  const auto summary = installation.registry ? std::to_string(installation.catalogue->loaded().size()) + " plugin(s), " +
                                                   std::to_string(installation.registry->targets().size()) + " target(s), " +
                                                   std::to_string(installation.registry->forms().size()) + " form(s), " +
                                                   std::to_string(installation.registry->pipelines().size()) + " pipeline(s)"
                                             : "";
  Findings findings;
  if (online) {
    Log log = quiet_log();
    findings = check_database_online(*config, log);
    if (installation.problems.empty()) {
      const auto asking = make_asking(*config, std::move(installation));
      if (!asking) return 1;
      for (auto& finding : check_outside(*asking)) findings.push_back(std::move(finding));
    }
  }
  const bool good = problems.empty() && std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
                      return finding.level == Finding::Level::problem;
                    });
  if (options.json) {
    const auto more = problems.size() - std::min(problems.size(), kMaxPrintedProblems);
    problems.resize(problems.size() - more);
    Json answer{{"good", good}, {"problems", problems_json(problems)}, {"more", more}, {"warnings", problems_json(warnings)}};
    if (online) answer["online"] = json_of(findings);
    print_json(answer);
    return good ? 0 : 1;
  }
  print(problems);
  print(warnings, "warning: ");
  print(findings);
  if (!good) return 1;
  print_text("good: %s\n", summary.c_str());
  return 0;
}

}  // namespace waybill
