// A small but whole plugin on the C++ wrapper: posts the payload, signs it, and waits a while when told to be patient.
#include "waybill/plugin.hpp"

namespace {
using namespace waybill::plugin;

class Sample final : public Sender {
 public:
  Sample(Host host, std::string_view settings) : http_(host.http()), timer_(host.timer()), sign_(host.sign()), host_(host) {
    if (settings == "bad") throw std::runtime_error("these settings are bad");
    if (settings == "very bad") throw 7;
  }

  void send(Call call, Job job) override {
    if (job.payload() == "wait") {
      waiting_ = timer_.after(call, std::chrono::seconds(2), [call] { call.complete(Outcome::deferred("waited")); });
      return;
    }
    if (job.payload() == "secrets") return send_secrets(call);
    const auto macs = sign_.hmac_sha256("key", {job.idempotency_key(), ".", job.payload()});
    Request request;
    request.url = "http://sample.test/";
    request.headers = {{"X-Macs", std::to_string(macs ? macs->size() : 0)}, {"X-Key", "{secret:key}"}};
    request.body = job.payload();
    request.timeout = std::chrono::seconds(5);
    host_.log(call, Level::info, "posting", {{"target", job.target()}});
    fetch_ = http_.fetch(call, request, [call](const Response& answer) {
      auto outcome = answer.status == 200 ? Outcome::accepted() : Outcome::transient("no_luck");
      call.complete(outcome.reach(answer.reach).code(answer.status).retry_after(answer.retry_after));
    });
  }

  void cancel(Call call) override {
    http_.abort(fetch_);
    waiting_.cancel();
    host_.log(call, Level::debug, "cancelled");
  }

 private:
  void send_secrets(Call call) {
    Request request;
    request.url = "https://sample.test/{secret:key}";
    request.text(R"({"k":")").secret("key", SecretForm::json).text(R"("})");
    request.headers = {{"Authorization", "Bearer {oauth2:crm}"},
                       {"X-Jwt", jwt(sign_, JwtAlgorithm::rs256, "signer", R"({"iss":"me"})", "id1").value_or("none")},
                       {"X-No-Jwt", jwt(sign_, JwtAlgorithm::es256, "signer", "{}").value_or("none")},
                       {"X-Value", host_.secrets().newest("redis").value_or("none")},
                       {"X-Other", host_.secrets().newest("key").value_or("none")}};
    if (host_.oauth2().has("crm") && !host_.oauth2().has("erp")) host_.oauth2().forget("crm");
    http_.fetch(call, request, [call](const Response& answer) { call.complete(Outcome::accepted().reach(answer.reach)); });
  }

  Http http_;
  Timers timer_;
  Signer sign_;
  Host host_;
  FetchId fetch_{};
  Timer waiting_;
};

constexpr wb_reason kReasons[] = {permanent("invalid_request"), duplicate("seen")};
constexpr auto kSample =
    action<Sample>("sample").destination_schema(R"({"type":"object"})").payload_schema(R"({"type":"object"})").reasons(kReasons);
}  // namespace

WAYBILL_PLUGIN("waybill.sample", "1.0.0", kSample);
