// The trace of a submission: taken at every intake, stored, carried to destinations and into logs, and its spans as a collector
// gets them. O3
#include <gtest/gtest.h>

#include <algorithm>

#include "support/forms_world.h"
#include "support/notify_world.h"
#include "support/otlp_reader.h"
#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

const std::string kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736", kCaller = "00f067aa0ba902b7";
const std::string kParent = "00-" + kTraceId + "-" + kCaller + "-01";

std::string traceparent_in(const Received& request) { return header_value(request.head, "traceparent").value_or("none"); }

std::string stored(SqlClient& sql, const std::string& kind) {
  return sql.text("SELECT coalesce(max(trace), 'none') FROM waybill.submissions WHERE kind = '" + kind + "'");
}

class Tracing : public World {
 protected:
  HttpResponse post(const std::string& id, const HttpClient::Fields& fields, const std::string& target = "sms.patient") {
    return client().request("POST", "/v1/intents?waitSeconds=30", sms_intent(id, target).dump(), fields);
  }
  std::string trace_of(const std::string& id) {
    return sql().text("SELECT coalesce(trace, 'none') FROM waybill.submissions WHERE client_ref = '" + id + "'");
  }
};

// O3
TEST_F(Tracing, ATraceIsStoredAndCarriedToTheDestination) {
  EXPECT_EQ(post("one", {{"traceparent", kParent}, {"tracestate", "vendor=1"}, {"tracestate", "other=2"}}).status, 200);
  const auto sent = gateway.received("one").front();
  EXPECT_EQ(traceparent_in(sent), kParent) << "without tracing it is passed on as it came";
  EXPECT_EQ(header_value(sent.head, "tracestate"), "vendor=1,other=2");
  EXPECT_EQ(trace_of("one"), kParent + " vendor=1,other=2");
}

