// What a sender's strand does for its plugin between calls: HTTP requests and timers, each belonging to an open call.
#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "plugin_protocol/plugin_text.h"
#include "senders/plugin_reach.h"
#include "senders/plugin_sender.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxHeaders = 256;
constexpr std::size_t kMaxBodyBytes = 64 << 20;
constexpr std::size_t kMaxBodySecrets = 16;
constexpr std::size_t kMaxNameBytes = 64;  // of a secret

static_assert(static_cast<int>(SecretForm::raw) == WB_SECRET_RAW && static_cast<int>(SecretForm::json) == WB_SECRET_JSON &&
              static_cast<int>(SecretForm::form) == WB_SECRET_FORM);
static_assert(static_cast<int>(NetError::refused) == WB_NET_REFUSED && static_cast<int>(NetError::resolve) == WB_NET_RESOLVE &&
              static_cast<int>(NetError::connect) == WB_NET_CONNECT && static_cast<int>(NetError::tls) == WB_NET_TLS &&
              static_cast<int>(NetError::timeout) == WB_NET_TIMEOUT && static_cast<int>(NetError::broken) == WB_NET_BROKEN &&
              static_cast<int>(NetError::cancelled) == WB_NET_CANCELLED);

// What the client refuses.
HttpRequest unusable() {
  HttpRequest request;
  request.method.clear();
  return request;
}

HttpRequest request_of(const wb_http_request* asked) {
  if (asked == nullptr || !WB_HAS(asked, body)) return unusable();
  const auto url = view_of(asked->url);
  const auto method = view_of(asked->method);
  const auto body = view_of(asked->body);
  const bool bad_headers = asked->header_count > kMaxHeaders || (asked->headers == nullptr && asked->header_count != 0);
  if (bad_headers || url.size() > kMaxUrlBytes || method.size() > 16 || body.size() > kMaxBodyBytes) return unusable();
  HttpRequest request{.method = std::string(method),
                      .url = std::string(url),
                      .headers = {},
                      .body = std::string(body),
                      .timeout = Millis(asked->timeout_ms),
                      .deadline = {},
                      .max_response_bytes = asked->max_response_bytes};
  if (WB_HAS(asked, basic_password)) {
    request.basic_user = view_of(asked->basic_user);
    request.basic_password = view_of(asked->basic_password);
  }
  if (WB_HAS(asked, sigv4_secret_key) && (asked->sigv4_key_id.len != 0 || asked->sigv4_secret_key.len != 0))
    request.sigv4 = SigV4{.region = std::string(view_of(asked->sigv4_region)),
                          .service = std::string(view_of(asked->sigv4_service)),
                          .key_id = std::string(view_of(asked->sigv4_key_id)),
                          .secret_key = std::string(view_of(asked->sigv4_secret_key))};
  if (WB_HAS(asked, body_secret_count)) {
    if (asked->body_secret_count > kMaxBodySecrets || (asked->body_secrets == nullptr && asked->body_secret_count != 0))
      return unusable();
    for (std::size_t i = 0; i < asked->body_secret_count; ++i) {
      const auto& secret = asked->body_secrets[i];
      if (secret.form < WB_SECRET_RAW || secret.form > WB_SECRET_FORM || secret.name.len > kMaxNameBytes) return unusable();
      request.body_secrets.push_back({secret.offset, std::string(view_of(secret.name)), static_cast<SecretForm>(secret.form)});
    }
  }
  for (std::size_t i = 0; i < asked->header_count; ++i) {
    const auto name = view_of(asked->headers[i].name);
    const auto value = view_of(asked->headers[i].value);
    if (name.size() > kMaxUrlBytes || value.size() > kMaxBodyBytes) return unusable();
    request.headers.emplace_back(name, value);
  }
  return request;
}

}  // namespace

// A little before the call's own end, so that the plugin hears of a timeout before the host cancels the call.
Clock::Monotonic PluginSender::deadline_of_services(const Call& call) const {
  const auto left = call.deadline - parts_.clock.now();
  return call.deadline - std::clamp<Clock::Monotonic::duration>(left / 20, Millis{0}, Millis{100});
}

