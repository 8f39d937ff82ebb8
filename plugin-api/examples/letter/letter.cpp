// Example `letter`: a sender that composes (waybill.compose/1): what is made once is sent in every attempt, byte for byte.
//
//   destination   {"url": "http://HOST/base"}
//   payload       the text of the letter, any bytes but none at all
//
//   compose       makes text/plain with the lines "Serial: <16 random hex digits>", "Written: <seconds since 1970>", "" and the
//   text.
//                 Serial and time differ between two composes; an empty payload is rejected: empty_letter.
//   send          POST {url}/letters with the artefact as it is, and the header Idempotency-Key
//   verdicts      those of judge(): 2xx accepted, other 4xx rejected: refused, ... (waybill/plugin/verdicts.hpp)
#include <nlohmann/json.hpp>
#include <random>
#include <unordered_map>

#include "waybill/plugin.hpp"

namespace {
using namespace waybill::plugin;

std::string letters_url(std::string_view destination) {
  auto url = nlohmann::json::parse(destination).at("url").get<std::string>();
  url.erase(url.find_last_not_of('/') + 1);
  return url + "/letters";
}

std::string serial() {
  std::random_device random;
  std::string digits;
  for (int i = 0; i < 16; ++i) digits += "0123456789abcdef"[random() % 16];
  return digits;
}

class Letter final : public Sender, public Composes {
 public:
  Letter(Host host, std::string_view) : http_(host.http()), timer_(host.timer()) {}

  void compose(Call call, Job job) override {
    if (job.payload().empty()) {
      call.complete(Outcome::rejected("empty_letter").reach(Reach::not_sent).detail("the payload is empty"));
      return;
    }
    auto text = "Serial: " + serial() + "\nWritten: " + std::to_string(timer_.unix_seconds()) + "\n\n";
    text += job.payload();
    call.complete(Outcome::accepted().artifact("text/plain", std::move(text)));
  }

  // Makes nothing new: whatever an earlier attempt brought to the receiver, this one brings the same.
  void send(Call call, Job job) override {
    Request request;
    request.url = letters_url(job.destination());
    request.headers = {{"Content-Type", std::string(job.artifact_type())},
                       {"Idempotency-Key", std::string(job.idempotency_key())}};
    request.body = job.artifact();
    open_[call.id()] = http_.fetch(call, request, [this, call](const Response& response) {
      open_.erase(call.id());
      call.complete(judge(response, "refused"));
    });
  }

  void cancel(Call call) override {  // the fetch's callback still comes and completes the call
    if (const auto found = open_.find(call.id()); found != open_.end()) http_.abort(found->second);
  }

 private:
  Http http_;
  Timers timer_;
  std::unordered_map<std::uint64_t, FetchId> open_;
};

constexpr wb_reason kReasons[] = {permanent("refused"), permanent("empty_letter")};
constexpr auto kLetter = action<Letter>("letter").reasons(kReasons).destination_schema(
    R"({"type":"object","required":["url"],"additionalProperties":false,)"
    R"("properties":{"url":{"type":"string","minLength":1,"description":"base URL of the post office"}}})");
}  // namespace

WAYBILL_PLUGIN_NEEDING(1, "org.example.letter", "1.0.0", kLetter);  // a host of minor 0 never asks to compose
