// The client against a server that misbehaves.  Q8
#include "waybill/client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "misbehaving_server.h"

namespace waybill::client::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Pauses = std::vector<milliseconds>;

// On a machine that is ten times slower; pauses are noted, not made.
Options patient(Pauses* pauses = nullptr) {
  Options options;
  options.timeout = seconds(300);
  options.time_limit = seconds(3000);
  options.sleep = [pauses](milliseconds pause) {
    if (pauses != nullptr) pauses->push_back(pause);
  };
  return options;
}

template <class Kind, class Call>
Kind thrown(Call call) {
  try {
    call();
  } catch (const Kind& error) {
    EXPECT_EQ(typeid(error), typeid(Kind));
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

Json body_of(const Json& request) { return Json::parse(request.at("body").get<std::string>()); }

Json targets_of(const MisbehavingServer& server) {
  auto targets = Json::array();
  for (const auto& request : server.requests())
    targets.push_back(request.at("method").get<std::string>() + " " + request.at("target").get<std::string>());
  return targets;
}

TEST(AnIntent, IsSentWithItsOptions) {
  const MisbehavingServer server;
  Client client(server.url(), "the-token", patient());
  NewIntent intent;
  intent.intent_id = "o-\"1\"\n";
  intent.submission_target = "orders";
  intent.payload = client::Json{R"({"amount": 1.10})"};
  intent.not_before = "2030-01-02T01:04:05Z";
  intent.ordering_key = "customer-7";
  CallOptions options;
  options.wait_seconds = 5;
  options.traceparent = "00-a";
  EXPECT_EQ(client.submit(intent, options).intent_id, "o-\"1\"\n");
  const auto request = server.requests().at(0);
  EXPECT_EQ(targets_of(server), Json({"POST /v1/intents?waitSeconds=5"}));
  EXPECT_EQ(request["body"], R"({"intentId":"o-\"1\"\u000a","submissionTarget":"orders","payload":{"amount": 1.10},)"
                             R"("notBefore":"2030-01-02T01:04:05Z","orderingKey":"customer-7"})");
  const auto headers = request["headers"];
  EXPECT_EQ(headers["authorization"], "Bearer the-token");
  EXPECT_EQ(headers["content-type"], "application/json");
  EXPECT_EQ(headers["traceparent"], "00-a");
  EXPECT_FALSE(headers.contains("tracestate"));
  EXPECT_EQ(headers["user-agent"], std::string("waybill-cpp/") + kVersion);
}

TEST(AnIntent, HasAnIdThatIsMadeAndNoOther) {
  const MisbehavingServer server;
  Client client(server.url(), "", patient());
  std::set<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.insert(client.submit("orders", "{}").intent_id);
  EXPECT_EQ(ids.size(), 50u);
  for (const auto& id : ids)
    EXPECT_TRUE(id.size() == 36 && id[14] == '4' && std::string("89ab").find(id[19]) != std::string::npos) << id;
  EXPECT_FALSE(server.requests().at(0)["headers"].contains("authorization"));
}

TEST(Routes, AreThoseOfTheApi) {
  const MisbehavingServer server(Json::array({answer(200, {{"eventId", "e"}, {"channels", 1}, {"duplicate", false}}),
                                              answer(201, {{"submissionId", "f"}, {"status", "received"}}),
                                              answer(202, {{"submissionId", "f"}, {"status", "processing"}}),
                                              answer(201, {{"submissionId", "j"}, {"pipeline", "parcels"}, {"state", "TELLING"}}),
                                              answer(201, {{"submissionId", "p"}, {"submissions", Json::array()}})}));
  auto options = patient();
  options.organisation = "acme";
  Client client(server.url() + "/prefix/", "", options);
  NewEvent event;
  event.event_id = "e";
  event.snapshot = client::Json{"[1]"};
  EXPECT_EQ(client.publish("rule-1", event).channels, 1);
  NewSubmission form;
  form.submission_id = "f";
  form.form_id = "contact";
  form.fields = client::Json{"{}"};
  form.attachments = std::vector<NewSubmissionAttachment>{{"a", "n", "text/plain", 3, "gs://b/k"}};
  EXPECT_EQ(client.submit_form(form).status, "received");
  EXPECT_EQ(client.finalize("f").status, "processing");
  NewPipelineSubmission job;
  job.submission_id = "j";
  job.payload = client::Json{"null"};
  EXPECT_EQ(client.submit_job("parcels", job).state, "TELLING");
  NewFormPost post;
  post.answers = client::Json{"7"};
  EXPECT_EQ(client.post_form(post).submission_id, "p");
  client.get("a/b ?\xC3\xBC");
  client.cancel("..");
  client.reschedule("x", "2030-01-01T00:00:00Z");
  const auto requests = server.requests();
  EXPECT_EQ(targets_of(server), Json({"POST /prefix/orgs/acme/alert-rules/rule-1/events", "POST /prefix/v1/submissions",
                                      "POST /prefix/v1/submissions/f/finalize", "POST /prefix/v1/pipelines/parcels/submissions",
                                      "POST /prefix/forms", "GET /prefix/v1/intents/a%2Fb%20%3F%C3%BC",
                                      "POST /prefix/v1/intents/../cancel", "PATCH /prefix/v1/intents/x"}));
  EXPECT_EQ(body_of(requests[0]), Json::parse(R"({"eventId": "e", "snapshot": [1]})"));
  EXPECT_EQ(body_of(requests[1]),
            Json::parse(R"({"submissionId": "f", "formId": "contact", "fields": {}, "attachments": [{"attachmentId": "a",
      "name": "n", "contentType": "text/plain", "size": 3, "objectUri": "gs://b/k"}]})"));
  EXPECT_EQ(body_of(requests[3]), Json::parse(R"({"submissionId": "j", "payload": null})"));
  EXPECT_EQ(body_of(requests[4])["submissionId"].get<std::string>().size(), 36u);
  EXPECT_EQ(body_of(requests[6]), Json::object());
  EXPECT_EQ(body_of(requests[7]), Json::parse(R"({"notBefore": "2030-01-01T00:00:00Z"})"));
}

