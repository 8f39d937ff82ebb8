// Checks of what a plugin says of itself.
#include <algorithm>
#include <set>

#include "check.h"
#include "library.h"

namespace waybill::conformance {
namespace {

constexpr std::size_t kMaxActions = 64;
constexpr std::size_t kMaxReasons = 256;
constexpr std::size_t kMaxNameBytes = 64;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Those of a descriptor that can be walked; the others are the business of `descriptor`.
std::vector<const wb_action*> whole_actions(const wb_plugin* plugin) {
  std::vector<const wb_action*> actions;
  if (!WB_HAS(plugin, actions) || plugin->actions == nullptr || plugin->action_count > kMaxActions) return actions;
  for (std::size_t i = 0; i < plugin->action_count; ++i)
    if (const auto* const action = plugin->actions[i]; action != nullptr && WB_HAS(action, create)) actions.push_back(action);
  return actions;
}

std::string named(const wb_action& action) { return "action type \"" + std::string(view(action.type).substr(0, 64)) + "\" "; }

void descriptor(Subject& subject) {
  const auto& plugin = *subject.plugin;
  auto& findings = subject.findings;
  if (!WB_HAS(&plugin, actions)) return findings.found("wb_plugin::size is " + std::to_string(plugin.size) + ", too small");
  for (const auto& [what, text] : {std::pair("id", plugin.id), std::pair("version", plugin.version)}) {
    if (text.ptr == nullptr || text.len == 0 || text.len > 255)
      findings.found(std::string("its ") + what + " is empty or too long");
  }
  if (plugin.action_count == 0 || plugin.action_count > kMaxActions || plugin.actions == nullptr)
    return findings.found("it has no usable list of actions: 1 to 64 are allowed");
  for (std::size_t i = 0; i < plugin.action_count; ++i) {
    const auto* const action = plugin.actions[i];
    const auto which = "action " + std::to_string(i) + ' ';
    if (action == nullptr)
      findings.found(which + "is null");
    else if (!WB_HAS(action, create))
      findings.found(which + "is too short: is wb_action::size set?");
    else if (action->create == nullptr)
      findings.found(named(*action) + "has no create function");
    else if ((action->flags & ~std::uint32_t{WB_BLOCKING}) != 0)
      findings.found(named(*action) + "has unknown flags");
  }
}

void version(Subject& subject) {
  const auto& plugin = *subject.plugin;
  if (plugin.needs_minor > WB_ABI_MINOR)
    subject.findings.found("it needs a host of ABI 1." + std::to_string(plugin.needs_minor) + "; this one has 1." +
                           std::to_string(WB_ABI_MINOR));
  if (plugin.needs_minor > plugin.abi_minor)
    subject.findings.found("it needs ABI 1." + std::to_string(plugin.needs_minor) + " and was built against 1." +
                           std::to_string(plugin.abi_minor));
}

void action_types(Subject& subject) {
  std::set<std::string_view> seen;
  for (const auto* const action : whole_actions(subject.plugin)) {
    const auto type = view(action->type);
    if (!is_word(type) || type.front() < 'a') subject.findings.found(named(*action) + "is not [a-z][a-z0-9_]*, at most 64 bytes");
    if (!seen.insert(type).second) subject.findings.found(named(*action) + "is there twice");
  }
}

void reasons(Subject& subject) {
  auto& findings = subject.findings;
  for (const auto* const action : whole_actions(subject.plugin)) {
    if (action->reason_count > kMaxReasons || (action->reasons == nullptr && action->reason_count != 0)) {
      findings.found(named(*action) + "has no usable list of reasons");
      continue;
    }
    std::set<std::string_view> seen;
    for (std::uint32_t i = 0; i < action->reason_count; ++i) {
      const auto& reason = action->reasons[i];
      const auto name = view(reason.name);
      const auto which = named(*action) + "has the reason \"" + std::string(name.substr(0, 64)) + "\" ";
      if (!is_word(name)) findings.found(which + "which is not [a-z0-9_]+, at most 64 bytes");
      if (!seen.insert(name).second) findings.found(which + "twice");
      if (reason.reserved != 0 || (reason.flags & ~std::uint32_t{WB_REASON_PERMANENT | WB_REASON_DUPLICATE}) != 0)
        findings.found(which + "with unknown flags");
    }
  }
}

void schemas(Subject& subject) {
  if (!subject.schemas.fault) return subject.findings.skipped("nothing here can validate schemas");
  for (const auto* const action : whole_actions(subject.plugin))
    for (const auto& [what, text] :
         {std::pair("settings", view(action->settings_schema)), std::pair("destination", view(action->destination_schema)),
          std::pair("payload", payload_schema_of(*action))})
      if (const auto fault = subject.schemas.fault(text); !fault.empty())
        subject.findings.found(named(*action) + "has a " + what + " schema that cannot be used: " + fault);
}

constexpr Check kChecks[] = {
    {"descriptor", "the descriptor and its actions are whole",
     "set every `size` with sizeof, give id, version and at least one action with a create function", Needs::plugin, &descriptor},
    {"version", "it needs no newer host than this one",
     "build with this host's waybill/plugin.h and the needs_minor of what you use", Needs::plugin, &version},
    {"action_types", "action types are well formed and unique", "name each action type once, [a-z][a-z0-9_]*", Needs::plugin,
     &action_types},
    {"reasons", "the outcome taxonomy is well formed, each reason once", "name reasons [a-z0-9_]+, with reserved 0",
     Needs::plugin, &reasons},
    {"schemas", "its schemas are JSON Schemas", "make them JSON Schemas of draft 7, or leave them empty", Needs::plugin,
     &schemas},
};

}  // namespace

std::span<const Check> descriptor_checks() { return kChecks; }

}  // namespace waybill::conformance
