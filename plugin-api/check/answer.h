// What the network does with one request or one mail, and the lists of it that every sender must get along with.
#pragma once

#include <waybill/plugin.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace waybill::conformance {

struct Answer {
  wb_net_error error = WB_NET_OK;
  wb_reach reach = WB_ANSWERED;
  bool never = false;  // comes only when the request is aborted, timed out, or its call has ended
  std::string error_text;
  // of a request
  std::int32_t status = 200;
  std::int64_t retry_after_ms = -1;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool echoes = false;  // the receiver repeats, in body and header, the filled-in headers that it got
  // of a mail
  wb_smtp_stage stage = WB_SMTP_DATA;
  std::int32_t reply = 250;
  bool refuses_first_recipient = false;
};

struct Named {
  std::string name;  // "status 429 with Retry-After"
  Answer answer;
};

Answer http_answer(std::int32_t status, std::string body = "{}");
Answer silence();
Answer broken(wb_net_error error, wb_reach reach);
std::string_view name_of(wb_net_error error);

// Every kind of end that a request, or a mail, can have; but for a refusal by the host.
std::vector<Named> http_answers();
std::vector<Named> mail_answers();
// Receivers that repeat what they were sent.
std::vector<Named> echoing_answers();

}  // namespace waybill::conformance