// From here on its plugin waits for the host, and does nothing with it that the host does not see.
void PluginSender::note_service(const Call& call) {
  auto& reached = call.job->reached;
  if (reached.load(std::memory_order_relaxed) == Reached::plugin) reached.store(Reached::host, std::memory_order_relaxed);
}

std::uint64_t PluginSender::fetch(wb_call id, const wb_http_request* asked, wb_http_done done, void* user) try {
  if (!on_strand() || done == nullptr) {
    record_violation(done == nullptr ? "fetch_without_done" : "fetch_off_strand", id.id);
    return 0;
  }
  const auto found = calls_.find(id.id);
  if (found == calls_.end() || found->second.ended) {
    record_violation("fetch_without_call", id.id);
    return authorized_http_.fetch(unusable(), [this, done, user](std::uint64_t, HttpResponse response) {
      response.error = NetError::cancelled;
      deliver(0, 0, std::move(response), done, user);
    });
  }
  auto& call = found->second;
  auto request = request_of(asked);
  const auto misplaced = misplaced_secret(*call.job, request);
  if (misplaced) request = unusable();
  note_service(call);
  request.departure = departure_of(call);
  request.deadline = deadline_of_services(call);
  request.trust = trust_of(*call.job);
  request.transport = transport_of(*call.job);
  if (call.job->trace) add_trace(request, *call.job);
  if (!request.body.empty()) call.sent_hash = hash_of_sent(request.body);
  const auto fetch = authorized_http_.fetch(
      std::move(request), [this, done, user, misplaced, call_id = id.id](std::uint64_t self, HttpResponse response) {
        if (misplaced) response.error_text = *misplaced;
        deliver(call_id, self, std::move(response), done, user);
      });
  call.fetches.push_back(fetch);
  return fetch;
} catch (...) {
  return 0;
}

Trace PluginSender::trace_of_call(std::uint64_t call) const {
  if (!on_strand()) {
    const Job* const job = job_here();
    return job != nullptr ? job->trace : nullptr;
  }
  const auto found = calls_.find(call);
  return found != calls_.end() && found->second.job ? found->second.job->trace : nullptr;
}

// The attempt's own span is the parent of what the destination does, if there is one. What the plugin set itself stays.
void PluginSender::add_trace(HttpRequest& request, const Job& job) const {
  const auto has = [&](std::string_view header) {
    return std::any_of(request.headers.begin(), request.headers.end(),
                       [&](const auto& one) { return lower_ascii(one.first) == header; });
  };
  if (has("traceparent") || has("tracestate")) return;
  auto trace = *job.trace;
  if (parts_.records_spans && trace.is_sampled) trace.parent_id = attempt_span_of(trace, job.delivery, job.attempt());
  request.headers.emplace_back("traceparent", traceparent_of(trace));
  if (!trace.state.empty()) request.headers.emplace_back("tracestate", trace.state);
}

// What a submission holds must not name the operator's secrets, and what the operator wrote must not leave with their names. A
// tenant's own requests are filled in with nothing.
std::optional<std::string> PluginSender::misplaced_secret(const Job& job, const HttpRequest& request) {
  if (trust_of(job) == Trust::tenant) return std::nullopt;
  bool is_named = names_any(request.url) || names_any(request.body);
  for (const auto& [name, value] : request.headers) is_named = is_named || names_any(value);
  if (!is_named) return std::nullopt;
  const Submitted submitted(job.payload, job.context);
  if (const auto found = submitted_placeholder(request.url, submitted))
    return "the URL has " + *found + ", and so has the submission: what it holds names no secret";
  for (const auto& [name, value] : request.headers)
    if (const auto found = submitted_placeholder(value, submitted))
      return "the header " + clean_text(name, 100) + " has " + *found +
             ", and so has the submission: what it holds names no secret";
  if (const auto found = operators_placeholder(request.body, submitted))
    return "the body has " + *found + ", and a secret is put into a body only where its plugin says so";
  return std::nullopt;
}

