// What a plugin says of itself, checked before any of it is used.
#include "plugin_library/plugin_descriptor.h"

#include <waybill/plugin.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxActions = 64;
constexpr std::size_t kMaxReasons = 256;
constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxSchemaBytes = 1 << 20;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_type_name(std::string_view text) { return is_word(text) && text.front() >= 'a' && text.front() <= 'z'; }

bool is_line(std::string_view text, std::size_t most) {
  return text.size() <= most && is_valid_utf8(text) && clean_text(text, most) == text;
}

std::string quoted(std::string_view text) { return "\"" + clean_text(text, kMaxNameBytes) + "\""; }

Result<std::vector<Reason>> check_reasons(const wb_action& action, const std::string& type) {
  if (action.reason_count > kMaxReasons || (action.reasons == nullptr && action.reason_count != 0))
    return refuse_plugin("action type " + type + " has no usable list of reasons",
                         "let reasons point to reason_count entries, at most 256");
  std::vector<Reason> reasons;
  std::set<std::string_view> seen;
  for (std::uint32_t i = 0; i < action.reason_count; ++i) {
    const auto name = view_of(action.reasons[i].name);
    if (!is_word(name))
      return refuse_plugin("action type " + type + ": reason " + quoted(name) + " is malformed",
                           "name reasons [a-z0-9_]+, at most 64 bytes");
    if (!seen.insert(name).second)
      return refuse_plugin("action type " + type + " declares the reason " + quoted(name) + " twice", "declare each reason once");
    reasons.push_back({std::string(name), (action.reasons[i].flags & WB_REASON_PERMANENT) != 0,
                       (action.reasons[i].flags & WB_REASON_DUPLICATE) != 0});
  }
  return reasons;
}

template <class Check>
Result<Check> check_schema(const wb_str& text, const std::string& type, const std::string& which) {
  const auto schema = view_of(text);
  if (schema.size() > kMaxSchemaBytes)
    return refuse_plugin("action type " + type + ": its " + which + " schema is longer than 1 MiB", "shorten it");
  auto compiled = Check::compile(schema);
  if (!compiled)
    return refuse_plugin("action type " + type + ": its " + which + " schema is malformed: " + compiled.error().what,
                         "make it a JSON Schema of draft 7");
  return compiled;
}

Result<LoadedAction> check_action(const wb_action* action) {
  if (action == nullptr || !WB_HAS(action, create))
    return refuse_plugin("it has an action without a complete descriptor", "set wb_action::size to sizeof(wb_action)");
  const auto name = view_of(action->type);
  if (!is_type_name(name))
    return refuse_plugin("the action type " + quoted(name) + " is malformed",
                         "name action types [a-z][a-z0-9_]*, at most 64 bytes");
  const std::string type(name);
  if (action->create == nullptr) return refuse_plugin("action type " + type + " has no create function", "set wb_action::create");
  auto reasons = check_reasons(*action, type);
  TRY(reasons);
  auto settings = check_schema<JsonCheck>(action->settings_schema, type, "settings");
  TRY(settings);
  auto destination = check_schema<JsonCheck>(action->destination_schema, type, "destination");
  TRY(destination);
  const auto payload_schema = WB_HAS(action, payload_schema) ? action->payload_schema : borrow("");
  std::optional<BoundedCheck> payload;
  if (!view_of(payload_schema).empty()) {
    auto checked = check_schema<BoundedCheck>(payload_schema, type, "payload");
    TRY(checked);
    payload = std::move(*checked);
  }
  return LoadedAction{.type = {type, (action->flags & WB_BLOCKING) != 0, std::move(*reasons)},
                      .action = action,
                      .settings = view_of(action->settings_schema).empty() ? JsonCheck::nothing() : std::move(*settings),
                      .destination = std::move(*destination),
                      .payload = std::move(payload)};
}

}  // namespace

tl::unexpected<Error> refuse_plugin(const std::string& what, const std::string& remedy) {
  return fail(Error::Kind::invalid, what + "\n" + remedy);
}

Result<Descriptor> check_descriptor(const wb_plugin* plugin) {
  if (plugin == nullptr) return refuse_plugin("wb_plugin_v1 returned null", "return the descriptor");
  if (!WB_HAS(plugin, actions)) return refuse_plugin("its descriptor is too short", "set wb_plugin::size to sizeof(wb_plugin)");
  if (plugin->needs_minor > WB_ABI_MINOR)
    return refuse_plugin(
        "it needs a host of ABI 1." + std::to_string(plugin->needs_minor) + "; this one has 1." + std::to_string(WB_ABI_MINOR),
        "install a newer waybill, or build the plugin with a smaller needs_minor");
  const auto id = view_of(plugin->id);
  if (id.empty() || !is_line(id, 255)) return refuse_plugin("its id is empty or malformed", "give it an id of at most 255 bytes");
  if (!is_line(view_of(plugin->version), 255))
    return refuse_plugin("its version is malformed", "give it a version of at most 255 bytes");
  if (plugin->action_count == 0 || plugin->action_count > kMaxActions || plugin->actions == nullptr)
    return refuse_plugin("it has no usable list of actions", "let actions point to action_count entries, 1 to 64");
  Descriptor descriptor{std::string(id), std::string(view_of(plugin->version)), plugin->abi_minor, {}};
  std::set<std::string> types;
  for (std::size_t i = 0; i < plugin->action_count; ++i) {
    auto action = check_action(plugin->actions[i]);
    TRY(action);
    if (!types.insert(action->type.name).second)
      return refuse_plugin("it has the action type " + action->type.name + " twice", "name each action type once");
    descriptor.actions.push_back(std::move(*action));
  }
  return descriptor;
}

void ReportedProblems::report(void* self, wb_str path, wb_str message) noexcept {
  try {
    auto& problems = static_cast<ReportedProblems*>(self)->problems;
    if (problems.size() >= kMaxProblems) return;
    const auto where = clean_text(view_of(path), kMaxMessageBytes);
    problems.push_back({"", 0, dotted_path(where), clean_text(view_of(message), kMaxMessageBytes)});
  } catch (...) {  // out of memory: the number that the plugin returns still tells that something is wrong
  }
}

Problems ask_plugin(std::int32_t (*validate)(wb_str, wb_report, void*), const std::string& json) {
  if (validate == nullptr) return {};
  ReportedProblems reported;
  try {
    const auto count = validate(borrow(json), &ReportedProblems::report, &reported);
    if (count != 0 && reported.problems.empty())
      reported.problems.push_back({"", 0, "", "refused by the plugin, which does not say why"});
  } catch (...) {
    reported.problems.push_back({"", 0, "", "the plugin failed while it checked this"});
  }
  return std::move(reported.problems);
}

}  // namespace waybill
