// Who has the mail after a relay's answer, and what that means: mail_tally.h and mail_verdict.h.
#include "common/mail_verdict.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/json.h"
#include "common/text.h"

namespace waybill::plugins {

bool Tally::has(const std::string& address) const {
  return std::any_of(accepted.begin(), accepted.end(), [&](const auto& one) { return same_name(one, address); });
}

bool Tally::is_lost(const std::string& address) const {
  return std::any_of(refused.begin(), refused.end(),
                     [&](const auto& one) { return one.for_good() && same_name(one.address, address); });
}

void Tally::take(const std::string& address, const plugin::RecipientReply& reply, bool message_taken) {
  const bool welcome = reply.code / 100 == 2;
  if (welcome && !message_taken) return;  // nobody has a message that was refused as a whole
  const auto last = [&](const Refusal& one) { return same_name(one.address, address); };
  refused.erase(std::remove_if(refused.begin(), refused.end(), last), refused.end());
  if (welcome)
    accepted.push_back(address);
  else if (reply.code != 0)
    refused.push_back({address, reply.code, one_line(reply.text)});
}

std::string Tally::json() const {
  auto list = Json::array();
  for (const auto& one : refused) list.push_back({{"address", one.address}, {"code", one.code}, {"text", one.text}});
  return Json{{"accepted", accepted}, {"refused", std::move(list)}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Tally tally_from(std::string_view progress, const std::vector<Mailbox>& recipients) {
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

std::vector<std::string> still_to_reach(const Tally& tally, const std::vector<Mailbox>& recipients) {
  std::vector<std::string> open, lost;
  for (const auto& one : recipients)
    if (!tally.has(one.address)) (tally.is_lost(one.address) ? lost : open).push_back(one.address);
  return open.empty() ? lost : open;
}

namespace {

// The relay's own id of the mail: "2.0.0 Ok: queued as 4XyZ" (Postfix), "OK id=1abc-000-De" (Exim); else empty.
std::string queue_id(std::string_view text) {
  for (const std::string_view mark : {"queued as ", "id="}) {
    const auto found =
        std::search(text.begin(), text.end(), mark.begin(), mark.end(), [](char x, char y) { return lower(x) == lower(y); });
    if (found == text.end()) continue;
    auto id = text.substr(static_cast<std::size_t>(found - text.begin()) + mark.size());
    id = id.substr(0, id.find_first_of(" ,;)\t"));
    if (!id.empty()) return one_line(id);
  }
  return {};
}

// All were asked, and perhaps some took it.
Outcome judge_recipients(const SmtpReply& reply, const Tally& tally, const std::vector<Mailbox>& recipients) {
  const Refusal* later = nullptr;
  const Refusal* lost = nullptr;
  for (const auto& one : tally.refused) (one.for_good() ? lost : later) = &one;
  const bool all_settled = std::all_of(recipients.begin(), recipients.end(),
                                       [&](const Mailbox& one) { return tally.has(one.address) || tally.is_lost(one.address); });
  const auto told = [&](Outcome outcome, const Refusal* about) {
    outcome.reach(reply.reach).code(about ? about->code : reply.code).result(tally.json());
    return about ? outcome.detail(about->address + ": " + std::to_string(about->code) + ' ' + about->text) : outcome;
  };
  if (!all_settled) return told(Outcome::transient(tally.accepted.empty() ? "try_later" : "some_recipients_later"), later);
  if (lost) return told(Outcome::rejected("invalid_recipient"), lost);
  return told(Outcome::accepted(), nullptr).provider_ref(queue_id(reply.text));
}

}  // namespace

Outcome judge_mail(const SmtpReply& reply, Tally tally, const std::vector<std::string>& asked,
                   const std::vector<Mailbox>& recipients) {
  const int code = reply.code;
  const bool login_missing = reply.stage == SmtpStage::auth && reply.error == plugin::NetError::broken && code == 0;
  if (reply.error != plugin::NetError::none && !login_missing) {
    auto outcome = Outcome::transient(word_for(reply.error)).reach(reply.reach).detail(one_line(reply.error_text));
    if (plugin::out_of_reach(reply.error, reply.reach)) outcome.scope(Scope::whole_target);
    return outcome;
  }

  const bool taken = reply.taken();
  if (reply.stage >= SmtpStage::rcpt)
    for (std::size_t i = 0; i < asked.size(); ++i) tally.take(asked[i], reply.recipient(i), taken);
  const auto told = [&](Outcome outcome) {
    const auto words = one_line(reply.text.empty() ? reply.error_text : reply.text);
    outcome.reach(reply.reach).code(code).detail(code == 0 ? words : std::to_string(code) + ' ' + words);
    return tally.accepted.empty() && tally.refused.empty() ? outcome : outcome.result(tally.json());
  };
  const bool for_good = code / 100 == 5;
  switch (reply.stage) {
    case SmtpStage::auth:
      if (for_good || login_missing) return told(Outcome::transient("relay_login_refused")).scope(Scope::whole_target);
      return told(Outcome::transient("try_later")).scope(Scope::whole_target);
    case SmtpStage::connect:
      if (for_good) return told(Outcome::transient("relay_refused")).scope(Scope::whole_target);
      return told(Outcome::transient("try_later")).scope(Scope::whole_target);
    case SmtpStage::mail:
      if (code == 530) return told(Outcome::transient("relay_login_refused")).scope(Scope::whole_target);  // "log in first"
      if (code == 552) return told(Outcome::rejected("invalid_message"));                                  // its size
      if (for_good) return told(Outcome::rejected("sender_refused"));
      break;
    case SmtpStage::rcpt:
      return judge_recipients(reply, tally, recipients);
    case SmtpStage::data:
      if (taken) return judge_recipients(reply, tally, recipients);
      if (for_good) return told(Outcome::rejected("invalid_message"));
      break;
    case SmtpStage::none:
      break;
  }
  return told(Outcome::transient("try_later"));
}

}  // namespace waybill::plugins
