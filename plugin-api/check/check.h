// One named check: a rule of plugin.h, and how to find out whether a plugin keeps it.
#pragma once

#include <waybill/plugin.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "check_host.h"
#include "findings.h"
#include "samples.h"
#include "waybill/conformance.h"

namespace waybill::conformance {

// What must work before a check is worth running. Those that need `action` or `sender` run for each action type.
enum class Needs { file, plugin, action, sender };

// What is checked, as far as the check needs it.
struct Subject {
  const std::filesystem::path& file;
  const SchemaValidator& schemas;
  Findings& findings;
  const wb_plugin* plugin = nullptr;
  const wb_action* action = nullptr;
  Sample sample{};
  bool is_executable = false;

  bool blocking() const { return (action->flags & WB_BLOCKING) != 0; }
};

struct Check {
  const char* name;
  const char* rule;
  const char* remedy;
  Needs needs;
  void (*run)(Subject& subject);
};

bool sample_is_good(Subject& subject);  // the host would hand it to a sender

std::vector<Check> all_checks();
const char* name_of(Needs needs);

// ---- each file of checks, in the order of the report ----
std::span<const Check> file_checks();
std::span<const Check> descriptor_checks();
std::span<const Check> validator_checks();
std::span<const Check> sender_checks();
std::span<const Check> answer_checks();
std::span<const Check> call_checks();
std::span<const Check> host_checks();
std::span<const Check> ending_checks();
std::span<const Check> ability_checks();

}  // namespace waybill::conformance
