// Action type webhook: posts the payload as it is to a URL, signed in one of two schemes when a secret is named.
#include "common/base64.h"
#include "common/http_sender.h"
#include "webhook/destination.h"

namespace {
using namespace waybill::plugins;
namespace wp = waybill::plugin;

constexpr wb_reason kReasons[] = {wp::permanent("gone"), wp::permanent("client_error")};

constexpr std::uint32_t kMaxAnswer = 1 << 20;  // bytes, where the answer is the result

// What the receiver names as the reason, in JSON; "" if it does not.
std::string named_reason(std::string_view body, const std::string& at) {
  const auto json = read_json(body);
  const Json::json_pointer pointer(at);
  if (json.is_discarded() || !json.contains(pointer) || !json.at(pointer).is_string()) return {};
  return one_line(json.at(pointer).get_ref<const std::string&>()).substr(0, 64);
}

Outcome accepted(const Response& response, const webhook::Destination& destination) {
  auto outcome = Outcome::accepted().reach(response.reach).code(response.status);
  if (!destination.keeps_answer || response.body.empty()) return outcome;
  const auto json = read_json(response.body);
  if (response.truncated || json.is_discarded())
    return Outcome::transient("invalid_answer")
        .reach(response.reach)
        .code(response.status)
        .detail(public_url(destination.url) + (response.truncated ? " answered more than 1 MiB" : " did not answer with JSON"));
  return outcome.result(std::string(response.body));
}

Outcome judge(const Response& response, const webhook::Destination& destination) {
  const int status = response.status;
  const std::string& url = destination.url;
  if (status >= 200 && status <= 299) return accepted(response, destination);
  if (!destination.error_at.empty())
    if (auto reason = named_reason(response.body, destination.error_at); !reason.empty())
      return Outcome::transient(reason)
          .reach(response.reach)
          .code(status)
          .retry_after(response.retry_after)
          .detail(public_url(url) + " answered " + std::to_string(status));

  auto detail = public_url(url) + " answered " + std::to_string(status);
  const auto refused = [&](std::string_view reason) {
    return Outcome::rejected(reason).reach(response.reach).code(status).detail(std::move(detail));
  };
  const auto again = [&](std::string_view reason) { return undecided(response, reason, std::move(detail)); };
  switch (status) {
    case 401:
      return again("unauthorized");
    case 403:
      return again("forbidden");
    case 408:
      return again("request_timeout");
    case 410:
      return refused("gone");
    case 425:
      return again("too_early");
    case 429:
      return again("too_many_requests");
    default:
      break;
  }
  if (status >= 300 && status <= 399) return again("redirect");
  if (status >= 400 && status <= 499) return refused("client_error");
  if (status >= 500 && status <= 599) return again("server_error");
  return again("invalid_answer");
}

std::string hex(const wp::Mac& mac) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const auto byte : mac) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

class Webhook final : public HttpSender {
 public:
  Webhook(wp::Host host, std::string_view settings) : HttpSender(host, settings), timer_(host.timer()), sign_(host.sign()) {}

  void send(Call call, Job job) override {
    const auto destination = destinations_.get(job.destination(), webhook::parse_destination);
    const auto timestamp = std::to_string(timer_.unix_seconds());
    Request request;
    request.url = destination->url;
    request.headers = destination->headers;
    request.headers.push_back({"Content-Type", "application/json"});
    const bool standard = destination->signing == webhook::Signing::standard;
    if (standard) request.headers.push_back({"webhook-id", std::string(job.idempotency_key())});
    request.headers.push_back({standard ? "webhook-timestamp" : destination->timestamp_header, timestamp});
    if (!destination->secret.empty()) {
      auto signature =
          standard ? sign_standard(destination->secret, job, timestamp) : sign_cvert(destination->secret, job, timestamp);
      if (signature.empty()) {
        call.complete(Outcome::transient("unknown_secret")
                          .reach(Reach::not_sent)
                          .scope(Scope::whole_target)
                          .detail("this host has no secret named \"" + one_line(destination->secret) + '"'));
        return;
      }
      request.headers.push_back({standard ? "webhook-signature" : destination->signature_header, std::move(signature)});
    }
    request.body = job.payload();
    if (destination->keeps_answer) request.max_response_bytes = kMaxAnswer;
    fetch(call, std::move(request), [destination](const Response& response) { return judge(response, *destination); });
  }

 private:
  // One signature for each secret that is valid now, so that receivers can rotate at their leisure. Empty: no such secret.
  std::string sign_standard(const std::string& secret, const Job& job, const std::string& timestamp) const {
    const auto macs = sign_.hmac_sha256(secret, {job.idempotency_key(), ".", timestamp, ".", job.payload()});
    std::string out;
    if (!macs) return out;
    for (const auto& mac : *macs) {
      if (!out.empty()) out += ' ';
      out += "v1," + base64({reinterpret_cast<const char*>(mac.data()), mac.size()});
    }
    return out;
  }

  // With the newest secret only: receivers of this scheme know one signature. Empty: no such secret.
  std::string sign_cvert(const std::string& secret, const Job& job, const std::string& timestamp) const {
    const auto macs = sign_.hmac_sha256(secret, {timestamp, ".", job.payload()});
    return macs && !macs->empty() ? "sha256=" + hex(macs->front()) : std::string();
  }

  wp::Timers timer_;
  wp::Signer sign_;
  LastDestination<webhook::Destination> destinations_;
};

constexpr auto kWebhook = wp::action<Webhook>("webhook")
                              .settings_schema(kTimeoutSettings)
                              .destination_schema(webhook::kDestinationSchema)
                              .reasons(kReasons)
                              .validate_destination<webhook::check_destination>();
}  // namespace

WAYBILL_PLUGIN("waybill.webhook", "1.0.0", kWebhook);
