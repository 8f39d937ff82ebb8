// The check host's network: what it makes of requests and mails.
#include <nlohmann/json.hpp>

#include "check_host.h"
#include "fake_host/text.h"
#include "outcome_rules.h"

namespace waybill::conformance {
namespace {

constexpr std::size_t kMaxExchanges = 1000;  // of one call

bool begins_with(std::string_view text, std::string_view begin) {
  return text.size() > begin.size() && text.substr(0, begin.size()) == begin && text.find_first_of(" \r\n\t") == text.npos;
}

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j) out += i + j > bytes.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63];
  }
  return out;
}

// A destination that repeats a header, preferably one with a secret, in places where plugins look for words.
void echo(Answer& answer, const SentRequest& sent) {
  std::string line, value;
  for (const auto& [name, words] : sent.filled_headers) {
    if (!value.empty() && !holds_secret(words)) continue;
    line = name + ": " + words;
    value = words;
    if (holds_secret(words)) break;
  }
  answer.headers.emplace_back("x-request", line);
  nlohmann::json json;
  for (const auto* field : {"error", "message", "detail", "reason", "status", "id", "title"}) json[field] = value;
  answer.body = answer.body.empty() ? line : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string secret_value(std::string_view name) { return std::string(kSecretMark) + std::string(name) + "-Zk7qX2vT"; }

testkit::Answer CheckHost::answer_request(testkit::SentRequest& request) {
  std::string fault;
  SentRequest sent{request};
  if (sent.method.empty()) fault = "http.fetch was given a request without a method";
  if (!begins_with(sent.url, "http://") && !begins_with(sent.url, "https://"))
    fault = "http.fetch was given a request whose URL is not one of http or https";
  if (!fake_host::fill_secrets(sent.url, secret_value)) fault = "http.fetch was given a URL with a {secret: that is not closed";
  for (const auto& [name, value] : sent.headers) {
    auto filled = fake_host::fill_secrets(value, secret_value);
    if (filled) filled = fake_host::fill_tokens(*filled, secret_value);
    if (filled)
      sent.filled_headers.emplace_back(name, std::move(*filled));
    else
      fault = "http.fetch was given a request with a {secret: or {oauth2: that is not closed";
  }
  if (!fake_host::fill_body(sent.body, sent.body_secrets, secret_value))
    fault = "http.fetch was given body_secrets that are out of order, or behind the body's end";
  if (!sent.basic_user.empty() && !sent.basic_password.empty())
    sent.filled_headers.emplace_back("Authorization",
                                     "Basic " + base64(secret_value(sent.basic_user) + ":" + secret_value(sent.basic_password)));
  else if (!sent.basic_user.empty() || !sent.basic_password.empty())
    fault = "http.fetch was given a request with only one of basic_user and basic_password";
  return choose_answer(std::move(sent), fault);
}

testkit::MailAnswer CheckHost::answer_mail(testkit::SentMail& mail) {
  std::string fault;
  if (mail.recipients.empty()) fault = "smtp.submit was given a mail without recipients";
  if (!begins_with(mail.relay, "smtp://") && !begins_with(mail.relay, "smtps://"))
    fault = "smtp.submit was given a mail whose relay is not one of smtp or smtps";
  SentRequest sent;
  sent.call = mail.call, sent.mail = true, sent.url = mail.relay, sent.body = mail.data;
  return mail_answer_of(choose_answer(std::move(sent), fault), mail.recipients);
}

Answer CheckHost::choose_answer(SentRequest sent, const std::string& fault) {
  if (!fault.empty()) malformed(fault);
  std::size_t nth = 0;
  {
    const std::lock_guard lock(mutex_);
    nth = calls_.at(sent.call).exchanges++;
  }
  if (!fault.empty() || nth >= kMaxExchanges) return broken(WB_NET_REFUSED, WB_NOT_SENT);
  auto answer = script_(sent.call, nth);
  if (answer.echoes) echo(answer, sent);
  sent_.push_back(std::move(sent));
  return answer;
}

void CheckHost::ended(const fake_host::Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(exchange.call);
  if (found == calls_.end()) return;
  found->second.last_reach = exchange.ending.reach;
  found->second.answered = found->second.answered || exchange.ending.error == WB_NET_OK;
}

}  // namespace waybill::conformance
