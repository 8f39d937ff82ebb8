// Action type my_destination: posts the payload as it is to an HTTP API that takes JSON.
#include <unordered_map>

#include "waybill/plugin.hpp"
#include "waybill/plugin/fields.hpp"
#include "waybill/plugin/verdicts.hpp"

namespace {
using namespace waybill::plugin;

// What the operator sets for all targets, as senders.my_destination in waybill.yaml. The host holds it against this schema.
constexpr std::string_view kSettings = R"({
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600000, "default": 10000,
                   "description": "how long one attempt may take, in milliseconds"}
  }
})";

// What a target in targets.json says: its gatewayUrl, which is "url" here, and what stands in its "destination".
constexpr std::string_view kDestination = R"({
  "type": "object",
  "required": ["url"],
  "additionalProperties": false,
  "properties": {
    "url": {"type": "string", "minLength": 1},
    "channel": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "description": "goes into the header X-Channel"}
  },
  "examples": [{"url": "https://api.example.org/messages", "channel": "ops"}]
})";

// Why the receiver may refuse for good. A target's terminalOutcomes may list these, and a rejection must give one of them.
constexpr wb_reason kReasons[] = {permanent("not_found"), permanent("invalid_request")};

// What this API says in a way of its own goes here; the rest is judged as with any HTTP API (see verdicts.hpp).
Outcome verdict(const Response& response) {
  if (response.error == NetError::none && response.status == 404)
    return Outcome::rejected("not_found").reach(response.reach).code(404).detail("there is nothing at this url");
  return judge(response, "invalid_request");
}

class MyDestinationSender final : public Sender {
 public:
  MyDestinationSender(Host host, std::string_view settings)
      : http_(host.http()), timeout_(Fields(settings).number("timeout_ms").value_or(10'000)) {}

  void send(Call call, Job job) override {
    const Fields destination(job.destination());
    Request request;
    request.url = destination.text("url").value();
    request.headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", std::string(job.idempotency_key())}};
    if (const auto channel = destination.text("channel")) request.headers.push_back({"X-Channel", *channel});
    request.body = job.payload();
    request.timeout = timeout_;
    open_[call.id()] = http_.fetch(call, request, [this, call](const Response& response) {
      open_.erase(call.id());
      call.complete(verdict(response));
    });
  }

  void cancel(Call call) override {  // the fetch's callback still comes and completes the call
    if (const auto found = open_.find(call.id()); found != open_.end()) http_.abort(found->second);
  }

 private:
  Http http_;
  std::chrono::milliseconds timeout_;
  std::unordered_map<std::uint64_t, FetchId> open_;
};

constexpr auto kAction =
    action<MyDestinationSender>("my_destination").settings_schema(kSettings).destination_schema(kDestination).reasons(kReasons);
}  // namespace

WAYBILL_PLUGIN("my_destination", "0.1.0", kAction);
