// The scripted relay.
#include <algorithm>

#include "world.h"

namespace waybill::testkit {
namespace {

std::uint64_t submit(const wb_host* host, wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user) {
  return world_of(host).submit(call, message, done, user);
}
void abort_submission(const wb_host* host, std::uint64_t number) {
  auto& world = world_of(host);
  if (!world.abort(smtp_service(), number)) return;
  for (auto& mail : world.mails)
    if (mail.submission == number) mail.aborted = true;
}

constexpr wb_smtp_service kService = {&submit, &abort_submission};

bool is_relay(std::string_view relay) {
  for (const std::string_view scheme : {"smtp://", "smtps://"})
    if (relay.substr(0, scheme.size()) == scheme) {
      const auto host = relay.substr(scheme.size());
      return !host.empty() && host.front() != ':' && host.find_first_of("/?#@ \r\n") == std::string_view::npos;
    }
  return false;
}

bool is_address(std::string_view address) {
  const auto at = address.rfind('@');
  return at != std::string_view::npos && at != 0 && at + 1 != address.size() &&
         std::none_of(address.begin(), address.end(),
                      [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '<' || c == '>'; });
}

bool has_only_crlf(std::string_view data) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == '\r' && i + 1 < data.size() && data[i + 1] == '\n')
      ++i;
    else if (data[i] == '\r' || data[i] == '\n')
      return false;
  }
  return true;
}

// The answers to RCPT TO, in the order of the mail's recipients; without codes where the conversation did not get that far.
std::vector<MailAnswer::Recipient> recipients_of(const MailAnswer& answer, const std::vector<std::string>& addresses) {
  std::vector<MailAnswer::Recipient> out;
  const bool all_refused = answer.stage == WB_SMTP_RCPT && answer.code / 100 != 2;
  for (const auto& address : addresses) {
    MailAnswer::Recipient one{address, 0, {}};
    if (answer.error == WB_NET_OK && answer.stage >= WB_SMTP_RCPT) {
      one.code = all_refused ? answer.code : 250;
      one.text = all_refused ? answer.text : "2.1.5 ok";
      for (const auto& scripted : answer.recipients)
        if (scripted.address == address) one = scripted;
    }
    out.push_back(std::move(one));
  }
  return out;
}

void tell(MailAnswer answer, const std::vector<std::string>& addresses, wb_smtp_done done, void* user) {
  const auto recipients = recipients_of(answer, addresses);
  const auto refused = [](const MailAnswer::Recipient& one) { return one.code / 100 != 2; };
  if (answer.stage == WB_SMTP_DATA && std::all_of(recipients.begin(), recipients.end(), refused)) {  // it never comes to DATA
    answer.stage = WB_SMTP_RCPT;
    answer.code = recipients.back().code;
    answer.text = recipients.back().text;
  }
  std::vector<Bytes> texts;
  std::vector<wb_smtp_recipient> raw;
  for (const auto& one : recipients) {
    texts.emplace_back(one.text);
    raw.push_back({one.code, 0, texts.back().str()});
  }
  const Bytes text(answer.text), error_text(answer.error_text);
  const wb_smtp_reply reply{sizeof(wb_smtp_reply), answer.error, answer.reach, answer.stage,
                            answer.code,           text.str(),   raw.data(),   raw.size(),
                            error_text.str()};
  done(user, &reply);
}

MailAnswer refused_by_host(std::string why) { return MailAnswer::failure(WB_NET_REFUSED, WB_NOT_SENT, std::move(why)); }

}  // namespace

const wb_smtp_service* smtp_service() { return &kService; }

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

void FakeHost::mail_answer(MailAnswer answer) { world_->mail_answers.push_back(std::move(answer)); }

MailAnswer World::choose_mail_answer(SentMail& sent) {
  if (!is_relay(sent.relay)) return refused_by_host("the relay is not one of smtp or smtps with a host");
  if (!sent.from.empty() && !is_address(sent.from)) return refused_by_host("the envelope sender is no address");
  if (sent.recipients.empty()) return refused_by_host("there is no recipient");
  for (const auto& recipient : sent.recipients)
    if (!is_address(recipient)) return refused_by_host("a recipient is no address");
  if (!sent.user.empty() && !sent.password_known)
    return refused_by_host("the password names a secret that this host does not have");
  if (!has_only_crlf(sent.data)) breach() << "a mail has line ends that are not CRLF";
  if (mail_answers.empty()) {
    breach() << "no answer is scripted for a mail to " << sent.recipients.front();
    return MailAnswer::failure(WB_NET_CONNECT, WB_NOT_SENT, "no answer is scripted");
  }
  auto answer = std::move(mail_answers.front());
  mail_answers.pop_front();
  return answer;
}

std::uint64_t World::submit(wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user) {
  if (!on_own_thread("submit")) return 0;
  const auto number = next_number++;
  SentMail sent;
  sent.submission = number;
  sent.call = call.id;
  sent.relay = text(message->relay);
  sent.tls = message->tls;
  sent.user = text(message->user);
  sent.password = text(message->password);
  const auto secret = secrets.find(sent.password);
  sent.password_known = secret != secrets.end() && !secret->second.empty();
  sent.from = text(message->from);
  for (std::size_t i = 0; i < message->recipient_count; ++i) sent.recipients.push_back(text(message->recipients[i]));
  sent.data = text(message->data);
  sent.timeout_ms = message->timeout_ms;
  const auto answer = may_ask("a mail was submitted", call) ? choose_mail_answer(sent) : MailAnswer();
  begin(number, message->timeout_ms,
        {call.id, smtp_service(), answer, [=, addresses = sent.recipients](const Exchange& exchange) {
           const auto& [error, reach, words, after, never] = exchange.ending;
           tell(exchange.overruled ? MailAnswer::failure(error, reach, words) : answer, addresses, done, user);
         }});
  mails.push_back(std::move(sent));
  return number;
}

}  // namespace waybill::testkit