// O3
TEST_F(Tracing, WithoutATraceNothingIsStoredAndNothingSent) {
  post("none", {});
  for (const auto& [id, value] : {std::pair("zero", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
                                  {"upper", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"},
                                  {"text", "'; DROP TABLE submissions"}}) {
    EXPECT_EQ(post(id, {{"traceparent", value}}).status, 200) << "what is invalid is ignored, not refused";
    EXPECT_EQ(trace_of(id), "none");
    EXPECT_EQ(traceparent_in(gateway.received(id).front()), "none");
  }
  EXPECT_EQ(post("two", {{"traceparent", kParent}, {"traceparent", kParent}}).status, 200);
  EXPECT_EQ(trace_of("two"), "none") << "two of them are none";
  EXPECT_EQ(traceparent_in(gateway.received("none").front()), "none");
}

// O3
TEST_F(Tracing, AnItemOfABatchMayBringItsOwn) {
  const std::string own = "00-11111111111111111111111111111111-2222222222222222-00";
  auto with_own = sms_intent("b1", "sms.patient"), with_garbage = sms_intent("b3", "sms.patient");
  with_own["traceparent"] = own;
  with_own["tracestate"] = "vendor=2";
  with_garbage["traceparent"] = "garbage";
  const json items = json::array({with_own, sms_intent("b2", "sms.patient"), with_garbage});
  EXPECT_EQ(client().request("POST", "/v1/intents:batch", items.dump(), {{"traceparent", kParent}}).status, 200);
  for (const auto& [id, trace] : {std::pair("b1", own), {"b2", kParent}, {"b3", kParent}}) {
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
    EXPECT_EQ(traceparent_in(gateway.received(id).front()), trace);
  }
  EXPECT_EQ(trace_of("b1"), own + " vendor=2");
  with_own["intentId"] = "alone";
  EXPECT_EQ(client().request("POST", "/v1/intents", with_own.dump(), {{"traceparent", kParent}}).status, 200);
  EXPECT_EQ(trace_of("alone"), own + " vendor=2");
}

// O3
TEST_F(Tracing, TheTraceOfABatchIsThatOfItsItems) {
  const json items = json::array({sms_intent("b1", "sms.patient"), sms_intent("b2", "sms.patient")});
  EXPECT_EQ(client().request("POST", "/v1/intents:batch", items.dump(), {{"traceparent", kParent}}).status, 200);
  for (const auto* id : {"b1", "b2"}) {
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
    EXPECT_EQ(traceparent_in(gateway.received(id).front()), kParent);
  }
}

// O3
TEST_F(Tracing, ARetryAndAPluginInAProcessOfItsOwnCarryItToo) {
  setup.more = "senders: {sms: {isolation: process}}\n";
  gateway.script("again", {Reply::http_error(503), Reply::accept()});
  post("again", {{"traceparent", kParent}});
  EXPECT_EQ(wait_for_end(client(), "again")["status"], "accepted");
  ASSERT_EQ(gateway.received("again").size(), 2u);
  for (const auto& sent : gateway.received("again")) EXPECT_EQ(traceparent_in(sent), kParent);
}

// O3
TEST_F(Tracing, WhatAPluginSetsItselfStays) {
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("hook.own", "webhook", gateway.url() + "/own", "max_attempts", 3, {"gone"}));
  targets.back()["destination"]["headers"] = {{"TraceParent", "00-11111111111111111111111111111111-2222222222222222-01"}};
  setup.registry = registry_of(targets);
  post("own", {{"traceparent", kParent}}, "hook.own");
  EXPECT_EQ(wait_for_end(client(), "own")["status"], "accepted");
  const auto head = gateway.received("own").front().head;
  EXPECT_EQ(header_value(head, "traceparent"), "00-11111111111111111111111111111111-2222222222222222-01");
  EXPECT_EQ(head.find(kTraceId), std::string::npos) << head;
}

// O3
TEST_F(Tracing, ATraceIsInTheLogOfItsDelivery) {
  setup.more = "egress: {deny: [\"127.0.0.1/32\"]}\n";
  post_intent(client(), sms_intent("other", "sms.once"));
  client().request("POST", "/v1/intents", sms_intent("refused", "sms.once").dump(), {{"traceparent", kParent}});
  EXPECT_TRUE(host().wait_for_log("\"trace_id\":\"" + kTraceId + "\""));
  EXPECT_NE(host().log().find("egress.refused"), std::string::npos);
}

class TracingForms : public FormsWorld {};

// O3
TEST_F(TracingForms, AFormsTraceIsStored) {
  const auto made = client().request("POST", "/v1/submissions", submission("f", "one").dump(), {{"traceparent", kParent}});
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(wait_for_form("f").at("status"), "routed");
  EXPECT_EQ(stored(sql(), "form"), kParent);
}

class TracingPipelines : public PipelineWorld {};

// O3
TEST_F(TracingPipelines, APipelinesTraceIsCarriedByEachOfItsStages) {
  setup.pipelines["two.json"] = R"({
    "pipeline": "two", "initial": "FIRST",
    "states": {
      "FIRST": { "run": [{ "target": "stage.one" }] },
      "SECOND": { "run": [{ "target": "stage.two" }] },
      "DONE": { "terminal": true, "start": [{ "pipeline": "after", "payload": "/payload" }] }
    },
    "transitions": [
      { "from": "FIRST", "to": "SECOND", "trigger": "first", "actor": "worker" },
      { "from": "SECOND", "to": "DONE", "trigger": "second", "actor": "worker" }
    ]
  })";
  setup.pipelines["after.json"] = R"({
    "pipeline": "after", "initial": "RUN",
    "states": { "RUN": { "run": [{ "target": "stage.after" }] }, "END": { "terminal": true } },
    "transitions": [{ "from": "RUN", "to": "END", "trigger": "ran", "actor": "worker" }]
  })";
  for (const char* name : {"one", "two", "after"})
    targets.push_back(service(std::string("stage.") + name, std::string("/") + name));
  use_targets();
  gateway.by_default(answer({{"ok", true}}));
  const auto made = client().request("POST", "/v1/pipelines/two/submissions",
                                     json{{"submissionId", "p"}, {"payload", {{"a", 1}}}}.dump(), {{"traceparent", kParent}});
  ASSERT_EQ(made.status, 201) << made.body;
  wait_for_state("p", "DONE");
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 3; })) << "what it started belongs to it";
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions WHERE trace = '" + kParent + "'"), 2);
  const auto sent = gateway.received();
  for (const auto& one : sent) EXPECT_EQ(traceparent_in(one), kParent) << one.path;
}

class TracingEvents : public NotifyWorld {};

// O3
TEST_F(TracingEvents, AChannelGetsTheTraceOfTheEventThatOpenedItsWindow) {
  configure("debounce: 1h, max_wait: 1h");
  gateway.by_default(Reply::accept());
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  const auto path = "/orgs/default/alert-rules/" + rule + "/events";
  EXPECT_EQ(client().request("POST", path, R"({"eventId":"1","snapshot":1})", {{"traceparent", kParent}}).status, 202);
  EXPECT_EQ(
      client()
          .request("POST", path, R"({"eventId":"2","snapshot":2})", {{"traceparent", "00-" + kTraceId + "-00000000000000aa-00"}})
          .status,
      202);
  end_windows();
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  EXPECT_EQ(traceparent_in(gateway.received().front()), kParent);
  EXPECT_EQ(gateway.received().front().body, "[1,2]");
}

