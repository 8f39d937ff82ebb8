// The client with a real host, beside which tests/live_host.py runs this.  Q8
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/base64.h"
#include "support/eventually.h"
#include "support/http_client.h"
#include "waybill/client.hpp"

namespace waybill::client::testing {
namespace {

class Live : public ::testing::Test {
 protected:
  static Options patient() {
    Options options;
    options.timeout = std::chrono::minutes(5);
    options.time_limit = std::chrono::minutes(5);
    return options;
  }
  static NewIntent intent(const std::string& id, const std::string& payload) {
    NewIntent made;
    made.intent_id = id;
    made.submission_target = "hook";
    made.payload = Json{payload};
    return made;
  }
  static CallOptions wait() {
    CallOptions options;
    options.wait_seconds = 60;
    return options;
  }

  Client client{std::getenv("WAYBILL_URL"), std::getenv("WAYBILL_TOKEN"), patient()};
};

TEST_F(Live, AnIntentIsSubmittedFoundListedAndTold) {
  const std::string id = "a/b ?\xC3\xBC";
  const auto ended = client.submit(intent(id, R"({"text":"Zoë 😀"})"), wait());
  EXPECT_EQ(ended.intent_id, id);
  EXPECT_EQ(ended.status, "accepted");
  EXPECT_TRUE(has_ended(ended));
  EXPECT_EQ(client.get(id).completed_at, ended.completed_at);
  const auto history = client.history(id);
  ASSERT_FALSE(history.attempts.empty());
  EXPECT_EQ(history.attempts.back().outcome_status, "accepted");
  try {
    client.submit(intent(id, "{}"));
    FAIL() << "another payload under the same id";
  } catch (const Conflict& error) {
    EXPECT_EQ(error.code, "idempotency_conflict");
    EXPECT_EQ(error.id, id);
  }
  EXPECT_THROW(client.get("nobody's"), NotFound);
  EXPECT_THROW(Client(std::getenv("WAYBILL_URL"), "wrong", patient()).get("x"), Unauthorized);
}

TEST_F(Live, ABatchAndItsPages) {
  std::vector<NewIntent> batch;
  for (int number = 0; number < 25; ++number) batch.push_back(intent("batch-" + std::to_string(number), "{}"));
  batch.push_back(intent("", "{}"));
  batch.back().submission_target = "nowhere";
  const auto outcomes = client.submit_batch(batch);
  ASSERT_EQ(outcomes.size(), 26u);
  for (int number = 0; number < 25; ++number)
    EXPECT_TRUE(outcomes[static_cast<std::size_t>(number)].intent) << outcomes[0].message;
  EXPECT_EQ(outcomes.back().code, "invalid_request");
  IntentFilter filter;
  filter.page_size = 10;
  std::map<std::string, int> listed;
  for (const auto& found : client.list(filter)) ++listed[found.intent_id];
  for (int number = 0; number < 25; ++number) EXPECT_EQ(listed["batch-" + std::to_string(number)], 1);
}

TEST_F(Live, FormsJobsAndEvents) {
  NewSubmission form;
  form.form_id = "contact";
  form.fields = Json{R"({"name":"Ada"})"};
  const auto received = client.submit_form(form);
  EXPECT_EQ(received.status, "received");
  client.finalize(received.submission_id);
  EXPECT_TRUE(waybill::testing::eventually(
      [&] { return std::get<Submission>(client.get_submission(received.submission_id)).status == "routed"; }));
  NewPipelineSubmission job;
  job.submission_id = "job-1";
  job.payload = Json{R"({"parcel":1})"};
  job.metadata = Json{R"({"reference":"r-1"})"};
  EXPECT_EQ(client.submit_job("parcels", job).pipeline, "parcels");
  EXPECT_TRUE(
      waybill::testing::eventually([&] { return std::get<PipelineSubmission>(client.get_submission("job-1")).state == "DONE"; }));
  EXPECT_EQ(nlohmann::json::parse(std::get<PipelineSubmission>(client.get_submission("job-1")).payload.text)["parcel"], 1);
  SubmissionFilter filter;
  filter.reference = "r-1";
  filter.page_size = 1;
  auto listed = client.list_submissions(filter);
  EXPECT_EQ(std::get<PipelineListItem>(*listed.next()).submission_id, "job-1");
  EXPECT_FALSE(listed.next());
  NewFormPost post;
  post.answers = Json{"{}"};
  EXPECT_EQ(client.post_form(post).submissions.size(), 1u);
  NewEvent event;
  event.snapshot = Json{R"({"cve":"CVE-2026-2"})"};
  event.event_id = "event-1";
  EXPECT_FALSE(client.publish(std::getenv("WAYBILL_RULE"), event).duplicate);
  EXPECT_TRUE(client.publish(std::getenv("WAYBILL_RULE"), event).duplicate);
}

TEST_F(Live, WebhooksOfTheHostAreVerifiedWithEitherSecret) {
  const std::string payload = R"({"for":"this test"})";
  client.submit(intent("webhook", payload), wait());
  std::istringstream words(std::getenv("WAYBILL_SECRETS"));
  std::string secrets[2];
  words >> secrets[0] >> secrets[1];
  const std::string url = std::getenv("WAYBILL_RECEIVED");
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  int seen = 0;
  for (const auto& webhook : waybill::testing::HttpClient(port).get("/").json()) {
    const auto body = waybill::decode_base64(webhook.at("body").get<std::string>()).value();
    if (body != payload) continue;
    ++seen;
    Headers headers;
    for (const auto& [name, value] : webhook.at("headers").items()) headers.emplace_back(name, value);
    for (const auto& secret : secrets) EXPECT_FALSE(verify(headers, body, {secret}).id.empty());
    EXPECT_THROW(verify(headers, body + " ", {secrets[0], secrets[1]}), WrongSignature);
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace waybill::client::testing
