// What the network does with one request or one mail, and the lists of it that every sender must get along with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/testkit/network.hpp"

namespace waybill::conformance {

struct Answer : testkit::Answer {
  bool echoes = false;  // the destination repeats, in body and header, the filled-in headers that it got
  // of a mail
  wb_smtp_stage stage = WB_SMTP_DATA;
  std::int32_t reply = 250;
  bool refuses_first_recipient = false;
};

struct NamedAnswer {
  std::string name;  // "status 429 with Retry-After"
  Answer answer;
};

Answer http_answer(std::int32_t status, std::string body = "{}");
Answer silence();
Answer broken(wb_net_error error, wb_reach reach);
std::string_view name_of(wb_net_error error);
testkit::MailAnswer mail_answer_of(const Answer& answer, const std::vector<std::string>& recipients);

// Every kind of end that a request or a mail can have, except a refusal by the host.
std::vector<NamedAnswer> http_answers();
std::vector<NamedAnswer> mail_answers();
// Destinations that repeat what they were sent.
std::vector<NamedAnswer> echoing_answers();

}  // namespace waybill::conformance