// With a collector, whose spans are read by the published protocol.
class Spans : public Tracing {
 protected:
  Spans() { collector.by_default({.body = "{}"}); }
  ~Spans() override { collector.release(); }
  void trace(const std::string& ratio) {
    setup.more = "tracing: {endpoint: \"" + collector.url() + "/v1/traces\", ratio: " + ratio + ", service_name: orders}\n";
  }
  std::vector<OtlpSpan> spans() {
    std::vector<OtlpSpan> all;
    for (const auto& request : collector.received())
      for (auto& span : read_otlp(request.body)) all.push_back(std::move(span));
    return all;
  }
  std::vector<OtlpSpan> named(const std::string& name) {
    auto all = spans();
    std::erase_if(all, [&](const OtlpSpan& span) { return span.name != name; });
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    return all;
  }
  bool has(std::size_t count) {
    return eventually([&] { return spans().size() >= count; });
  }

  FakeGateway collector;
};

// O3
TEST_F(Spans, ASubmissionsSpansTellItsWayAndTheDestinationGoesOnFromThere) {
  trace("0");
  gateway.script("told", {Reply::http_error(503), Reply::accept()});
  post("told", {{"traceparent", kParent}});
  EXPECT_EQ(wait_for_end(client(), "told")["status"], "accepted");
  ASSERT_TRUE(has(6));
  for (const auto& span : spans()) {
    EXPECT_EQ(span.trace_id, kTraceId);
    EXPECT_EQ(span.attributes.at("waybill.reference"), "told");
    EXPECT_EQ(span.attributes.at("waybill.target"), "sms.patient");
    EXPECT_EQ(span.resource.at("service.name"), "orders");
  }
  const auto intake = named("intake"), wait = named("wait"), attempts = named("attempt"), settled = named("settle");
  ASSERT_EQ(intake.size(), 1u);
  ASSERT_EQ(wait.size(), 1u);
  ASSERT_EQ(attempts.size(), 2u);
  ASSERT_EQ(settled.size(), 2u);
  EXPECT_EQ(intake[0].parent_id, kCaller);
  EXPECT_EQ(intake[0].kind, 2);
  EXPECT_EQ(wait[0].parent_id, intake[0].span_id);
  EXPECT_LE(intake[0].start, wait[0].start);
  const auto sent = gateway.received("told");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(attempts[i].parent_id, intake[0].span_id);
    EXPECT_EQ(attempts[i].kind, 3);
    EXPECT_EQ(attempts[i].attributes.at("waybill.action_type"), "sms");
    EXPECT_EQ(attempts[i].attributes.at("waybill.attempt"), std::to_string(i + 1));
    EXPECT_EQ(traceparent_in(sent[i]), "00-" + kTraceId + "-" + attempts[i].span_id + "-01");
    EXPECT_EQ(settled[i].parent_id, attempts[i].span_id);
    EXPECT_LE(wait[0].end, attempts[i].start);
    EXPECT_LE(attempts[i].end, settled[i].start);
  }
  EXPECT_EQ(attempts[0].status, 2);
  EXPECT_EQ(attempts[0].attributes.at("http.response.status_code"), "503");
  EXPECT_FALSE(attempts[0].attributes.at("waybill.reason").empty());
  EXPECT_EQ(attempts[1].status, 0);
  EXPECT_EQ(attempts[1].attributes.at("waybill.outcome"), "accepted");
  EXPECT_EQ(settled[0].attributes.at("waybill.status"), "due");
  EXPECT_EQ(settled[1].attributes.at("waybill.status"), "accepted");
  EXPECT_EQ(trace_of("told"), "00-" + kTraceId + "-" + intake[0].span_id + "-01") << "whichever host goes on";
  EXPECT_TRUE(eventually([&] { return metric(client(), "waybill_trace_spans_total{result=\"exported\"}", 0) == 6; }));
}

