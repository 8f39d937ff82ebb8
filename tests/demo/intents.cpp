// The stories of intents.
#include "demo/intents.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "demo/timeline.h"

namespace waybill::testing {
namespace {

struct Story {
  const char* id;
  const char* target;
  const char* payload;
  const char* expected;  // status
  const char* tale;
  std::vector<Reply> replies;
};

std::vector<Story> stories() {
  return {
      {"demo-sms",
       "sms.realtime",
       R"({"to":"+15550100","message":"Your parcel is here"})",
       "accepted",
       "the gateway takes it at once",
       {Reply::accept()}},
      {"demo-sms-refused",
       "sms.realtime",
       R"({"to":"nobody","message":"Hello"})",
       "rejected",
       "the gateway says invalid_recipient, which the contract calls final",
       {Reply::reject("invalid_recipient")}},
      {"demo-push-retried",
       "push.realtime",
       R"({"token":"device-7","title":"Parcel","body":"It is here"})",
       "accepted",
       "the gateway is down, then talks nonsense, then takes it",
       {Reply::http_error(503), Reply::not_json(), Reply::accept()}},
      {"demo-otp",
       "sms.otp",
       R"({"to":"+15550101","message":"Code 4711"})",
       "exhausted",
       "a one-shot whose gateway fails is never tried again",
       {Reply::http_error(500)}},
      {"demo-webhook",
       "orders.webhook",
       R"({"type":"order.paid","data":{"order":4711}})",
       "accepted",
       "signed by Standard Webhooks",
       {Reply::accept()}},
  };
}

bool show(const Story& story, const nlohmann::json& history) {
  const auto& intent = history.at("intent");
  const std::string status = intent.at("status"), created = intent.at("createdAt");
  const bool good = status == story.expected;
  print_title(good, story.id, story.target, status, story.tale);
  for (const auto& attempt : history.at("attempts")) {
    std::string words = "attempt " + std::to_string(attempt.at("attemptNumber").get<int>()) + "  " +
                        attempt.at("outcomeStatus").get<std::string>();
    for (const char* field : {"outcomeReason", "error"})
      if (attempt.at(field).is_string()) words += "  " + attempt.at(field).get<std::string>();
    print_moment(created, attempt.at("startedAt"), words);
  }
  if (intent.contains("completedAt"))
    print_moment(created, intent.at("completedAt"),
                 status + " " + intent.value("rejectedReason", intent.value("exhaustedReason", "")));
  return good;
}

}  // namespace

bool show_intents(HttpClient& client, FakeGateway& gateway, const std::string& run) {
  const std::vector<Story> told = stories();
  std::vector<std::string> ids;
  for (const auto& story : told) {
    ids.push_back(std::string(story.id) + "-" + run);
    gateway.script(ids.back(), story.replies);
    const auto answer = client.request(
        "POST", "/v1/intents",
        R"({"intentId":")" + ids.back() + R"(","submissionTarget":")" + story.target + R"(","payload":)" + story.payload + "}",
        {{"Content-Type", "application/json"}});
    if (answer.status != 200) std::cerr << story.id << " was not taken: " << answer.body << "\n";
  }
  bool good = true;
  for (std::size_t i = 0; i < told.size(); ++i) {
    nlohmann::json history;
    eventually([&] {
      history = client.get("/v1/intents/" + ids[i] + "/history").json();
      return history.contains("intent") && history["intent"]["status"] != "pending";
    });
    good &= history.contains("intent") && show(told[i], history);
  }
  return good;
}

}  // namespace waybill::testing
