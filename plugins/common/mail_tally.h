// Which recipients of one delivery have their mail, over all its attempts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

  bool has(const std::string& address) const;
  bool is_lost(const std::string& address) const;

  void take(const std::string& address, const plugin::RecipientReply& reply, bool message_taken);

  std::string json() const;
};

// What `progress` says of the recipients that there are now.
Tally tally_from(std::string_view progress, const std::vector<Mailbox>& recipients);

// Those who are still to get their mail. If only some are left whom the relay refused for good, they are asked again: somebody
// mended what was wrong and wants to see.
std::vector<std::string> still_to_reach(const Tally& tally, const std::vector<Mailbox>& recipients);

}  // namespace waybill::plugins