TEST(Mistakes, AreSaidBeforeAnythingIsSent) {
  const MisbehavingServer server;
  Client client(server.url(), "", patient());
  CallOptions split;
  split.tracestate = "a\r\nX-Other: b";
  for (const auto* payload : {"", "{", "{} {}", "{\"a\":1,}", "nan", "'a'"})
    EXPECT_THROW(client.submit("orders", payload), std::invalid_argument) << payload;
  EXPECT_THROW(client.submit("orders", "{}", split), std::invalid_argument);
  EXPECT_THROW(Client("http://localhost", "a\nb"), std::invalid_argument);
  for (const auto* url : {"localhost:8080", "ftp://localhost", "http://user@localhost", "http://localhost?a", ""})
    EXPECT_THROW(Client{url}, std::invalid_argument) << url;
  auto no_time = patient();
  no_time.timeout = milliseconds(0);
  EXPECT_THROW(Client("http://localhost", "", no_time), std::invalid_argument);
  EXPECT_EQ(server.requests().size(), 0u);
}

Json page(const std::vector<std::string>& ids, const Json& next) {
  auto items = Json::array();
  for (const auto& id : ids)
    items.push_back({{"intentId", id}, {"submissionTarget", "t"}, {"createdAt", "c"}, {"status", "new word"}});
  return answer(200, {{"items", items}, {"next", next}});
}

TEST(Lists, FetchPageByPageAlsoBehindAnEmptyOne) {
  const MisbehavingServer server(Json::array({page({"a", "b"}, "c 1"), page({}, "c2"), page({"c"}, nullptr)}));
  Client client(server.url(), "", patient());
  IntentFilter filter;
  filter.target = "orders & more";
  filter.page_size = 2;
  auto listed = client.list(filter);
  EXPECT_EQ(server.requests().size(), 0u);
  EXPECT_EQ(listed.next()->intent_id, "a");
  EXPECT_EQ(server.requests().size(), 1u);
  std::vector<std::string> rest;
  for (const auto& intent : listed) {
    rest.push_back(intent.intent_id);
    EXPECT_FALSE(has_ended(intent));
  }
  EXPECT_EQ(rest, (std::vector<std::string>{"b", "c"}));
  const std::string query = "GET /v1/intents?target=orders%20%26%20more&limit=2";
  EXPECT_EQ(targets_of(server), Json({query, query + "&cursor=c%201", query + "&cursor=c2"}));
}

TEST(Lists, TellFormsFromPipelines) {
  const auto items = Json::parse(R"([
      {"submissionId": "f", "formId": "contact", "status": "routed", "reason": null, "createdAt": "c", "completedAt": null, "new": {}},
      {"submissionId": "j", "pipeline": "parcels", "version": 1, "state": "DONE", "metadata": {"a": [1, 2]}, "createdAt": "c",
       "endedAt": "e", "blockedAt": null}])");
  const MisbehavingServer server(Json::array({answer(200, {{"items", items}, {"next", nullptr}})}));
  Client client(server.url(), "", patient());
  auto listed = client.list_submissions();
  EXPECT_EQ(std::get<FormListItem>(*listed.next()).form_id, "contact");
  const auto job = std::get<PipelineListItem>(*listed.next());
  EXPECT_EQ(job.metadata.text, R"({"a": [1, 2]})");
  EXPECT_EQ(job.ended_at, "e");
  EXPECT_EQ(job.blocked_at, std::nullopt);
  EXPECT_EQ(listed.next(), std::nullopt);
}