void PluginSender::deliver(std::uint64_t call, std::uint64_t fetch, HttpResponse response, wb_http_done done, void* user) {
  const auto found = calls_.find(call);
  const Job* job = found != calls_.end() ? found->second.job.get() : nullptr;
  if (job != nullptr) std::erase(found->second.fetches, fetch);
  if (response.refusal && job != nullptr) note_refusal(found->second, *response.refusal);
  if (job != nullptr && job->contract->is_of_channel()) {
    found->second.answer = answer_json(response);
    found->second.timed_out = response.error == NetError::timeout;
  }
  header_views_.clear();
  for (auto& [name, value] : response.headers) {
    if (!is_valid_utf8(name) || !is_valid_utf8(value)) {
      name = clean_text(name, name.size() * 3);
      value = clean_text(value, value.size() * 3);
    }
    header_views_.push_back({borrow(name), borrow(value)});
  }
  const wb_http_response view{.size = sizeof(wb_http_response),
                              .error = static_cast<wb_net_error>(response.error),
                              .reach = reach_of(response.reach),
                              .status = response.status,
                              .truncated = response.truncated ? 1u : 0u,
                              .retry_after_ms = response.retry_after ? response.retry_after->count() : -1,
                              .headers = header_views_.data(),
                              .header_count = header_views_.size(),
                              .body = borrow(response.body),
                              .error_text = borrow(response.error_text)};
  enter(call, job, [&] { done(user, &view); });
}

// The operator learns the address, a tenant does not: complete() makes the outcome's words.
void PluginSender::note_refusal(Call& call, const AddressRefusal& refusal) {
  call.address_refused = true;
  const bool tenant = trust_of(*call.job) == Trust::tenant;
  parts_.log.write(Log::Level::warn, "egress.refused",
                   traced({{"action_type", parts_.type.name},
                           {"delivery", call.job->delivery.value},
                           {"target", call.job->contract->target},
                           {"written_by", tenant ? "tenant" : "registry"},
                           {"endpoint", refusal.endpoint},
                           {"address", refusal.address},
                           {"why", refusal.why}},
                          call.job->trace));
}

void PluginSender::abort_fetch(std::uint64_t fetch) {
  if (!on_strand()) return record_violation("abort_off_strand", 0);
  try {
    authorized_http_.cancel(fetch);
  } catch (...) {  // out of memory: the request ends by itself
  }
}

std::uint64_t PluginSender::start_timer(wb_call call, std::int64_t delay_ms, void (*fire_plugin)(void*), void* user) try {
  const auto found = on_strand() ? calls_.find(call.id) : calls_.end();
  if (found == calls_.end() || found->second.ended || fire_plugin == nullptr) {
    record_violation(on_strand() ? "timer_without_call" : "timer_off_strand", call.id);
    return 0;
  }
  note_service(found->second);
  const auto timer = ++last_timer_;
  const auto delay = Millis(std::clamp<std::int64_t>(delay_ms, 0, 24LL * 3600 * 1000));
  timers_.emplace(timer, Timer{call.id, loop_.after(delay, [this, timer] { fire(timer); }), fire_plugin, user});
  found->second.timers.push_back(timer);
  return timer;
} catch (...) {
  return 0;
}

void PluginSender::fire(std::uint64_t id) {
  const auto node = timers_.extract(id);
  const auto& timer = node.mapped();
  const auto found = calls_.find(timer.call);
  const Job* job = found != calls_.end() ? found->second.job.get() : nullptr;
  if (job != nullptr) std::erase(found->second.timers, id);
  enter(timer.call, job, [&] { timer.fire(timer.user); });
}

void PluginSender::cancel_timer(std::uint64_t timer) {
  if (!on_strand()) return record_violation("timer_off_strand", 0);
  const auto node = timers_.extract(timer);
  if (!node) return;
  loop_.cancel(node.mapped().loop_timer);
  if (const auto found = calls_.find(node.mapped().call); found != calls_.end()) std::erase(found->second.timers, timer);
}

}  // namespace waybill
