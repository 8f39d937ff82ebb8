// Hands in a skill to be verified and a form, and shows each one's way through its states.
#include "demo/pipelines.h"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "demo/timeline.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

Reply answer(const json& body) {
  Reply reply;
  reply.body = body.dump();
  return reply;
}

void script_services(FakeGateway& gateway) {
  gateway.script("POST /tier1", {Reply::http_error(500), answer({{"verdict", "PASS"}, {"findings", json::array()}})});
  gateway.script("POST /tier2", {answer({{"score", 92}, {"model", "a-judge"}})});
  gateway.script("POST /publish", {answer({{"version", "1.0.0"}, {"skillId", "sk_abc123"}})});
  gateway.script("POST /forms/emails/notify", {answer({{"options",
                                                        {{"template", "f33517ff-2a88-4f6e-b855-c550268ce08a"},
                                                         {"emailAddress", "ada@example.org"},
                                                         {"personalisation", {{"post", "Rome"}}},
                                                         {"reference", "PF3N8EGP9L"}}}})});
  gateway.script("POST /forms/emails/ses", {answer({{"subject", "cni application"},
                                                    {"body", "<p>Dear British Embassy Rome</p>"},
                                                    {"reference", "PF3N8EGP9L"},
                                                    {"onComplete",
                                                     {{"job",
                                                       {{"queue", "NOTIFY_SEND"},
                                                        {"options",
                                                         {{"template", "f33517ff-2a88-4f6e-b855-c550268ce08a"},
                                                          {"emailAddress", "ada@example.org"},
                                                          {"reference", "PF3N8EGP9L"}}}}}}}})});
  gateway.script("POST /v2/notifications/email", {answer({{"id", "740e5834-3a29-46b4-9a6f-16142fde533a"}})});
  gateway.script("POST /v2/email/outbound-emails", {answer({{"MessageId", "0102-demo"}})});
}

void hand_in(HttpClient& client, const std::string& path, const json& body) {
  const auto answer = client.request("POST", path, body.dump(), {{"Content-Type", "application/json"}});
  if (answer.status != 201) std::cerr << "POST " << path << ": " << answer.status << " " << answer.body << "\n";
}

// Waits for the state, then prints the way there.
bool show(HttpClient& client, const std::string& id, const std::string& state, const std::string& tale) {
  json view;
  const bool good = eventually([&] {
    const auto response = client.get("/v1/submissions/" + id);
    if (response.status != 200) return false;
    view = response.json();
    return view.at("state") == state;
  });
  print_title(good, id, view.value("pipeline", "missing"), view.value("state", "missing"), tale);
  if (!view.contains("audit")) return false;
  const std::string created = view.at("createdAt");
  for (const auto& event : view.at("audit"))
    print_moment(created, event.at("createdAt"),
                 event.at("toState").get<std::string>() + "  by " + event.at("trigger").get<std::string>() + "  " +
                     event.at("metadata").dump());
  return good;
}

}  // namespace

bool show_pipelines(HttpClient& client, FakeGateway& gateway, const std::string& run) {
  script_services(gateway);
  const std::string skill = "demo-skill-" + run, form = "demo-post-" + run;
  hand_in(client, "/v1/pipelines/verification/submissions",
          {{"submissionId", skill}, {"payload", {{"repoUrl", "https://github.com/ada/skills"}, {"skillPath", "pdf/SKILL.md"}}}});
  hand_in(client, "/forms",
          {{"submissionId", form}, {"answers", {{"firstName", "Ada"}}}, {"metadata", {{"reference", "B-6FYZIU1M"}}}});
  bool good = show(client, skill, "PUBLISHED", "the first scanner fails once; its second answer decides");
  good &= show(client, form + "-notify", "SENT", "composed by one service, sent by GOV.UK Notify");
  good &= show(client, form + "-ses", "SENT", "the same form, sent by Amazon SES");
  good &= show(client, form + "-ses~notify_send~3", "SENT", "what was to follow it, once");
  return good;
}

}  // namespace waybill::testing