// O3
TEST_F(Spans, AnAttemptWhoseHostDiedHasASpanAsWell) {
  trace("0");
  gateway.script("cut", {Reply::hang(), Reply::accept()});
  EXPECT_EQ(client().request("POST", "/v1/intents", sms_intent("cut", "sms.patient").dump(), {{"traceparent", kParent}}).status,
            200);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count("cut") == 1; }));
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "cut")["status"], "accepted");
  ASSERT_TRUE(eventually([&] { return named("attempt").size() == 2; }));
  const auto attempts = named("attempt");
  const auto sent = gateway.received("cut");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(traceparent_in(sent[i]), "00-" + kTraceId + "-" + attempts[i].span_id + "-01");
  EXPECT_EQ(attempts[0].status, 2);
  EXPECT_EQ(attempts[0].attributes.at("waybill.outcome"), "unknown");
  EXPECT_EQ(attempts[0].attributes.at("waybill.reason"), "lease_lost");
  EXPECT_EQ(attempts[0].attributes.at("waybill.status"), "due");
  EXPECT_LT(attempts[0].start, attempts[0].end);
  ASSERT_EQ(named("wait").size(), 1u) << "it waited once, until its first claim";
  EXPECT_EQ(attempts[1].attributes.at("waybill.outcome"), "accepted");
}

// O3
TEST_F(Spans, TheRatioAndTheCallersWordDecide) {
  trace("1");
  EXPECT_EQ(post("not", {{"traceparent", "00-" + kTraceId + "-" + kCaller + "-00"}}).json()["status"], "accepted");
  EXPECT_EQ(traceparent_in(gateway.received("not").front()), "00-" + kTraceId + "-" + kCaller + "-00");
  EXPECT_EQ(post("root", {}).json()["status"], "accepted");
  ASSERT_TRUE(has(4));
  for (const auto& span : spans()) EXPECT_EQ(span.attributes.at("waybill.reference"), "root");
  const auto intake = named("intake").at(0);
  EXPECT_EQ(intake.parent_id, "");
  EXPECT_EQ(traceparent_in(gateway.received("root").front()),
            "00-" + intake.trace_id + "-" + named("attempt").at(0).span_id + "-01");
  EXPECT_EQ(post("root", {}).status, 200) << "the same again is no other trace";
  EXPECT_EQ(trace_of("root").substr(3, 32), intake.trace_id);
}

// O3
TEST_F(Spans, WhatTheHostStillHasIsSentWhenItStops) {
  trace("1");
  for (int i = 0; i < 20; ++i) post("s" + std::to_string(i), {});
  EXPECT_EQ(host().terminate(), 0);
  EXPECT_EQ(spans().size(), 80u);
}

// O3
TEST_F(Spans, ACollectorThatHangsHurtsNobody) {
  trace("1");
  collector.by_default(Reply::hang());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(post("h" + std::to_string(i), {}).json()["status"], "accepted");
  EXPECT_TRUE(collector.wait_for([&] { return collector.count() >= 1; }));
  EXPECT_EQ(post("later", {}).json()["status"], "accepted");
  EXPECT_EQ(host().terminate(), 0);
}

// O3
TEST_F(Spans, ACollectorThatIsNotThereOrTalksNonsenseHurtsNobody) {
  FakeGateway shut(FakeGateway::Door::shut);
  setup.more = "tracing: {endpoint: \"" + shut.url() + "/v1/traces\", ratio: 1}\n";
  EXPECT_EQ(post("n1", {}).json()["status"], "accepted");
  EXPECT_TRUE(host().wait_for_log("tracing.not_exported"));
  shut.by_default({.status = 418, .body = std::string(100'000, '{')});
  shut.open();
  ASSERT_TRUE(eventually([&] { return metric(client(), "waybill_trace_spans_total{result=\"refused\"}", 0) >= 4; }));
  EXPECT_EQ(post("n2", {}).json()["status"], "accepted");
  EXPECT_EQ(client().get("/readyz").status, 200);
  EXPECT_EQ(host().terminate(), 0);
}

// O3 S12: the collector is a way out like any other
TEST_F(Spans, ACollectorThatTheDenyListNamesGetsNothing) {
  trace("1");
  setup.more += "egress: {deny: [\"127.0.0.1/32\"]}\n";
  client().request("POST", "/v1/intents", sms_intent("d", "sms.once").dump());
  EXPECT_TRUE(host().wait_for_log("tracing.not_exported"));
  EXPECT_EQ(collector.count(), 0u);
}

// O3
TEST_F(Spans, ItsHeadersMayNameSecrets) {
  setup.more =
      "tracing: {endpoint: \"https://collector.test/v1/traces\", headers: {Authorization: \"Bearer {secret:nobody}\"}}\n";
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 0) << "a warning: what needs it waits";
  EXPECT_NE((checked.out + checked.err).find("tracing.headers.Authorization"), std::string::npos) << checked.out << checked.err;
}

}  // namespace
}  // namespace waybill::testing
