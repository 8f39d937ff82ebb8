// What the host does for a sender of mail: it speaks SMTP with the relay and reports what became of each recipient.
#pragma once

#include "waybill/plugin/services.hpp"

namespace waybill::plugin {

enum class Tls : std::int32_t { if_offered = WB_TLS_IF_OFFERED, required = WB_TLS_REQUIRED, never = WB_TLS_NEVER };
enum class SmtpStage : std::int32_t {
  none = WB_SMTP_NONE,
  connect = WB_SMTP_CONNECT,
  auth = WB_SMTP_AUTH,
  mail = WB_SMTP_MAIL,
  rcpt = WB_SMTP_RCPT,
  data = WB_SMTP_DATA
};

struct Message {
  std::string relay;  // "smtp://host[:25]" or "smtps://host[:465]"
  Tls tls = Tls::if_offered;
  std::string user;      // empty: no AUTH
  std::string password;  // the NAME of the host's secret
  std::string from;      // envelope sender; empty: the null reverse-path
  std::vector<std::string> recipients;
  std::string data;                      // RFC 5322, CRLF line ends
  std::chrono::milliseconds timeout{0};  // 0: until the call's deadline
};

struct RecipientReply {
  int code = 0;  // 0: not asked
  std::string_view text;
};

// A view, valid until the callback returns.
struct SmtpReply {
  NetError error = NetError::none;
  Reach reach = Reach::maybe_sent;
  SmtpStage stage = SmtpStage::none;  // of the reply that decided
  int code = 0;
  std::string_view text;
  std::string_view error_text;
  const wb_smtp_recipient* recipients = nullptr;  // in the order of Message::recipients
  std::size_t recipient_count = 0;

  // The relay has taken the message, for those recipients whose own code is 2xx.
  bool taken() const { return error == NetError::none && stage == SmtpStage::data && code / 100 == 2; }
  RecipientReply recipient(std::size_t i) const {
    if (i >= recipient_count) return {};
    return {recipients[i].code, view(recipients[i].text)};
  }
};

using SubmitDone = std::function<void(const SmtpReply&)>;
enum class SubmissionId : std::uint64_t {};

namespace detail {

struct PendingSubmission {
  const wb_host* host;
  wb_call call;
  SubmitDone done;

  static void finish(void* user, const wb_smtp_reply* raw) noexcept {
    const std::unique_ptr<PendingSubmission> self(static_cast<PendingSubmission*>(user));
    guarded(self->host, self->call, [&] {
      SmtpReply reply;
      reply.error = static_cast<NetError>(raw->error);
      reply.reach = reach_of(raw->reach);
      reply.stage = static_cast<SmtpStage>(raw->stage);
      reply.code = raw->code;
      reply.text = view(raw->text);
      reply.error_text = view(raw->error_text);
      reply.recipients = raw->recipients;
      reply.recipient_count = raw->recipient_count;
      self->done(reply);
    });
  }
};

}  // namespace detail

// [strand] Asynchronous SMTP submission.
class Smtp {
 public:
  Smtp(const wb_host* host, const wb_smtp_service* service) noexcept : host_(host), service_(service) {}

  // `done` runs exactly once, on the strand, after submit has returned; what it throws completes the call as plugin_error.
  SubmissionId submit(Call call, const Message& message, SubmitDone done) const {
    auto pending = std::make_unique<detail::PendingSubmission>(detail::PendingSubmission{host_, call.raw(), std::move(done)});
    std::vector<wb_str> recipients;
    recipients.reserve(message.recipients.size());
    for (const auto& recipient : message.recipients) recipients.push_back(str(recipient));
    wb_smtp_message raw{};
    raw.size = sizeof raw;
    raw.timeout_ms = detail::timeout_ms(message.timeout);
    raw.tls = static_cast<wb_tls>(message.tls);
    raw.relay = str(message.relay);
    raw.user = str(message.user);
    raw.password = str(message.password);
    raw.from = str(message.from);
    raw.recipients = recipients.data();
    raw.recipient_count = recipients.size();
    raw.data = str(message.data);
    return SubmissionId{service_->submit(host_, call.raw(), &raw, &detail::PendingSubmission::finish, pending.release())};
  }

  // The submission's callback still comes, with NetError::cancelled.
  void abort(SubmissionId submission) const { service_->abort(host_, static_cast<std::uint64_t>(submission)); }

 private:
  const wb_host* host_;
  const wb_smtp_service* service_;
};

}  // namespace waybill::plugin
