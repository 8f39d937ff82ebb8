// The host's network: requests and mails, which end as scripted, by an abort, in time, or with their call.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "check_host.h"
#include "check_host_face.h"

namespace waybill::conformance {
namespace {

constexpr std::size_t kDefaultResponseBytes = 4096;
constexpr std::size_t kMaxExchanges = 1000;  // of one call

std::string view(wb_str text) { return text.ptr == nullptr ? std::string() : std::string(text.ptr, text.len); }

// With every {secret:NAME} filled in; none if one is not closed.
std::optional<std::string> filled(std::string_view value) {
  constexpr std::string_view kOpen = "{secret:";
  std::string out;
  for (;;) {
    const auto open = value.find(kOpen);
    out += value.substr(0, open);
    if (open == std::string_view::npos) return out;
    value.remove_prefix(open + kOpen.size());
    const auto close = value.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    out += secret_value(value.substr(0, close));
    value.remove_prefix(close + 1);
  }
}

bool begins_with(std::string_view text, std::string_view begin) {
  return text.size() > begin.size() && text.substr(0, begin.size()) == begin && text.find_first_of(" \r\n\t") == text.npos;
}

// "" if a host could carry it out.
std::string fault_of(const wb_http_request* request, wb_http_done done) {
  if (request == nullptr || done == nullptr) return "a request that is null, or without a function for its answer";
  if (!WB_HAS(request, body)) return "a request that is too short: is `size` set?";
  if (request->headers == nullptr && request->header_count != 0) return "a request whose headers are null";
  if (request->method.len == 0) return "a request without a method";
  const auto url = view(request->url);
  return begins_with(url, "http://") || begins_with(url, "https://") ? "" : "a request whose URL is not one of http or https";
}

std::string fault_of(const wb_smtp_message* mail, wb_smtp_done done) {
  if (mail == nullptr || done == nullptr) return "a mail that is null, or without a function for its reply";
  if (!WB_HAS(mail, data)) return "a mail that is too short: is `size` set?";
  if (mail->recipients == nullptr || mail->recipient_count == 0) return "a mail without recipients";
  const auto relay = view(mail->relay);
  return begins_with(relay, "smtp://") || begins_with(relay, "smtps://") ? "" : "a mail whose relay is not one of smtp or smtps";
}

// A receiver that repeats a header, preferably one with a secret, in places where plugins look for words.
void echo(Answer& answer, const SentRequest& sent) {
  std::string line, value;
  for (const auto& [name, words] : sent.filled_headers) {
    if (!value.empty() && words.find(kSecretMark) == std::string::npos) continue;
    line = name + ": " + words;
    value = words;
    if (words.find(kSecretMark) != std::string::npos) break;
  }
  answer.headers.emplace_back("x-request", line);
  nlohmann::json json;
  for (const auto* field : {"error", "message", "detail", "reason", "status", "id", "title"}) json[field] = value;
  answer.body = answer.body.empty() ? line : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string secret_value(std::string_view name) { return std::string(kSecretMark) + std::string(name) + "-Zk7qX2vT"; }

std::uint64_t CheckHost::fetch(wb_call id, const wb_http_request* request, wb_http_done done, void* user) {
  Exchange exchange{.call = id.id, .service = CheckHostFace::http()};
  auto fault = fault_of(request, done);
  std::uint32_t timeout_ms = 0;
  std::size_t most = kDefaultResponseBytes;
  if (fault.empty()) {
    auto& sent = exchange.sent;
    sent = {id.id, false, view(request->method), view(request->url), view(request->body), {}, {}};
    for (std::size_t i = 0; i < request->header_count; ++i) {
      sent.headers.emplace_back(view(request->headers[i].name), view(request->headers[i].value));
      if (auto value = filled(sent.headers.back().second))
        sent.filled_headers.emplace_back(sent.headers.back().first, std::move(*value));
      else
        fault = "a request with a {secret: that is not closed";
    }
    timeout_ms = request->timeout_ms;
    if (request->max_response_bytes != 0) most = request->max_response_bytes;
  }
  exchange.tell = [this, most, done, user](const Exchange& ended) { tell_http(ended, most, done, user); };
  return begin_exchange(std::move(exchange), timeout_ms, fault);
}

std::uint64_t CheckHost::submit(wb_call id, const wb_smtp_message* mail, wb_smtp_done done, void* user) {
  Exchange exchange{.call = id.id, .service = CheckHostFace::smtp()};
  const auto fault = fault_of(mail, done);
  if (fault.empty()) {
    exchange.sent = {id.id, true, "", view(mail->relay), view(mail->data), {}, {}};
    exchange.recipients = mail->recipient_count;
  }
  exchange.tell = [this, done, user](const Exchange& ended) { tell_smtp(ended, done, user); };
  return begin_exchange(std::move(exchange), fault.empty() ? mail->timeout_ms : 0, fault);
}

std::uint64_t CheckHost::begin_exchange(Exchange exchange, std::uint32_t timeout_ms, const std::string& fault) {
  const auto* const what = exchange.service == CheckHostFace::http() ? "http.fetch" : "smtp.submit";
  if (!on_strand(what)) return 0;
  if (creating_) breach(Violation::in_create, std::string("create called ") + what);
  if (destroying_) breach(Violation::in_destroy, std::string("destroy called ") + what);
  if (!fault.empty()) breach(Violation::malformed, std::string(what) + " was given " + fault);
  const auto number = next_++;
  std::int64_t deadline = now_ms_;
  std::size_t nth = 0;
  bool open = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(exchange.call);
    open = found != calls_.end() && found->second.end == End::open;
    if (open) deadline = found->second.deadline_at, nth = found->second.exchanges++;
    if (!open && !creating_ && !destroying_)
      breaches_.emplace_back(Violation::malformed, std::string(what) + " on behalf of a call that is not open");
  }
  exchange.due_at = now_ms_;
  if (!fault.empty() || nth >= kMaxExchanges) {
    exchange.answer = broken(WB_NET_REFUSED, WB_NOT_SENT);
  } else if (!open) {
    exchange.answer = broken(WB_NET_CANCELLED, WB_NOT_SENT);
    exchange.overruled = true;
  } else {
    exchange.answer = script_(exchange.call, nth);
    if (exchange.answer.echoes) echo(exchange.answer, exchange.sent);
    if (exchange.answer.never)
      exchange.due_at = timeout_ms == 0 ? deadline : std::min<std::int64_t>(deadline, now_ms_ + timeout_ms);
  }
  if (fault.empty()) sent_.push_back(exchange.sent);
  exchanges_.emplace(number, std::move(exchange));
  return number;
}

void CheckHost::abort(const void* service, std::uint64_t number) {
  if (!on_strand("abort")) return;
  const auto found = exchanges_.find(number);
  if (found == exchanges_.end() || found->second.service != service) return;
  auto& exchange = found->second;
  exchange.answer = broken(WB_NET_CANCELLED, exchange.answer.error != WB_NET_OK ? exchange.answer.reach : WB_MAYBE_SENT);
  exchange.overruled = true;
  exchange.due_at = now_ms_;
}

void CheckHost::deliver(std::uint64_t number) {
  const auto node = exchanges_.extract(number);
  const auto& exchange = node.mapped();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = calls_.find(exchange.call); found != calls_.end()) {
      found->second.last_reach = exchange.answer.reach;
      found->second.answered = found->second.answered || exchange.answer.error == WB_NET_OK;
    }
  }
  exchange.tell(exchange);
}

