// Walks the JSON of settings and destinations.
#include "app/asked_secrets.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "base/json_document.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/nearest.h"
#include "services/placeholders.h"

namespace waybill {
namespace {

using Tell = std::function<void(const std::string& path, std::string name)>;

bool names_a_secret(std::string_view key) { return key == "secret" || key.ends_with("_secret") || key.ends_with("Secret"); }

void look_in_text(const std::string& text, const std::string& path, std::string_view key, const Tell& tell) {
  if (names_a_secret(key) && text.find('{') == std::string::npos) tell(path, text);
  for (const auto name : names_in(text, kSecretOpens)) tell(path, std::string(name));
}

void look(const Json& json, const std::string& path, std::string_view key, const Tell& tell) {
  if (json.is_string()) return look_in_text(json.get_ref<const std::string&>(), path, key, tell);
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i) look(json[i], field_path(path, i), key, tell);
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) look(value, field_path(path, name), name, tell);
}

}  // namespace

Problems unknown_secrets(const Config& config, const Registry& registry) {
  std::vector<std::string> known;
  for (const auto& [name, references] : config.secrets) known.push_back(name);
  Problems problems;
  const auto look_at = [&](const std::string& text, const std::function<Problem(const std::string& path)>& place) {
    const auto json = read_json(text);
    if (!json) return;
    look(*json, "", "", [&](const std::string& path, const std::string& name) {
      if (config.secrets.contains(name)) return;
      problems.push_back(place(path));
      problems.back().message +=
          "there is no secret " + in_quotes(name) + " under secrets: what needs it waits" + did_you_mean(name, known);
    });
  };
  for (const auto& [type, settings] : config.senders) {
    const std::string prefix = "senders." + type + ".";
    look_at(settings, [&](const std::string& path) { return config.problem(prefix + path, ""); });
  }
  for (const auto& [header, text] : config.tracing.headers)
    look_at(json_string(text), [&, name = header](const std::string&) { return config.problem("tracing.headers." + name, ""); });
  for (const auto& target : registry.targets()) {
    const auto transport = registry.transports().find(target.target);
    if (transport == registry.transports().end()) continue;
    look_at(target.destination, [&](const std::string& path) {
      auto place = transport->second.place;
      place.field += place.field.empty() ? "" : ".";
      place.field += path == "url" ? "gatewayUrl" : "destination." + path;
      place.message = "target " + in_quotes(target.target) + ": ";
      return place;
    });
  }
  return problems;
}

}  // namespace waybill
