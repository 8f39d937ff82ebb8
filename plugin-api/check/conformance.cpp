// Carries out an order: which checks run for which action types, and the report of them.
#include "waybill/conformance.h"

#include <algorithm>
#include <array>
#include <set>

#include "check.h"
#include "isolated_check.h"
#include "library.h"

namespace waybill::conformance {
namespace {

// What a process cannot do, or what its host sees to: borrowed memory, layouts of structs, what it leaves behind.
constexpr std::array kOfLibraries{"arguments", "newer_host",      "older_host",     "clock",
                                  "prompt",    "deadline",        "leaves_nothing", "leaves_process",
                                  "leaks",     "create_is_quiet", "validators_pure"};

bool concerns(const Order& order, const Check& check) {
  if (!order.open) return true;
  return check.needs != Needs::file && std::none_of(kOfLibraries.begin(), kOfLibraries.end(),
                                                    [&](const char* name) { return std::string_view(name) == check.name; });
}

tl::expected<const wb_plugin*, std::string> open_plugin(const Order& order, Findings& findings) {
  findings.doing("the plugin was loaded");
  if (order.open) return order.open(order.file);
  const auto entry = open_library(order.file);
  if (!entry) return tl::unexpected(entry.error());
  findings.doing("wb_plugin_v1");
  return descriptor_of(*entry);
}

// Runs in the process of the check: makes ready what the check needs, or says why it is skipped.
void carry_out(const Order& order, const Check& check, Subject& subject, const std::string& action_type, const Samples& samples) {
  if (check.needs == Needs::file) return check.run(subject);
  const auto plugin = open_plugin(order, subject.findings);
  if (!plugin) {  // of a shared library the checks of the file say why
    const bool says_why = order.open && check.needs == Needs::plugin && check.name == std::string_view("descriptor");
    return says_why ? subject.findings.found(plugin.error()) : subject.findings.skipped(plugin.error());
  }
  subject.plugin = *plugin;
  if (check.needs == Needs::plugin) return check.run(subject);
  subject.findings.doing("the descriptor was read");
  const auto actions = usable_actions(subject.plugin);
  if (!actions) return subject.findings.skipped(actions.error());
  const auto found =
      std::find_if(actions->begin(), actions->end(), [&](const wb_action* action) { return view(action->type) == action_type; });
  if (found == actions->end()) return subject.findings.skipped("the descriptor does not name this action type any more");
  subject.action = *found;
  subject.sample = sample_for(samples, action_type, view(subject.action->destination_schema));
  if (check.needs == Needs::action) return check.run(subject);
  subject.findings.doing("the sample was checked");
  if (!sample_is_good(subject)) return subject.findings.skipped("the sample is refused (see the check samples)");
  check.run(subject);
}

// Reads in a process of its own which action types can be checked, or why there are none.
IsolatedCheck action_types_of(const Order& order) {
  std::vector<IsolatedCheck> isolated(1);
  isolated[0].body = [&](Findings& findings) {
    const auto plugin = open_plugin(order, findings);
    if (!plugin) return findings.skipped(plugin.error());
    const auto actions = usable_actions(*plugin);
    if (!actions) return findings.skipped(actions.error());
    for (const auto* const action : *actions) findings.action_type(view(action->type));
  };
  run_isolated(isolated, order.time_limit);
  return std::move(isolated[0]);
}

struct PlannedCheck {
  const Check* check;
  std::string action_type;
};

std::vector<PlannedCheck> plan(const Order& order, const std::vector<Check>& checks,
                               const std::vector<std::string>& action_types) {
  const std::set<std::string> only(order.only.begin(), order.only.end());
  std::vector<PlannedCheck> planned;
  for (const auto& check : checks) {
    if (!concerns(order, check) || (!only.empty() && only.count(check.name) == 0)) continue;
    const bool once = check.needs == Needs::file || check.needs == Needs::plugin || action_types.empty();
    if (once) planned.push_back({&check, ""});
    if (!once)
      for (const auto& type : action_types) planned.push_back({&check, type});
  }
  return planned;
}

std::string fault_in(const Order& order) {
  std::error_code error;
  const bool is_there =
      order.open ? std::filesystem::is_directory(order.file, error) : std::filesystem::is_regular_file(order.file, error);
  if (!is_there) return order.file.string() + ": there is no such file";
  const auto known = all_checks();
  for (const auto& name : order.only)
    if (std::none_of(known.begin(), known.end(), [&](const Check& check) { return name == check.name; }))
      return "there is no check " + name + " (see --list)";
  return {};
}

Finding finding_of(const PlannedCheck& planned, IsolatedCheck isolated) {
  Finding finding{planned.check->name, planned.action_type, Result::ok, {}, {}};
  if (!isolated.found.empty()) {
    finding.result = Result::failed;
    finding.found = std::move(isolated.found);
    finding.remedy = planned.check->remedy;
  } else if (!isolated.skipped.empty()) {
    finding.result = Result::skipped;
    finding.found = {isolated.skipped.front()};
  }
  return finding;
}

}  // namespace

std::string_view word_for(Result result) { return result == Result::ok ? "ok" : result == Result::failed ? "failed" : "skipped"; }

bool Report::good() const {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& one) { return one.result == Result::failed; });
}

const char* name_of(Needs needs) {
  static constexpr const char* kNames[] = {"file", "plugin", "action", "sender"};
  return kNames[static_cast<std::size_t>(needs)];
}

std::vector<Check> all_checks() {
  std::vector<Check> all;
  for (const auto part : {file_checks(), descriptor_checks(), validator_checks(), sender_checks(), answer_checks(), call_checks(),
                          host_checks(), ending_checks(), ability_checks()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<CheckName> list_checks() {
  std::vector<CheckName> names;
  for (const auto& check : all_checks()) names.push_back({check.name, check.rule, name_of(check.needs)});
  return names;
}

tl::expected<Report, std::string> check_plugin(const Order& asked) {
  if (auto fault = fault_in(asked); !fault.empty()) return tl::unexpected(std::move(fault));
  auto order = asked;
  order.file = std::filesystem::canonical(asked.file);
  Samples samples;
  if (!order.samples.empty()) {
    auto read = read_samples(order.samples);
    if (!read) return tl::unexpected(read.error());
    samples = std::move(*read);
  }
  const auto types = action_types_of(order);
  for (const auto& [type, unused] : samples) {
    const auto& known = types.action_types;
    if (!known.empty() && std::find(known.begin(), known.end(), type) == known.end())
      return tl::unexpected(order.samples.string() + ": " + type + ": the plugin has no such action type");
  }
  const auto checks = all_checks();
  const auto planned = plan(order, checks, types.action_types);
  std::vector<IsolatedCheck> isolated(planned.size());
  for (std::size_t i = 0; i < planned.size(); ++i)
    isolated[i].body = [&order, &samples, &one = planned[i]](Findings& findings) {
      Subject subject{order.file, order.schemas, findings};
      subject.is_executable = order.open != nullptr;
      carry_out(order, *one.check, subject, one.action_type, samples);
    };
  run_isolated(isolated, order.time_limit);
  Report report;
  for (std::size_t i = 0; i < planned.size(); ++i) report.findings.push_back(finding_of(planned[i], std::move(isolated[i])));
  return report;
}

}  // namespace waybill::conformance
