// What a sender's strand does for its plugin between calls: mail submitted to relays, each submission belonging to an open call.
#include "plugin_protocol/plugin_text.h"
#include "senders/plugin_reach.h"
#include "senders/plugin_sender.h"
#include "services/placeholders.h"

namespace waybill {
namespace {

static_assert(static_cast<int>(Tls::if_offered) == WB_TLS_IF_OFFERED && static_cast<int>(Tls::required) == WB_TLS_REQUIRED &&
              static_cast<int>(Tls::never) == WB_TLS_NEVER);
static_assert(static_cast<int>(SmtpStage::none) == WB_SMTP_NONE && static_cast<int>(SmtpStage::connect) == WB_SMTP_CONNECT &&
              static_cast<int>(SmtpStage::auth) == WB_SMTP_AUTH && static_cast<int>(SmtpStage::mail) == WB_SMTP_MAIL &&
              static_cast<int>(SmtpStage::rcpt) == WB_SMTP_RCPT && static_cast<int>(SmtpStage::data) == WB_SMTP_DATA);

constexpr std::size_t kMaxNameBytes = 512;

// The message as the client takes it; what is too large is refused before it is copied. The rules of SMTP are the client's.
Result<SmtpMessage> message_of(const wb_smtp_message* asked) {
  const auto refuse = [](const char* why) { return fail(Error::Kind::invalid, why); };
  if (asked == nullptr || !WB_HAS(asked, data)) return refuse("there is no message, or one shorter than the ABI's first");
  if (asked->tls < WB_TLS_IF_OFFERED || asked->tls > WB_TLS_NEVER) return refuse("the message asks for an unknown kind of TLS");
  if (asked->recipients == nullptr || asked->recipient_count == 0) return refuse("the message has no recipient");
  if (asked->recipient_count > kMaxRecipients) return refuse("the message has more than 1,000 recipients");
  SmtpMessage message;
  message.tls = static_cast<Tls>(asked->tls);
  message.timeout = Millis(asked->timeout_ms);
  bool fits = true;
  const auto copy = [&](const wb_str& from, std::size_t most) {
    const auto text = view_of(from);
    fits = fits && text.size() <= most;
    return fits ? std::string(text) : std::string();
  };
  message.relay = copy(asked->relay, kMaxUrlBytes);
  message.user = copy(asked->user, kMaxUserBytes);
  message.password = copy(asked->password, kMaxNameBytes);
  message.from = copy(asked->from, kMaxAddressBytes);
  for (std::size_t i = 0; i < asked->recipient_count; ++i)
    message.recipients.push_back(copy(asked->recipients[i], kMaxAddressBytes));
  if (!fits) return refuse("the relay, a name or an address is too long");
  message.data = copy(asked->data, kMaxMailBytes);
  if (!fits) return refuse("the message is longer than 64 MiB");
  return message;
}

}  // namespace

std::uint64_t PluginSender::submit(wb_call id, const wb_smtp_message* asked, wb_smtp_done done, void* user) try {
  if (!on_strand() || done == nullptr) {
    record_violation(done == nullptr ? "submit_without_done" : "submit_off_strand", id.id);
    return 0;
  }
  const auto found = calls_.find(id.id);
  const bool open = found != calls_.end() && !found->second.ended;
  auto message = message_of(asked);
  if (open && message && names_any(message->data)) {
    const auto& job = *found->second.job;
    if (const auto misplaced = operators_placeholder(message->data, Submitted(job.payload, job.context)))
      message = fail(Error::Kind::invalid, "the message has " + *misplaced + ", and a secret is put into no mail");
  }
  if (!open || !message) {
    if (!open) record_violation("submit_without_call", id.id);
    const auto error = open ? NetError::refused : NetError::cancelled;
    auto why = open ? message.error().what : std::string("its call has ended");
    // The client refuses the empty message, and so tells in its own time that this one was not sent.
    return mail_.submit({}, [this, done, user, error, why = std::move(why)](std::uint64_t self, SmtpReply reply) {
      reply.error = error;
      reply.error_text = why;
      deliver_mail(0, self, reply, done, user);
    });
  }
  note_service(found->second);
  message->departure = departure_of(found->second);
  message->deadline = deadline_of_services(found->second);
  message->trust = trust_of(*found->second.job);
  message->transport = transport_of(*found->second.job);
  found->second.sent_hash = hash_of_sent(message->data);
  const auto submission =
      mail_.submit(std::move(*message), [this, done, user, call = id.id](std::uint64_t self, const SmtpReply& reply) {
        deliver_mail(call, self, reply, done, user);
      });
  found->second.submissions.push_back(submission);
  return submission;
} catch (...) {
  return 0;
}

void PluginSender::deliver_mail(std::uint64_t call, std::uint64_t submission, const SmtpReply& reply, wb_smtp_done done,
                                void* user) {
  const auto found = calls_.find(call);
  const Job* job = found != calls_.end() ? found->second.job.get() : nullptr;
  if (job != nullptr) std::erase(found->second.submissions, submission);
  if (reply.refusal && job != nullptr) note_refusal(found->second, *reply.refusal);
  std::vector<wb_smtp_recipient> recipients;
  for (const auto& [code, text] : reply.recipients) recipients.push_back({code, 0, borrow(text)});
  const wb_smtp_reply view{.size = sizeof(wb_smtp_reply),
                           .error = static_cast<wb_net_error>(reply.error),
                           .reach = reach_of(reply.reach),
                           .stage = static_cast<wb_smtp_stage>(reply.stage),
                           .code = reply.answer.code,
                           .text = borrow(reply.answer.text),
                           .recipients = recipients.data(),
                           .recipient_count = recipients.size(),
                           .error_text = borrow(reply.error_text)};
  enter(call, job, [&] { done(user, &view); });
}

void PluginSender::abort_submission(std::uint64_t submission) {
  if (!on_strand()) return record_violation("abort_off_strand", 0);
  try {
    mail_.cancel(submission);
  } catch (...) {  // out of memory: the submission ends by itself
  }
}

}  // namespace waybill
