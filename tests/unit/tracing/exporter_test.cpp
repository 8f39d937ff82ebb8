// Spans on their way to a collector that is well, slow, busy, gone, or talks nonsense. O3
#include "tracing/exporter.h"

#include <gtest/gtest.h>

#include "support/fake_gateway.h"
#include "support/otlp_reader.h"

namespace waybill::testing {
namespace {

class Exporting : public ::testing::Test {
 protected:
  Exporting() { collector.by_default({.body = "{}"}); }
  ~Exporting() override { collector.release(); }

  SpanExporter& start() {
    settings.config.endpoint = collector.url() + "/v1/traces";
    settings.resource = {"orders", "1.2", "box:1"};
    settings.every = Millis{10};
    settings.first_retry = Millis{10};
    exporter = std::make_unique<SpanExporter>(tracer, settings, std::make_shared<const EgressPolicy>(),
                                              std::make_shared<const LiveSecrets>(secrets), clock, log, metrics);
    exporter->start();
    return *exporter;
  }
  void record(int count = 1, const std::string& error = {}) {
    for (int i = 0; i < count; ++i)
      tracer.record(
          {.trace_id = new_trace_id(),
           .span_id = new_span_id(),
           .parent_id = "00f067aa0ba902b7",
           .name = "attempt",
           .kind = Span::Kind::client,
           .start = {1'700'000'000'000'001},
           .end = {1'700'000'000'000'002},
           .attributes = {{"waybill.target", std::string("sms \"primary\" \xff")}, {"waybill.attempt", std::int64_t{-3}}},
           .error = error.empty() ? std::nullopt : std::optional(error)});
  }
  double spans(const std::string& result) const {
    const auto text = metrics.text();
    const auto name = "waybill_trace_spans_total{result=\"" + result + "\"} ";
    const auto at = text.find(name);
    return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size()));
  }
  bool becomes(const std::string& result, double count) {
    return eventually([&] { return spans(result) == count; });
  }

  FakeGateway collector;
  DatabaseClock clock;
  Metrics metrics;
  Log log{Log::Level::error, Log::Format::json};
  Tracer tracer{true, 1, clock, metrics};
  Secrets secrets;
  ExporterSettings settings;
  std::unique_ptr<SpanExporter> exporter;
};

TEST_F(Exporting, SpansArriveAsThePublishedProtocolHasThem) {
  settings.config.headers = {{"X-Team", "orders"}};
  record(1, "server_error");
  start();
  ASSERT_TRUE(becomes("exported", 1));
  const auto request = collector.received().front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/traces");
  EXPECT_EQ(header_value(request.head, "Content-Type"), "application/json");
  EXPECT_EQ(header_value(request.head, "X-Team"), "orders");
  const auto read = read_otlp(request.body);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].start, 1'700'000'000'000'001'000u);
  EXPECT_EQ(read[0].end, 1'700'000'000'000'002'000u);
  EXPECT_EQ(read[0].kind, 3);
  EXPECT_EQ(read[0].parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(read[0].status, 2);
  EXPECT_EQ(read[0].status_message, "server_error");
  EXPECT_EQ(read[0].attributes.at("waybill.attempt"), "-3");
  EXPECT_EQ(read[0].attributes.at("waybill.target"), "sms \"primary\" \xef\xbf\xbd") << "what is no UTF-8 is replaced";
  EXPECT_EQ(read[0].resource.at("service.name"), "orders");
  EXPECT_EQ(read[0].resource.at("service.instance.id"), "box:1");
}

TEST_F(Exporting, ManySpansGoInBatches) {
  settings.batch = 100;
  record(250);
  start();
  ASSERT_TRUE(becomes("exported", 250));
  EXPECT_EQ(collector.count(), 3u);
}

TEST_F(Exporting, ABusyCollectorIsAskedAgainWhenItSays) {
  settings.first_retry = Millis{3'600'000};  // only its own word ends the wait
  settings.last_retry = Millis{3'600'000};
  collector.script(
      "POST /v1/traces",
      {{.status = 503, .headers = "Retry-After: 0\r\n"}, {.status = 429, .headers = "Retry-After: 1\r\n"}, {.body = "{}"}});
  record();
  start();
  ASSERT_TRUE(becomes("exported", 1));
  const auto requests = collector.received();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].body, requests[2].body) << "the same spans";
  EXPECT_GE(requests[2].at - requests[1].at, std::chrono::milliseconds(990));
}

TEST_F(Exporting, WhatItRefusesIsNotSentAgain) {
  collector.script("POST /v1/traces", {{.status = 400, .body = "what is this"}, {.body = "{}"}});
  record();
  start();
  ASSERT_TRUE(becomes("refused", 1));
  record();
  ASSERT_TRUE(becomes("exported", 1));
  EXPECT_EQ(collector.count(), 2u);
}

TEST_F(Exporting, APartialSuccessIsCounted) {
  collector.by_default({.body = R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}})"});
  record(5);
  start();
  ASSERT_TRUE(becomes("exported", 3));
  EXPECT_EQ(spans("refused"), 2);
}

TEST_F(Exporting, NonsenseIsAnAnswer) {
  collector.by_default({.body = "<html>{\"partialSuccess\":[]}", .type = "text/html"});
  record(2);
  start();
  EXPECT_TRUE(becomes("exported", 2));
}

TEST_F(Exporting, ACollectorThatIsGoneIsGivenUpForABatchAndTriedForTheNext) {
  settings.tries = 2;
  collector.by_default(Reply::reset());
  record(3);
  start();
  ASSERT_TRUE(becomes("given_up", 3));
  collector.by_default({.body = "{}"});
  record(4);
  EXPECT_TRUE(becomes("exported", 4)) << "it came back";
}

TEST_F(Exporting, ACollectorThatHangsHoldsUpNobodyAndTheEnd) {
  settings.timeout = Millis{600'000};
  collector.by_default(Reply::hang());
  record();
  start();
  ASSERT_TRUE(collector.wait_for([&] { return collector.count() == 1; }));
  record(static_cast<int>(Tracer::kMaxWaiting) + 7);
  EXPECT_EQ(spans("queue_full"), 7) << "bounded room";
  exporter->stop(Millis{50});
  EXPECT_EQ(spans("given_up"), Tracer::kMaxWaiting + 1);
}

TEST_F(Exporting, WhatWaitsAtTheEndIsSent) {
  settings.every = Millis{3'600'000};
  start();
  record(600);
  exporter->stop(Millis{60'000});
  EXPECT_EQ(spans("exported"), 600);
}

}  // namespace
}  // namespace waybill::testing
