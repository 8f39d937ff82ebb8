// The lists of answers.
#include "answer.h"

namespace waybill::conformance {
namespace {

Answer mail(wb_smtp_stage stage, std::int32_t reply) {
  Answer answer;
  answer.stage = stage;
  answer.reply = reply;
  return answer;
}

void add_net_errors(std::vector<NamedAnswer>& list) {
  const auto add = [&](wb_net_error error, wb_reach reach) {
    const auto* const how = reach == WB_NOT_SENT ? ", not sent" : reach == WB_ANSWERED ? ", answered" : ", maybe sent";
    list.push_back({std::string(name_of(error)) + how, broken(error, reach)});
  };
  for (const auto error : {WB_NET_RESOLVE, WB_NET_CONNECT, WB_NET_TLS}) add(error, WB_NOT_SENT);
  for (const auto error : {WB_NET_TIMEOUT, WB_NET_BROKEN, WB_NET_CANCELLED})
    for (const auto reach : {WB_NOT_SENT, WB_MAYBE_SENT}) add(error, reach);
  add(WB_NET_BROKEN, WB_ANSWERED);
  list.push_back({"an error of a later minor version", broken(99, WB_MAYBE_SENT)});
  list.push_back({"no answer", silence()});
}

}  // namespace

std::string_view name_of(wb_net_error error) {
  switch (error) {
    case WB_NET_REFUSED:
      return "refused by the host";
    case WB_NET_RESOLVE:
      return "name not resolved";
    case WB_NET_CONNECT:
      return "no connection";
    case WB_NET_TLS:
      return "TLS failure";
    case WB_NET_TIMEOUT:
      return "timeout";
    case WB_NET_BROKEN:
      return "broken connection";
    case WB_NET_CANCELLED:
      return "cancelled";
    default:
      return "network error";
  }
}

Answer http_answer(std::int32_t status, std::string body) { return {testkit::Answer::http(status, std::move(body))}; }

Answer broken(wb_net_error error, wb_reach reach) {
  return {testkit::Answer::failure(error, reach, std::string(name_of(error)) + " (as scripted)")};
}

Answer silence() { return {testkit::Answer::silence()}; }

testkit::MailAnswer mail_answer_of(const Answer& answer, const std::vector<std::string>& recipients) {
  const auto words = [](std::int32_t code) {
    return std::to_string(code / 100) + (code / 100 == 2 ? ".0.0 taken" : ".1.1 not taken");
  };
  const bool well = answer.error == WB_NET_OK;
  auto mail = well ? testkit::MailAnswer::refused(answer.stage, answer.reply, words(answer.reply))
                   : testkit::MailAnswer::failure(answer.error, answer.reach, answer.error_text);
  if (well && answer.refuses_first_recipient) mail.to(recipients.front(), 550, words(550));
  return mail;
}

std::vector<NamedAnswer> http_answers() {
  std::vector<NamedAnswer> list;
  for (const auto status :
       {100, 200, 201, 204, 301, 302, 400, 401, 403, 404, 408, 409, 410, 418, 422, 425, 429, 500, 502, 503, 504, 599, 999}) {
    list.push_back({"status " + std::to_string(status), http_answer(status)});
    if (status == 429 || status == 503) {
      list.push_back({"status " + std::to_string(status) + " with Retry-After", http_answer(status)});
      list.back().answer.retry_after_ms = 120'000;
      list.back().answer.headers = {{"retry-after", "120"}};
    }
  }
  const std::pair<const char*, std::string> bodies[] = {
      {"an empty body", ""},
      {"a body that is not JSON", "<html>502 Bad Gateway</html>"},
      {"a body that is cut off", R"({"status":"acc)"},
      {"a body that is not UTF-8", "{\"status\":\"\xff\xfe\x80\",\"reason\":\"\xc0\xaf\",\"id\":\"\xff\"}"},
      {"a body that is not UTF-8 nor JSON", "\xff\xfe\x80\n\x01 gone"},
      {"a body of several lines", "first\r\nsecond\nthird"},
      {"a body with text of several lines", R"({"status":"a\nb","reason":"c\r\nd","error":"e\nf","id":"g\nh","message":"i\nj"})"},
      {"a body of one megabyte", std::string(1 << 20, 'x')},
      {"a JSON body with a text of one megabyte", R"({"status":")" + std::string(1 << 20, 'x') + "\"}"},
      {"a JSON array", "[1,2,3]"},
      {"JSON of wrong types", R"({"status":{},"reason":[],"id":1e308,"error":null,"message":true,"errors":{"a":[{}]}})"},
      {"JSON null", "null"},
      {"JSON nested deeply", std::string(20'000, '[') + std::string(20'000, ']')},
  };
  for (const auto& [name, body] : bodies)
    for (const auto status : {200, 400, 500})
      list.push_back({"status " + std::to_string(status) + ", " + name, http_answer(status, body)});
  add_net_errors(list);
  return list;
}

std::vector<NamedAnswer> mail_answers() {
  std::vector<NamedAnswer> list;
  const auto add = [&](const char* name, Answer answer) { list.push_back({name, std::move(answer)}); };
  add("the mail is taken", mail(WB_SMTP_DATA, 250));
  add("554 as the greeting", mail(WB_SMTP_CONNECT, 554));
  add("421 as the greeting", mail(WB_SMTP_CONNECT, 421));
  add("535 to AUTH", mail(WB_SMTP_AUTH, 535));
  add("454 to AUTH", mail(WB_SMTP_AUTH, 454));
  add("550 to MAIL FROM", mail(WB_SMTP_MAIL, 550));
  add("451 to MAIL FROM", mail(WB_SMTP_MAIL, 451));
  add("550 to every RCPT TO", mail(WB_SMTP_RCPT, 550));
  add("450 to every RCPT TO", mail(WB_SMTP_RCPT, 450));
  auto some = mail(WB_SMTP_DATA, 250);
  some.refuses_first_recipient = true;
  add("550 to the first RCPT TO", std::move(some));
  add("554 to the message", mail(WB_SMTP_DATA, 554));
  add("451 to the message", mail(WB_SMTP_DATA, 451));
  add("999 to the message", mail(WB_SMTP_DATA, 999));
  add_net_errors(list);
  return list;
}

std::vector<NamedAnswer> echoing_answers() {
  std::vector<NamedAnswer> list;
  for (const auto status : {200, 400, 401, 404, 422, 500, 503}) {
    list.push_back({"status " + std::to_string(status) + " with what was sent in it", http_answer(status, "")});
    list.back().answer.echoes = true;
    list.push_back({"status " + std::to_string(status) + " with what was sent in JSON", http_answer(status)});
    list.back().answer.echoes = true;
  }
  return list;
}

}  // namespace waybill::conformance
