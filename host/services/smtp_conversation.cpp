// One message handed to one relay: what to write next, and what each reply means.
#include "services/smtp_conversation.h"

#include <algorithm>
#include <string>
#include <utility>

namespace waybill {
namespace {

constexpr std::size_t kPiece = 64 << 10;
constexpr std::int32_t kClosing = 421;
constexpr std::int32_t kGoAhead = 354;

bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

bool is_good(const SmtpAnswer& reply) { return reply.code / 100 == 2; }
bool is_refusal(const SmtpAnswer& reply) { return reply.code / 100 == 4 || reply.code / 100 == 5; }

// What a relay with SMTPUTF8 behind it would have said (RFC 6531).
SmtpAnswer needs_utf8() { return {553, "5.6.7 the address is UTF-8 and the relay does not offer SMTPUTF8"}; }

}  // namespace

SmtpConversation::SmtpConversation(const SmtpMessage& message, const SmtpOffers& offers)
    : message_(message), body_(message.data) {
  reply_.recipients.resize(message.recipients.size());
  bool utf8 = !is_ascii(message.from);
  bool anybody = false;
  for (std::size_t i = 0; i < message.recipients.size(); ++i) {
    const bool plain = is_ascii(message.recipients[i]);
    if (!plain && !offers.utf8) reply_.recipients[i] = needs_utf8();
    anybody = anybody || plain || offers.utf8;
    utf8 = utf8 || !plain;
  }
  if (!offers.utf8 && !is_ascii(message.from)) {
    decide(SmtpStage::mail, needs_utf8());
  } else if (!anybody) {
    decide(SmtpStage::rcpt, needs_utf8());
  } else {
    const bool eight_bit = offers.eight_bit && !is_ascii(message.data);
    ask("MAIL FROM:<" + message.from + ">" + (offers.size ? " SIZE=" + std::to_string(message.data.size()) : "") +
        (eight_bit ? " BODY=8BITMIME" : "") + (offers.utf8 && utf8 ? " SMTPUTF8" : ""));
  }
}

void SmtpConversation::ask(std::string command) {
  out_ = std::move(command) + "\r\n";
  written_ = 0;
}

void SmtpConversation::written(std::size_t bytes) {
  written_ += bytes;
  if (written_ < out_.size() || step_ != Step::body) return;
  if (ending_) {
    step_ = Step::end;
    end_sent_ = true;
  } else {
    next_piece();
  }
}

// The message in pieces: a dot that begins a line is doubled, a dot alone is the end (RFC 5321, 4.5.2).
void SmtpConversation::next_piece() {
  out_.clear();
  written_ = 0;
  while (!body_.empty() && out_.size() < kPiece) {
    if (line_begins_ && body_.front() == '.') out_ += '.';
    const auto line_end = body_.find('\n');
    const auto length = std::min(line_end == std::string_view::npos ? body_.size() : line_end + 1, kPiece);
    out_.append(body_.substr(0, length));
    line_begins_ = out_.back() == '\n';
    body_.remove_prefix(length);
  }
  if (!body_.empty()) return;
  out_ += line_begins_ ? ".\r\n" : "\r\n.\r\n";
  ending_ = true;
}

void SmtpConversation::take(SmtpAnswer reply) {
  if (over_) return;
  // Before all was written that it could answer: the relay wants no more, or does not keep to the protocol.
  const bool early = !output().empty();
  if (early && reply.code != kClosing && (step_ != Step::body || !is_refusal(reply))) return unexpected(reply);
  if (early || reply.code == kClosing) {
    if (step_ == Step::rcpt) reply_.recipients[recipient_] = reply;
    return decide(stage(), std::move(reply));
  }
  if (step_ == Step::rcpt && (is_good(reply) || is_refusal(reply))) return take_recipient(std::move(reply));
  if (is_refusal(reply)) return decide(stage(), std::move(reply));
  if (step_ == Step::mail && is_good(reply)) {
    step_ = Step::rcpt;
    ask_next_recipient(0);
  } else if (step_ == Step::data && reply.code == kGoAhead) {
    step_ = Step::body;
    next_piece();
  } else if (step_ == Step::end && is_good(reply)) {
    clean_ = true;
    decide(SmtpStage::data, std::move(reply));
  } else {
    unexpected(reply);
  }
}

void SmtpConversation::ask_next_recipient(std::size_t from) {
  const auto& all = reply_.recipients;
  for (recipient_ = from; recipient_ < all.size(); ++recipient_)
    if (all[recipient_].code == 0) return ask("RCPT TO:<" + message_.recipients[recipient_] + ">");
  if (std::any_of(all.begin(), all.end(), is_good)) {
    step_ = Step::data;
    return ask("DATA");
  }
  // Everybody was refused. One who may be taken later says more of the message than one who never will be.
  const auto later = std::find_if(all.begin(), all.end(), [](const SmtpAnswer& one) { return one.code / 100 == 4; });
  decide(SmtpStage::rcpt, later == all.end() ? all.front() : *later);
}

void SmtpConversation::take_recipient(SmtpAnswer reply) {
  reply_.recipients[recipient_] = std::move(reply);
  ask_next_recipient(recipient_ + 1);
}

SmtpStage SmtpConversation::stage() const {
  return step_ == Step::mail ? SmtpStage::mail : step_ == Step::rcpt ? SmtpStage::rcpt : SmtpStage::data;
}

void SmtpConversation::decide(SmtpStage stage, SmtpAnswer reply) {
  over_ = true;
  out_.clear();
  written_ = 0;
  reply_.stage = stage;
  reply_.answer = std::move(reply);
}

void SmtpConversation::unexpected(const SmtpAnswer& reply) {
  lost(NetError::broken, "the relay said " + std::to_string(reply.code) + " where that is no answer");
}

void SmtpConversation::lost(NetError error, std::string text) {
  if (over_) return;
  decide(SmtpStage::none, {});
  reply_.error = error;
  reply_.error_text = std::move(text);
}

bool SmtpConversation::came_too_late() const {
  return over_ && step_ == Step::mail && (reply_.answer.code == kClosing || reply_.error == NetError::broken);
}

Reach SmtpConversation::reach() const {
  if (over_ && reply_.error == NetError::ok) return Reach::answered;
  return end_sent_ ? Reach::maybe_sent : Reach::not_sent;
}

SmtpReply SmtpConversation::result() const {
  auto reply = reply_;
  reply.reach = reach();
  return reply;
}

}  // namespace waybill
