// Action type webhook: posts the payload as it is to a URL, signed as Standard Webhooks say when a secret is named.
#include "common/base64.h"
#include "common/http_sender.h"
#include "webhook/destination.h"

namespace {
using namespace waybill::plugins;
namespace wp = waybill::plugin;

constexpr wb_reason kReasons[] = {wp::permanent("gone"), wp::permanent("client_error")};

Outcome judge(const Response& response, const std::string& url) {
  const int status = response.status;
  if (status >= 200 && status <= 299) return Outcome::accepted().reach(response.reach).code(status);

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
    request.headers.push_back({"webhook-id", std::string(job.idempotency_key())});
    request.headers.push_back({"webhook-timestamp", timestamp});
    if (!destination->secret.empty()) {
      auto signature = sign(destination->secret, job, timestamp);
      if (signature.empty()) {
        call.complete(Outcome::transient("unknown_secret")
                          .reach(Reach::not_sent)
                          .scope(Scope::whole_target)
                          .detail("this host has no secret named \"" + one_line(destination->secret) + '"'));
        return;
      }
      request.headers.push_back({"webhook-signature", std::move(signature)});
    }
    request.body = job.payload();
    fetch(call, std::move(request), [destination](const Response& response) { return judge(response, destination->url); });
  }

 private:
  // One signature for each secret that is valid now, so that receivers can rotate at their leisure. Empty: no such secret.
  std::string sign(const std::string& secret, const Job& job, const std::string& timestamp) const {
    const auto macs = sign_.hmac_sha256(secret, {job.idempotency_key(), ".", timestamp, ".", job.payload()});
    std::string out;
    if (!macs) return out;
    for (const auto& mac : *macs) {
      if (!out.empty()) out += ' ';
      out += "v1," + base64({reinterpret_cast<const char*>(mac.data()), mac.size()});
    }
    return out;
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
