// Which recipients of one delivery have their mail, over all its attempts.
#pragma once

#include "common/json.h"
#include "common/mail_address.h"
#include "waybill/plugin.hpp"

namespace waybill::plugins {

struct Refusal {
  std::string address;
  int code = 0;
  std::string text;

  bool for_good() const { return code / 100 == 5; }
};

struct Tally {
  std::vector<std::string> accepted;
  std::vector<Refusal> refused;  // the last word on each that has no mail

  bool has(const std::string& address) const {
    return std::any_of(accepted.begin(), accepted.end(), [&](const auto& one) { return same_name(one, address); });
  }
  bool is_lost(const std::string& address) const {
    return std::any_of(refused.begin(), refused.end(),
                       [&](const auto& one) { return one.for_good() && same_name(one.address, address); });
  }

  void take(const std::string& address, const plugin::RecipientReply& reply, bool message_taken) {
    const bool welcome = reply.code / 100 == 2;
    if (welcome && !message_taken) return;  // nobody has a message that was refused as a whole
    const auto last = [&](const Refusal& one) { return same_name(one.address, address); };
    refused.erase(std::remove_if(refused.begin(), refused.end(), last), refused.end());
    if (welcome)
      accepted.push_back(address);
    else if (reply.code != 0)
      refused.push_back({address, reply.code, one_line(reply.text)});
  }

  std::string json() const {
    auto list = Json::array();
    for (const auto& one : refused) list.push_back({{"address", one.address}, {"code", one.code}, {"text", one.text}});
    return Json{{"accepted", accepted}, {"refused", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
};

// What `progress` says of the recipients that there are now.
inline Tally tally_from(std::string_view progress, const std::vector<Mailbox>& recipients) {
  Tally out;
  std::string ignored;
  const auto json = parse_object(progress, ignored);
  const auto list = [&](const char* name) {
    const auto* found = json ? field(*json, name) : nullptr;
    return found && found->is_array() ? *found : Json::array();
  };
  const auto is_recipient = [&](const Json& address) {
    return address.is_string() && std::any_of(recipients.begin(), recipients.end(), [&](const Mailbox& one) {
             return same_name(one.address, address.get_ref<const std::string&>());
           });
  };
  for (const auto& address : list("accepted"))
    if (is_recipient(address)) out.accepted.push_back(address.get<std::string>());
  for (const auto& one : list("refused")) {
    if (!one.is_object() || !is_recipient(one.value("address", Json()))) continue;
    const auto code = one.value("code", Json()), text = one.value("text", Json());
    if (code.is_number_integer() && text.is_string())
      out.refused.push_back({one.at("address").get<std::string>(), code.get<int>(), text.get<std::string>()});
  }
  return out;
}

// Those who are still to get their mail. If only some are left whom the relay refused for good, they are asked again: somebody
// mended what was wrong and wants to see.
inline std::vector<std::string> still_to_reach(const Tally& tally, const std::vector<Mailbox>& recipients) {
  std::vector<std::string> open, lost;
  for (const auto& one : recipients)
    if (!tally.has(one.address)) (tally.is_lost(one.address) ? lost : open).push_back(one.address);
  return open.empty() ? lost : open;
}

}  // namespace waybill::plugins