TEST(CancellingByFilter, GoesOnUntilAllIsDone) {
  const MisbehavingServer server(Json::array(
      {answer(200, {{"count", 10}, {"dryRun", false}, {"next", "c"}}), answer(200, {{"count", 5}, {"dryRun", false}})}));
  Client client(server.url(), "", patient());
  CancelMany which;
  which.target = "orders";
  which.older_than_seconds = 60;
  EXPECT_EQ(client.cancel_all(which), 15);
  const auto requests = server.requests();
  EXPECT_EQ(body_of(requests.at(0)), Json::parse(R"({"target": "orders", "olderThanSeconds": 60})"));
  EXPECT_EQ(body_of(requests.at(1)), Json::parse(R"({"target": "orders", "olderThanSeconds": 60, "cursor": "c"})"));
}

TEST(Trouble, HasTheSameBytesSentAgain) {
  const auto troubles = Json::array({"drop", "reset", "half", "no_json", "no_http", problem(429), problem(502), problem(503),
                                     problem(504), answer(503, "text"), answer(200, {{"intentId", "without the rest"}})});
  for (const auto& trouble : troubles) {
    Pauses pauses;
    const MisbehavingServer server(Json::array({trouble, trouble}));
    const auto intent = Client(server.url(), "", patient(&pauses)).submit("orders", R"({"parcel": 1})");
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 3u) << trouble;
    EXPECT_EQ(pauses.size(), 2u) << trouble;
    EXPECT_EQ(body_of(requests[0])["intentId"], intent.intent_id);
    for (const auto& request : requests) EXPECT_EQ(request["body"], requests[0]["body"]);
  }
}

TEST(Pauses, GrowAndAreNeverInStep) {
  for (const auto& [attempt, longest] :
       {std::pair(0, 200), std::pair(1, 400), std::pair(3, 1600), std::pair(20, 10'000), std::pair(1 << 20, 10'000)}) {
    std::set<std::int64_t> drawn;
    for (int i = 0; i < 200; ++i) drawn.insert(detail::pause_before(attempt, seconds(0)).count());
    EXPECT_GE(*drawn.begin(), longest / 2);
    EXPECT_LE(*drawn.rbegin(), longest);
    EXPECT_GT(drawn.size(), 40u);
  }
}

TEST(RetryAfter, IsHonouredInSecondsAndAsADate) {
  char date[64];
  const std::time_t soon = std::time(nullptr) + 3600;
  std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&soon));
  Pauses pauses;
  const MisbehavingServer server(
      Json::array({problem(429, "c", {{"Retry-After", "7"}}), problem(503, "c", {{"Retry-After", date}}),
                   problem(503, "c", {{"Retry-After", "soon"}})}));
  auto options = patient(&pauses);
  options.time_limit = seconds(100'000);
  Client(server.url(), "", options).submit("orders", "{}");
  ASSERT_EQ(pauses.size(), 3u);
  EXPECT_TRUE(pauses[0] >= seconds(7) && pauses[0] <= milliseconds(7200)) << pauses[0].count();
  EXPECT_TRUE(pauses[1] > seconds(3000) && pauses[1] <= seconds(3601)) << pauses[1].count();
  EXPECT_LE(pauses[2], milliseconds(800));
}

TEST(TheLimit, BeginsNoWaitThatWouldEndBehindIt) {
  Pauses pauses;
  const MisbehavingServer server(Json::array({problem(429, "rate_limited", {{"Retry-After", "3001"}})}));
  Client client(server.url(), "", patient(&pauses));
  NewIntent intent;
  intent.intent_id = "o-1";
  const auto error = thrown<RateLimited>([&] { client.submit(intent); });
  EXPECT_EQ(error.retry_after, seconds(3001));
  EXPECT_EQ(error.id, "o-1");
  EXPECT_TRUE(pauses.empty());
}

