// The stories of forms.
#include "demo/forms.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "demo/timeline.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

struct Story {
  const char* id;
  const char* file;          // its attachment
  const char* scan;          // what the scanner finds in it
  const char* after_scan;    // status
  const char* expected;      // status at the end
  const char* first_action;  // status of each action at the end
  const char* second_action;
  const char* tale;
  std::size_t mails;
};

constexpr Story kStories[] = {
    {"demo-contact", "offer.pdf", "clean", "processing", "routed", "accepted", "deferred",
     "its mail waits for the attachment's scan; HappyFox has no account and is deferred", 1},
    {"demo-infected", "invoice.pdf", "infected", "failed", "failed", "cancelled", "cancelled",
     "its attachment is infected: nothing of it is sent", 0},
};

// POSTs, and says so when the answer is not the expected one.
bool posted(HttpClient& client, const std::string& path, const json& body, int status, const std::string& state) {
  const auto answer = client.request("POST", path, body.is_null() ? "" : body.dump(), {{"Content-Type", "application/json"}});
  if (answer.status == status && answer.json().at("status") == state) return true;
  std::cerr << "POST " << path << ": " << answer.status << " " << answer.body << "\n";
  return false;
}

bool hand_in(HttpClient& client, const Story& story, const std::string& id) {
  const std::string attachment = id + "-" + story.file;
  return posted(client, "/v1/submissions",
                {{"submissionId", id},
                 {"formId", "contact"},
                 {"fields", {{"name", "Zoë Brandt"}, {"email", "zoe@example.net"}, {"message", "Here is what we spoke of."}}},
                 {"attachments", json::array({{{"attachmentId", attachment},
                                               {"name", story.file},
                                               {"contentType", "application/pdf"},
                                               {"size", 48'213},
                                               {"objectUri", "gs://example-uploads/" + attachment}}})}},
                201, "received") &&
         posted(client, "/v1/submissions/" + id + "/finalize", nullptr, 202, "received") &&
         posted(client, "/v1/attachments/" + attachment + "/scan-result", {{"clamavStatus", story.scan}}, 200, story.after_scan);
}

std::string and_reason(const json& object) {
  return object.at("reason").is_string() ? "  " + object.at("reason").get<std::string>() : "";
}

void show_moments(const json& submission) {
  std::vector<std::pair<std::string, std::string>> moments;
  const auto add = [&](const json& at, std::string what) {
    if (at.is_string()) moments.emplace_back(at.get<std::string>(), std::move(what));
  };
  add(submission.at("createdAt"), "received");
  add(submission.at("finalizedAt"), "finalized");
  for (const auto& one : submission.at("attachments"))
    add(one.at("scannedAt"), one.at("name").get<std::string>() + " is " + one.at("clamavStatus").get<std::string>());
  for (const auto& one : submission.at("deliveries")) {
    const int attempts = one.at("attempts");
    add(one.at("endedAt"), "action " + std::to_string(one.at("actionOrder").get<int>()) + "  " +
                               one.at("actionType").get<std::string>() + "  " + one.at("status").get<std::string>() +
                               and_reason(one) +
                               (attempts > 0 ? "  (attempts: " + std::to_string(attempts) + ")" : "  (never attempted)"));
  }
  for (const auto& one : submission.at("audit")) add(one.at("createdAt"), "audit     " + one.at("action").get<std::string>());
  add(submission.at("completedAt"), submission.at("status").get<std::string>() + and_reason(submission));
  std::stable_sort(moments.begin(), moments.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [at, what] : moments) print_moment(submission.at("createdAt"), at, what);
}

bool show(HttpClient& client, const Story& story, const std::string& id) {
  json submission;
  eventually([&] {
    submission = client.get("/v1/submissions/" + id).json();
    return submission.contains("status") && submission["status"] != "received" && submission["status"] != "processing";
  });
  if (!submission.contains("routingResult")) {
    std::cerr << id << " is not there: " << submission << "\n";
    return false;
  }
  const auto& routing = submission.at("routingResult");
  const bool good = submission.at("status") == story.expected && routing.at("1").at("status") == story.first_action &&
                    routing.at("2").at("status") == story.second_action;
  print_title(good, story.id, "contact", submission.at("status"), story.tale);
  show_moments(submission);
  return good;
}

}  // namespace

bool show_forms(HttpClient& client, Mailbox& mailbox, const std::string& run) {
  bool good = true;
  for (const auto& story : kStories) {
    const std::string id = std::string(story.id) + "-" + run;
    good &= hand_in(client, story, id) && show(client, story, id);
    const std::size_t mails = mailbox.show_new();
    if (mails == 0) std::printf("       no mail\n");
    if (mails != story.mails) std::cerr << story.id << " sent " << mails << " mails\n";
    good &= mails == story.mails;
  }
  return good;
}

}  // namespace waybill::testing
