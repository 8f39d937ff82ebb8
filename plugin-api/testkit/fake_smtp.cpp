// The scripted relay.
#include <algorithm>

#include "world.h"

namespace waybill::testkit {
namespace {

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

MailAnswer refused_by_host(std::string why) { return MailAnswer::failure(WB_NET_REFUSED, WB_NOT_SENT, std::move(why)); }

}  // namespace

void FakeHost::mail_answer(MailAnswer answer) { world_->mail_answers.push_back(std::move(answer)); }

MailAnswer World::choose_mail_answer(const SentMail& sent) {
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

MailAnswer World::answer_mail(SentMail& sent) {
  sent.password_known = newest_secret(sent.password).has_value();
  mails.push_back(sent);
  return choose_mail_answer(sent);
}

}  // namespace waybill::testkit