TEST(TheLimit, EndsItWithTheLastAnswerOrLoss) {
  Pauses pauses;
  auto options = patient(&pauses);
  options.time_limit = seconds(600);
  const MisbehavingServer busy(Json(200, problem(503)));
  const auto unavailable = thrown<Unavailable>([&] { Client(busy.url(), "", options).submit("orders", "{}"); });
  EXPECT_EQ(unavailable.id, body_of(busy.requests().at(0))["intentId"]);
  milliseconds sum{0};
  for (const auto pause : pauses) sum += pause;
  EXPECT_LE(sum, seconds(600));
  EXPECT_GT(pauses.size(), 20u);
  const MisbehavingServer gone(Json(200, "drop"));
  const auto unreachable = thrown<Unreachable>([&] { Client(gone.url(), "", options).submit("orders", "{}"); });
  EXPECT_EQ(unreachable.id, body_of(gone.requests().at(0))["intentId"]);
}

TEST(AnAnswer, ThatDripsOrNeverComesIsGivenUp) {
  for (const auto* way : {"drip", "hang"}) {
    const MisbehavingServer server(Json::array({way}));
    auto options = patient();
    options.timeout = milliseconds(300);
    EXPECT_EQ(Client(server.url(), "", options).get("x").intent_id, "unknown");
    EXPECT_GE(server.requests().size(), 2u);
  }
}

TEST(Nobody, IsUnreachable) {
  std::string url;
  {
    const MisbehavingServer server;
    url = server.url();
  }
  auto options = patient();
  options.time_limit = seconds(30);
  thrown<Unreachable>([&] { Client(url, "", options).get("x"); });
}

template <class Kind>
void expect_refusal(int status) {
  const MisbehavingServer server(Json::array({problem(status, "some_code")}));
  Client client(server.url(), "", patient());
  NewIntent intent;
  intent.intent_id = "o-1";
  const auto error = thrown<Kind>([&] { client.submit(intent); });
  EXPECT_EQ(error.status, status);
  EXPECT_EQ(error.code, "some_code");
  EXPECT_EQ(error.message, "payload.to: is missing");
  EXPECT_NE(std::string(error.what()).find("payload.to"), std::string::npos);
  EXPECT_EQ(error.id, "o-1");
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Refusals, HaveAnErrorEachAndAreNotRepeated) {
  expect_refusal<InvalidRequest>(400);
  expect_refusal<Unauthorized>(401);
  expect_refusal<Forbidden>(403);
  expect_refusal<NotFound>(404);
  expect_refusal<Conflict>(409);
  expect_refusal<TooLarge>(413);
  expect_refusal<ApiError>(415);
  expect_refusal<ApiError>(301);
  expect_refusal<ServerError>(500);
}

TEST(Refusals, OfSomethingElseAreErrorsToo) {
  for (const auto& body : Json::array({"text", Json::array({1}), {{"error", "text"}}, {{"error", {{"code", 7}}}}, nullptr})) {
    const MisbehavingServer server(Json::array({answer(404, body)}));
    EXPECT_EQ(thrown<NotFound>([&] { Client(server.url(), "", patient()).get("x"); }).code, "unknown");
  }
}

TEST(AConflict, TellsHowTheIntentIs) {
  const Json intent = {{"intentId", "x"}, {"submissionTarget", "t"}, {"createdAt", "c"}, {"status", "pending"}};
  const Json beside = {{"error", {{"code", "under_way"}, {"message", "m"}}}, {"intent", intent}};
  const Json inside = {{"error", {{"code", "under_way"}, {"message", "m"}, {"intent", intent}}}};
  for (const auto& body : {beside, inside}) {
    const MisbehavingServer server(Json::array({answer(409, body)}));
    const auto error = thrown<Conflict>([&] { Client(server.url(), "", patient()).cancel("x"); });
    EXPECT_EQ(error.code, "under_way");
    ASSERT_TRUE(intent_of(error)) << body;
    EXPECT_EQ(intent_of(error)->status, "pending");
  }
  const MisbehavingServer server(Json::array({problem(409)}));
  EXPECT_FALSE(intent_of(thrown<Conflict>([&] { Client(server.url(), "", patient()).cancel("x"); })));
}

TEST(OnlyKnownEnds, AreEnds) {
  std::string ends;
  for (const auto* status : {"pending", "accepted", "rejected", "exhausted", "cancelled", "new"}) {
    Intent intent;
    intent.status = status;
    if (has_ended(intent)) ends += std::string(status) + " ";
  }
  EXPECT_EQ(ends, "accepted rejected exhausted cancelled ");
}

std::vector<NewIntent> intents(const std::vector<std::string>& ids, std::size_t bytes = 0) {
  std::vector<NewIntent> made;
  for (const auto& id : ids) {
    NewIntent intent;
    intent.intent_id = id;
    intent.submission_target = "orders";
    intent.payload = client::Json{"\"" + std::string(bytes, 'x') + "\""};
    made.push_back(intent);
  }
  return made;
}

