// One message handed to a relay that says anything at any time. Parts of an input: offers, recipients, message, what the relay
// says.
#include "services/smtp_conversation.h"

#include <algorithm>

#include "fuzz/fuzz.h"
#include "services/smtp_reader.h"

namespace waybill::fuzz {
namespace {

bool is_accepted(const SmtpReply& reply) {
  return reply.error == NetError::ok && reply.stage == SmtpStage::data && reply.answer.code / 100 == 2;
}

// What a receiver makes of the bytes behind DATA (RFC 5321, 4.5.2); none when the end is missing.
bool arrives(std::string_view wire, std::string_view message) {
  std::string got;
  for (;;) {
    const auto end = wire.find("\r\n");
    if (end == std::string_view::npos) return false;
    auto line = wire.substr(0, end);
    wire.remove_prefix(end + 2);
    if (line == ".") break;
    if (line.starts_with('.')) line.remove_prefix(1);
    got.append(line).append("\r\n");
  }
  const bool has_end = message.empty() || message.ends_with("\r\n");
  return wire.empty() && got == std::string(message) + (has_end ? "" : "\r\n");
}

SmtpMessage message_of(std::string_view recipients, std::string_view data) {
  SmtpMessage message{.relay = "smtp://relay.example", .from = "sender@example.org", .data = std::string(data)};
  while (!recipients.empty() && message.recipients.size() < 5) {
    const auto end = std::min(recipients.find('\n'), recipients.size());
    if (end > 0) message.recipients.emplace_back(recipients.substr(0, end));
    recipients.remove_prefix(std::min(end + 1, recipients.size()));
  }
  return message;
}

void talk(const SmtpMessage& message, const SmtpOffers& offers, std::string_view relay) {
  SmtpConversation conversation(message, offers);
  SmtpReader reader;
  reader.feed(relay);
  std::string body;
  bool in_body = false;
  for (int turn = 0; turn < 100 && !conversation.over(); ++turn) {
    while (!conversation.output().empty()) {
      const auto piece = conversation.output().substr(0, 1000);
      const bool is_command = !in_body && piece.find("\r\n") == piece.size() - 2;
      if (in_body)
        body += piece;
      else
        promise(is_command, "a command is one line");
      const bool is_data = !in_body && piece == "DATA\r\n";
      conversation.written(piece.size());
      if (is_data) in_body = true;
    }
    auto reply = reader.next();
    if (!reply) {
      conversation.lost(NetError::broken, "the relay said no more");
      break;
    }
    conversation.take(std::move(*reply));
  }
  const auto result = conversation.result();
  promise(conversation.over(), "a conversation ends with the relay's last word");
  promise(conversation.output().empty(), "nothing is written once it is over");
  promise(result.recipients.size() == message.recipients.size(), "every recipient has an answer or none");
  promise((result.reach == Reach::answered) == (result.error == NetError::ok), "only an answer is an answer");
  if (!is_accepted(result)) return;
  promise(
      std::any_of(result.recipients.begin(), result.recipients.end(), [](const SmtpAnswer& one) { return one.code / 100 == 2; }),
      "a message that was taken was taken for somebody");
  promise(arrives(body, message.data), "a message that was taken arrives as it was");
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  const auto parts = fuzz::parts_of(fuzz::text_of(data, size), 4);
  const auto message = fuzz::message_of(parts[1], parts[2]);
  if (fault_in(message)) return 0;
  SmtpOffers offers;
  for (auto rest = parts[0]; !rest.empty(); rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1))
    offers.take_line(rest.substr(0, rest.find('\n')));
  fuzz::talk(message, offers, parts[3]);
  return 0;
}
