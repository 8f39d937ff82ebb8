// A plugin's descriptor as JSON.
#include "plugin_library/descriptor_json.h"

#include <waybill/plugin.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill {
namespace {

constexpr const char* kRemedy = "\nwrite it as docs/plugin-protocol.md says";

Json json_of(const wb_action& action) {
  Json reasons = Json::array();
  for (std::uint32_t i = 0; i < action.reason_count; ++i) {
    Json reason{{"name", view_of(action.reasons[i].name)}};
    if ((action.reasons[i].flags & WB_REASON_PERMANENT) != 0) reason["permanent"] = true;
    if ((action.reasons[i].flags & WB_REASON_DUPLICATE) != 0) reason["duplicate"] = true;
    reasons.push_back(std::move(reason));
  }
  Json json{{"type", view_of(action.type)}, {"reasons", std::move(reasons)}};
  if ((action.flags & WB_BLOCKING) != 0) json["blocking"] = true;
  const auto schema = [&](const char* name, const wb_str& text) {
    if (!view_of(text).empty()) json[name] = view_of(text);
  };
  schema("settingsSchema", action.settings_schema);
  schema("destinationSchema", action.destination_schema);
  if (WB_HAS(&action, payload_schema)) schema("payloadSchema", action.payload_schema);
  return json;
}

wb_str keep(CDescriptor& owned, std::string text) { return borrow(owned.texts.emplace_back(std::move(text))); }

// A schema is an object, or the text of one.
std::string schema_text(const Json& action, const char* name) {
  const auto found = action.find(name);
  if (found == action.end()) return {};
  return found->is_string() ? found->get<std::string>() : dump(*found);
}

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::uint32_t minor_of(const Json& object, const char* name, std::uint32_t otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint32_t>() : otherwise;
}

wb_sender* never_made(const wb_host*, wb_str, const wb_sender_vt**, wb_report, void*) { return nullptr; }

void add_action(const Json& json, CDescriptor& owned) {
  auto& reasons = owned.reasons.emplace_back();
  if (const auto listed = json.find("reasons"); listed != json.end() && listed->is_array())
    for (const auto& one : *listed) {
      const bool is_word = one.is_string();
      std::uint32_t flags = is_word ? std::uint32_t{WB_REASON_PERMANENT} : 0;
      if (one.is_object() && flag_of(one, "permanent")) flags |= WB_REASON_PERMANENT;
      if (one.is_object() && flag_of(one, "duplicate")) flags |= WB_REASON_DUPLICATE;
      reasons.push_back({keep(owned, is_word ? one.get<std::string>() : one.is_object() ? text_of(one, "name") : ""), flags, 0});
    }
  owned.actions.push_back({.size = sizeof(wb_action),
                           .flags = flag_of(json, "blocking") ? std::uint32_t{WB_BLOCKING} : 0,
                           .reason_count = static_cast<std::uint32_t>(reasons.size()),
                           .type = keep(owned, text_of(json, "type")),
                           .settings_schema = keep(owned, schema_text(json, "settingsSchema")),
                           .destination_schema = keep(owned, schema_text(json, "destinationSchema")),
                           .reasons = reasons.data(),
                           .validate_settings = nullptr,
                           .validate_destination = nullptr,
                           .create = &never_made,
                           .payload_schema = keep(owned, schema_text(json, "payloadSchema"))});
  owned.pointers.push_back(&owned.actions.back());
}

}  // namespace

std::string descriptor_json(const wb_plugin& plugin) {
  Json actions = Json::array();
  for (std::size_t i = 0; i < plugin.action_count; ++i) actions.push_back(json_of(*plugin.actions[i]));
  return dump(Json{{"id", view_of(plugin.id)},
                   {"version", view_of(plugin.version)},
                   {"abiMinor", plugin.abi_minor},
                   {"needsMinor", plugin.needs_minor},
                   {"actions", std::move(actions)}});
}

Result<std::unique_ptr<CDescriptor>> read_c_descriptor(std::string_view text) {
  const auto json = read_json(text);
  if (!json || !json->is_object()) return fail(Error::Kind::invalid, std::string("its descriptor is no JSON object") + kRemedy);
  const auto actions = json->find("actions");
  if (actions == json->end() || !actions->is_array())
    return fail(Error::Kind::invalid, std::string("its descriptor has no list of actions") + kRemedy);
  auto owned = std::make_unique<CDescriptor>();
  for (const auto& action : *actions) {
    if (!action.is_object()) return fail(Error::Kind::invalid, std::string("one of its actions is no JSON object") + kRemedy);
    add_action(action, *owned);
  }
  owned->plugin = {.size = sizeof(wb_plugin),
                   .abi_minor = minor_of(*json, "abiMinor", 0),
                   .needs_minor = minor_of(*json, "needsMinor", 0),
                   .id = keep(*owned, text_of(*json, "id")),
                   .version = keep(*owned, text_of(*json, "version")),
                   .action_count = owned->pointers.size(),
                   .actions = owned->pointers.data()};
  return owned;
}

Result<Descriptor> read_descriptor(std::string_view text) {
  const auto owned = read_c_descriptor(text);
  TRY(owned);
  auto descriptor = check_descriptor(&(*owned)->plugin);
  TRY(descriptor);
  for (auto& action : descriptor->actions) action.action = nullptr;
  return descriptor;
}

}  // namespace waybill