Json ids_of(const Json& request) {
  auto ids = Json::array();
  for (const auto& item : body_of(request)) ids.push_back(item["intentId"]);
  return ids;
}

TEST(ABatch, SendsOnlyAgainWhatWasNotAcknowledged) {
  const auto ok = [](const char* id) {
    return Json{{"status", 200},
                {"intent", {{"intentId", id}, {"submissionTarget", "t"}, {"createdAt", "c"}, {"status", "pending"}}}};
  };
  const auto refused = [](int status) { return Json{{"status", status}, {"error", {{"code", "some_code"}, {"message", "m"}}}}; };
  const MisbehavingServer server(
      Json::array({"half", answer(200, {{"results", Json::array({ok("a"), refused(503), refused(400), refused(429)})}}),
                   answer(200, {{"results", Json::array({ok("b"), ok("d")})}})}));
  const auto outcomes = Client(server.url(), "", patient()).submit_batch(intents({"a", "b", "c", "d"}));
  ASSERT_EQ(outcomes.size(), 4u);
  for (const std::size_t at : {0u, 1u, 3u}) EXPECT_EQ(outcomes[at].intent->intent_id, outcomes[at].id);
  EXPECT_FALSE(outcomes[2].intent);
  EXPECT_EQ(outcomes[2].status, 400);
  EXPECT_EQ(outcomes[2].code, "some_code");
  const auto requests = server.requests();
  EXPECT_EQ(ids_of(requests.at(0)), Json({"a", "b", "c", "d"}));
  EXPECT_EQ(ids_of(requests.at(1)), Json({"a", "b", "c", "d"}));
  EXPECT_EQ(ids_of(requests.at(2)), Json({"b", "d"}));
}

TEST(ABatch, IsSeveralRequestsWhereOneWouldBeTooLarge) {
  const MisbehavingServer server;
  Client client(server.url(), "", patient());
  client.submit_batch(intents({"a", "b", "c", "d", "e"}, 300'000));
  std::vector<std::string> many;
  for (int i = 0; i < 2500; ++i) many.push_back(std::to_string(i));
  const auto outcomes = client.submit_batch(intents(many));
  std::vector<std::size_t> sizes;
  for (const auto& request : server.requests()) sizes.push_back(ids_of(request).size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{2, 2, 1, 1000, 1000, 500}));
  ASSERT_EQ(outcomes.size(), 2500u);
  for (std::size_t i = 0; i < many.size(); ++i) EXPECT_EQ(outcomes[i].intent->intent_id, many[i]);
  EXPECT_TRUE(client.submit_batch({}).empty());
}

TEST(ABatch, ThatFailsAsAWholeIsTheRefusalOfEach) {
  const MisbehavingServer server(Json::array({problem(401, "unauthorized")}));
  const auto outcomes = Client(server.url(), "", patient()).submit_batch(intents({"", ""}));
  ASSERT_EQ(outcomes.size(), 2u);
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.status, 401);
    EXPECT_EQ(outcome.code, "unauthorized");
    EXPECT_EQ(outcome.id.size(), 36u);
  }
  auto options = patient();
  options.time_limit = seconds(30);
  const MisbehavingServer gone(Json(200, "drop"));
  EXPECT_EQ(Client(gone.url(), "", options).submit_batch(intents({"a"})).at(0).code, "unreachable");
}

std::set<int> connections_of(const MisbehavingServer& server) {
  std::set<int> connections;
  for (const auto& request : server.requests()) connections.insert(request["connection"].get<int>());
  return connections;
}

TEST(Connections, AreKept) {
  const MisbehavingServer server;
  Client client(server.url(), "", patient());
  for (int i = 0; i < 5; ++i) client.get("x");
  EXPECT_EQ(connections_of(server).size(), 1u);
}

TEST(Connections, ThatTheServerClosedMeanwhileCostNoPause) {
  Pauses pauses;
  const MisbehavingServer server(Json::array({"close_later", "close_later"}));
  Client client(server.url(), "", patient(&pauses));
  for (int i = 0; i < 3; ++i) client.submit("orders", "{}");
  EXPECT_TRUE(pauses.empty());
  EXPECT_EQ(connections_of(server).size(), 3u);
}

TEST(Threads, ShareAClientAndGetTheirOwnAnswers) {
  const MisbehavingServer server;
  Client client(server.url(), "", patient());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        NewIntent intent;
        intent.intent_id = std::to_string(thread) + "-" + std::to_string(i);
        right += client.submit(intent).intent_id == intent.intent_id;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
  EXPECT_LE(connections_of(server).size(), 8u);
}

}  // namespace
}  // namespace waybill::client::testing
