// Takes the pin of a version out of a sender's settings.
#include "senders/sender_settings.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/json_reader.h"
#include "base/json_writer.h"

namespace waybill {
namespace {

constexpr const char* kPin = "plugin_version";

}  // namespace

SenderChoice read_choice(const std::string& json) {
  SenderChoice choice{json, {}};
  if (json.find(kPin) == std::string::npos) return choice;
  auto read = read_sorted_json(json);
  if (!read || !read->is_object()) return choice;
  const auto pin = read->find(kPin);
  if (pin == read->end() || !pin->is_string() || pin->get_ref<const std::string&>().empty()) return choice;
  choice.version = pin->get<std::string>();
  read->erase(pin);
  choice.settings = dump(*read);
  return choice;
}

SenderChoice choice_of(const SenderSettings& senders, const std::string& action_type) {
  const auto found = senders.find(action_type);
  return found == senders.end() ? SenderChoice{} : read_choice(found->second);
}

}  // namespace waybill
