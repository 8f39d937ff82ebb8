// Three action types as plugins would declare them. The webhook wants a secret unless its answer is a result, and headers that
// are strings.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "domain/action_types.h"

namespace waybill::testing {

class FakeActionTypes final : public ActionTypes {
 public:
  std::vector<ActionType> types{{"push",
                                 false,
                                 {{"invalid_request", true, false},
                                  {"duplicate_reference", true, true},
                                  {"provider_failure", false, false},
                                  {"unregistered_token", true, false}}},
                                {"sms",
                                 false,
                                 {{"invalid_request", true, false},
                                  {"duplicate_reference", true, true},
                                  {"invalid_recipient", true, false},
                                  {"invalid_message", true, false},
                                  {"provider_failure", false, false}}},
                                {"webhook", false, {{"gone", true, false}, {"client_error", true, false}}}};

  const ActionType* find(std::string_view name) const override {
    const auto at = std::find_if(types.begin(), types.end(), [&](const ActionType& type) { return type.name == name; });
    return at != types.end() ? &*at : nullptr;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& type : types) names.push_back(type.name);
    return names;
  }
  Problems check_destination(std::string_view action_type, const std::string& json) const override {
    const auto destination = nlohmann::json::parse(json);
    if (action_type != "webhook") return {};
    Problems problems;
    if (!destination.contains("secret") && !destination.contains("answer")) problems.push_back({"", 0, "", "secret is missing"});
    if (destination.value("url", nlohmann::json()) == "http://forbidden")
      problems.push_back({"", 0, "url", "this host is not allowed"});
    const auto headers = destination.value("headers", nlohmann::json::object());
    for (const auto& [name, value] : headers.items())
      if (!value.is_string()) problems.push_back({"", 0, "headers." + name, "must be a string"});
    if (destination.contains("codes") && destination["codes"].size() > 1)
      problems.push_back({"", 0, "codes[1]", "one is enough"});
    return problems;
  }
  Problems check_settings(std::string_view, const std::string&) const override { return {}; }
};

inline std::string joined(const Problems& problems) {
  std::string text;
  for (const auto& problem : problems) text += to_string(problem) + "\n";
  return text;
}

}  // namespace waybill::testing
