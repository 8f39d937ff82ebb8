// The fake host's requests, mails and timers: what each must be, and how the plugin hears of its end.
#include "host.h"
#include "text.h"

namespace waybill::fake_host {
namespace {

std::string fault_of(const wb_http_request* request, wb_http_done done) {
  if (request == nullptr || done == nullptr) return "a request that is null, or without a function for its answer";
  if (!WB_HAS(request, body)) return "a request that is too short: is `size` set?";
  if (WB_HAS(request, body_secret_count) && request->body_secrets == nullptr && request->body_secret_count != 0)
    return "a request whose body_secrets are null";
  return request->headers == nullptr && request->header_count != 0 ? "a request whose headers are null" : "";
}

std::string fault_of(const wb_smtp_message* mail, wb_smtp_done done) {
  if (mail == nullptr || done == nullptr) return "a mail that is null, or without a function for its reply";
  if (!WB_HAS(mail, data)) return "a mail that is too short: is `size` set?";
  return mail->recipients == nullptr && mail->recipient_count != 0 ? "a mail whose recipients are null" : "";
}

testkit::SentRequest copy_of(const wb_http_request& request) {
  testkit::SentRequest sent;
  sent.method = text(request.method);
  sent.url = text(request.url);
  for (std::size_t i = 0; i < request.header_count; ++i)
    sent.headers.emplace_back(text(request.headers[i].name), text(request.headers[i].value));
  sent.body = text(request.body);
  sent.timeout_ms = request.timeout_ms;
  sent.max_response_bytes = request.max_response_bytes;
  if (WB_HAS(&request, basic_password))
    sent.basic_user = text(request.basic_user), sent.basic_password = text(request.basic_password);
  if (WB_HAS(&request, sigv4_secret_key)) {
    sent.sigv4_region = text(request.sigv4_region), sent.sigv4_service = text(request.sigv4_service);
    sent.sigv4_key_id = text(request.sigv4_key_id), sent.sigv4_secret_key = text(request.sigv4_secret_key);
  }
  if (WB_HAS(&request, body_secret_count))
    for (std::size_t i = 0; i < request.body_secret_count; ++i) {
      const auto& secret = request.body_secrets[i];
      sent.body_secrets.push_back({secret.offset, text(secret.name), secret.form});
    }
  return sent;
}

testkit::SentMail copy_of(const wb_smtp_message& message) {
  testkit::SentMail sent;
  sent.relay = text(message.relay);
  sent.tls = message.tls;
  sent.user = text(message.user);
  sent.password = text(message.password);
  sent.from = text(message.from);
  for (std::size_t i = 0; i < message.recipient_count; ++i) sent.recipients.push_back(text(message.recipients[i]));
  sent.data = text(message.data);
  sent.timeout_ms = message.timeout_ms;
  return sent;
}

// What an exchange came to: its scripted answer, or the failure that overruled it.
template <class Answer>
Answer answer_of(const Exchange& exchange, const Answer& scripted) {
  const auto& ending = exchange.ending;
  return exchange.overruled ? Answer::failure(ending.error, ending.reach, ending.error_text) : scripted;
}

}  // namespace

bool Host::on_strand(const char* what) {
  if (!is_strand()) off_strand(what);
  return is_strand();
}

std::uint64_t Host::fetch(wb_call call, const wb_http_request* request, wb_http_done done, void* user) {
  if (!on_strand("http.fetch")) return 0;
  const auto number = timeline_.next_number();
  const bool is_open = may_begin("http.fetch", call);
  testkit::SentRequest sent;
  auto answer = testkit::Answer::failure(WB_NET_REFUSED, WB_NOT_SENT, "the request is malformed");
  if (const auto fault = fault_of(request, done); !fault.empty()) {
    malformed("http.fetch was given " + fault);
  } else {
    sent = copy_of(*request);
    sent.fetch = number;
    sent.call = call.id;
    if (is_open) answer = answer_request(sent);
  }
  begin(number, is_open, sent.timeout_ms,
        {call.id, Protocol::http, answer, [=, most = sent.max_response_bytes](const Exchange& exchange) {
           if (done == nullptr) return;
           Loan loan;
           const auto* const response = lender_.response(loan, answer_of(exchange, answer), most);
           enter("the answer to a request", exchange.call, [=] { done(user, response); });
         }});
  return number;
}

std::uint64_t Host::submit(wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user) {
  if (!on_strand("smtp.submit")) return 0;
  const auto number = timeline_.next_number();
  const bool is_open = may_begin("smtp.submit", call);
  testkit::SentMail sent;
  auto answer = testkit::MailAnswer::failure(WB_NET_REFUSED, WB_NOT_SENT, "the mail is malformed");
  if (const auto fault = fault_of(message, done); !fault.empty()) {
    malformed("smtp.submit was given " + fault);
  } else {
    sent = copy_of(*message);
    sent.submission = number;
    sent.call = call.id;
    if (is_open) answer = answer_mail(sent);
  }
  begin(number, is_open, sent.timeout_ms,
        {call.id, Protocol::smtp, answer, [=, recipients = sent.recipients](const Exchange& exchange) {
           if (done == nullptr) return;
           Loan loan;
           const auto* const reply = lender_.reply(loan, answer_of(exchange, answer), recipients);
           enter("the reply to a mail", exchange.call, [=] { done(user, reply); });
         }});
  return number;
}

void Host::begin(std::uint64_t number, bool is_open, std::uint32_t timeout_ms, Exchange exchange) {
  const auto deadline = is_open ? std::optional(deadline_of({exchange.call})) : std::nullopt;
  exchange.deliver = [this, notify_plugin = std::move(exchange.deliver)](const Exchange& one) {
    ended(one);
    notify_plugin(one);
  };
  timeline_.begin(number, std::move(exchange), timeout_ms, deadline);
}

void Host::abort(Protocol protocol, std::uint64_t number) {
  if (on_strand("abort") && timeline_.abort(protocol, number)) aborted(protocol, number);
}

std::uint64_t Host::after(wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user) {
  if (!on_strand("timer.after")) return 0;
  const auto number = timeline_.next_number();
  const bool is_open = may_begin("timer.after", call);
  if (fire == nullptr) malformed("timer.after was given no function");
  if (fire != nullptr && is_open)
    timeline_.start_timer(number, call.id, delay_ms, [=] { enter("a timer's fire", call.id, [=] { fire(user); }); });
  return number;
}

void Host::cancel_timer(std::uint64_t number) {
  if (on_strand("timer.cancel")) timeline_.cancel_timer(number);
}

}  // namespace waybill::fake_host