void CheckHost::tell_http(const Exchange& exchange, std::size_t most, wb_http_done done, void* user) {
  if (done == nullptr) return;
  const auto& answer = exchange.answer;
  std::vector<Block> texts;
  wb_http_response raw{};
  raw.error = answer.error;
  raw.reach = answer.reach;
  raw.status = answer.error == WB_NET_OK ? answer.status : 0;
  raw.truncated = answer.body.size() > most ? 1 : 0;
  raw.retry_after_ms = answer.retry_after_ms;
  std::vector<wb_header> headers;
  for (const auto& [name, value] : answer.headers) headers.push_back({lend(texts, name), lend(texts, value)});
  const Block list(shape_.text,
                   std::string_view(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(wb_header)));
  raw.headers = headers.empty() ? nullptr : reinterpret_cast<const wb_header*>(list.data());
  raw.header_count = headers.size();
  raw.body = lend(texts, std::string_view(answer.body).substr(0, most));
  raw.error_text = lend(texts, answer.error_text);
  const auto block = lend_struct(&raw, sizeof raw, shape_.text);
  enter("the answer to a request", exchange.call, [&] { done(user, reinterpret_cast<const wb_http_response*>(block.data())); });
}

void CheckHost::tell_smtp(const Exchange& exchange, wb_smtp_done done, void* user) {
  if (done == nullptr) return;
  const auto& answer = exchange.answer;
  const bool well = answer.error == WB_NET_OK;
  std::vector<Block> texts;
  const auto words = [&](std::int32_t code) {
    return code == 0 ? wb_str{} : lend(texts, std::to_string(code / 100) + (code / 100 == 2 ? ".0.0 taken" : ".1.1 not taken"));
  };
  std::vector<wb_smtp_recipient> recipients;
  for (std::size_t i = 0; i < exchange.recipients; ++i) {
    std::int32_t code = 0;
    if (well && answer.stage == WB_SMTP_RCPT) code = answer.reply;
    if (well && answer.stage == WB_SMTP_DATA) code = i == 0 && answer.refuses_first_recipient ? 550 : 250;
    recipients.push_back({code, 0, words(code)});
  }
  wb_smtp_reply raw{};
  raw.error = answer.error;
  raw.reach = answer.reach;
  raw.stage = well ? answer.stage : WB_SMTP_NONE;
  raw.code = well ? answer.reply : 0;
  if (exchange.recipients == 1 && answer.refuses_first_recipient) raw.stage = WB_SMTP_RCPT, raw.code = 550;  // nobody was left
  raw.text = words(raw.code);
  const Block list(shape_.text, std::string_view(reinterpret_cast<const char*>(recipients.data()),
                                                 recipients.size() * sizeof(wb_smtp_recipient)));
  raw.recipients = recipients.empty() ? nullptr : reinterpret_cast<const wb_smtp_recipient*>(list.data());
  raw.recipient_count = recipients.size();
  raw.error_text = lend(texts, answer.error_text);
  const auto block = lend_struct(&raw, sizeof raw, shape_.text);
  enter("the reply to a mail", exchange.call, [&] { done(user, reinterpret_cast<const wb_smtp_reply*>(block.data())); });
}

}  // namespace waybill::conformance
