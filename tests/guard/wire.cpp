// What is done with bytes from and for the network: requests, intents, answers, signatures.
#include <array>

#include "api/intent_batch.h"
#include "api/intent_json.h"
#include "api/json_envelope.h"
#include "guard/counted.h"
#include "guard/http_exchange.h"
#include "guard/scenarios.h"
#include "services/sign.h"

namespace waybill::guard {
namespace {

constexpr std::size_t kPayload = 1024;

std::string payload() { return R"({"to":"+15550100","message":")" + std::string(kPayload, 'm') + "\"}"; }

std::string intent_of(int number) {
  return R"({"intentId":"order-)" + std::to_string(number) + R"(","submissionTarget":"orders.webhook","payload":)" + payload() +
         "}";
}

void read_intent() {
  const std::string body = intent_of(1);
  Result<IntentRequest> intent;
  counted_calls([&] { intent = waybill::read_intent(body); });
  require(intent && intent->intent_id == "order-1" && intent->payload == payload(), "an intent");
}

void read_batch() {
  std::string body = "[";
  for (int i = 0; i < 10; ++i) body += (i > 0 ? "," : "") + intent_of(i);
  body += "]";
  std::size_t good = 0;
  counted_calls([&] {
    const auto intents = waybill::read_batch(body);
    good = 0;
    for (const auto& intent : *intents) good += intent.has_value() ? 1 : 0;
  });
  require(good == 10, "a batch of 10 intents");
}

void intent_json() {
  const SubmissionView view{.id = {1},
                            .org = kDefaultOrg,
                            .client_ref = "order-4711",
                            .target = "orders.webhook",
                            .state = "accepted",
                            .reason = {},
                            .created = {1'700'000'000'000'000},
                            .completed = Timestamp{1'700'000'000'020'000}};
  std::string json;
  counted_calls([&] { json = waybill::intent_json(view); });
  require(json.starts_with(R"({"intentId":"order-4711")"), "an intent's JSON");
}

// The parts of a signature as the plugin webhook hands them over.
void webhook_signature() {
  const Secrets secrets(Secrets::Values{{"hooks", {Secret("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")}}});
  const std::string body = payload();
  const std::array<std::string_view, 5> parts{"order-4711", ".", "1700000000", ".", body};
  Mac mac{};
  bool known = false;
  counted_calls([&] { known = sign_hmac_sha256(secrets, "hooks", parts, [&](const Mac& made) { mac = made; }); });
  require(known && mac != Mac{}, "a signature");
}

void http_exchange() {
  exchange_over_http(intent_of(1));  // what is done once in a process
  require(exchange_over_http(intent_of(2)) == kExchanges, "an answer to each request");
}

constexpr std::array kScenarios{
    Scenario{"read_intent", read_intent},     Scenario{"read_batch", read_batch},
    Scenario{"intent_json", intent_json},     Scenario{"webhook_signature", webhook_signature},
    Scenario{"http_exchange", http_exchange},
};

}  // namespace

std::span<const Scenario> wire_scenarios() { return kScenarios; }

}  // namespace waybill::guard
