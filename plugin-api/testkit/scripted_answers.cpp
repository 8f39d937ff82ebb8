// The answers that a test can script, by name.
#include "waybill/testkit/network.hpp"

namespace waybill::testkit {

Answer Answer::http(std::int32_t status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.body = std::move(body);
  return answer;
}

Answer Answer::failure(wb_net_error error, wb_reach reach, std::string text) {
  Answer answer;
  answer.error = error;
  answer.reach = reach;
  answer.status = 0;
  answer.error_text = std::move(text);
  return answer;
}

Answer Answer::silence(wb_reach reach) {
  auto answer = failure(WB_NET_TIMEOUT, reach, "no answer in time");
  answer.never = true;
  return answer;
}

MailAnswer MailAnswer::taken() { return refused(WB_SMTP_DATA, 250, "2.0.0 taken"); }

MailAnswer MailAnswer::refused(wb_smtp_stage stage, std::int32_t code, std::string text) {
  MailAnswer answer;
  answer.stage = stage;
  answer.code = code;
  answer.text = std::move(text);
  return answer;
}

MailAnswer MailAnswer::failure(wb_net_error error, wb_reach reach, std::string text) {
  auto answer = refused(WB_SMTP_NONE, 0);
  answer.error = error;
  answer.reach = reach;
  answer.error_text = std::move(text);
  return answer;
}

MailAnswer MailAnswer::silence(wb_reach reach) {
  auto answer = failure(WB_NET_TIMEOUT, reach, "no answer in time");
  answer.never = true;
  return answer;
}

MailAnswer& MailAnswer::to(std::string address, std::int32_t reply, std::string words) & {
  recipients.push_back({std::move(address), reply, std::move(words)});
  return *this;
}
MailAnswer MailAnswer::to(std::string address, std::int32_t reply, std::string words) && {
  return std::move(to(std::move(address), reply, std::move(words)));
}

}  // namespace waybill::testkit
