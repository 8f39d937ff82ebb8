// What `senders.<action type>` says, with what is the host's taken out.
#pragma once

#include <map>
#include <string>

namespace waybill {

// Action type -> the operator's JSON object.
using SenderSettings = std::map<std::string, std::string>;

struct SenderChoice {
  std::string settings = "{}";  // JSON object for the plugin
  std::string version;          // plugin_version: the only version of the plugin that is wanted; "" for the newest
};

// What is malformed stays in the settings, where the plugin's schema refuses it.
SenderChoice read_choice(const std::string& json);
SenderChoice choice_of(const SenderSettings& senders, const std::string& action_type);

}  // namespace waybill
