// When /metrics is OpenMetrics, and what stands there. The strict parser reads it in tests/integration/monitoring_test.cpp. O3
#include "telemetry/open_metrics.h"

#include <gtest/gtest.h>

#include "telemetry/metrics.h"

namespace waybill {
namespace {

using std::chrono::milliseconds;

const auto kTrace = trace_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "");

TEST(OpenMetrics, IsForWhoAsksForItAtLeastAsMuch) {
  for (const auto* accept : {"application/openmetrics-text", "application/openmetrics-text; version=1.0.0; charset=utf-8",
                             "Application/OpenMetrics-Text;q=0.5, text/plain;q=0.4, */*;q=0.1",
                             "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
                             "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                             "text/plain, application/openmetrics-text"})
    EXPECT_TRUE(prefers_open_metrics(accept)) << accept;
  for (const auto* accept : {"", "*/*", "text/plain", "application/json", "application/openmetrics-text;q=0", ",;q=,",
                             "application/openmetrics-text;q=0.3,text/plain;q=0.5", "application/openmetrics-text;q=high"})
    EXPECT_FALSE(prefers_open_metrics(accept)) << accept;
}

TEST(OpenMetrics, CountersAreNamedWithoutTheirTotalAndBoundsAreCanonical) {
  Metrics metrics;
  metrics.submission("accepted");
  metrics.attempt_took("sms", milliseconds(3));
  metrics.failure_rate("quote\" \\ line\n", 0.5);
  const auto text = metrics.open_metrics_text();
  for (const auto* line : {"# TYPE submission_intents counter\n", "\nsubmission_intents_total{status=\"accepted\"} 1.0\n",
                           "\nsubmission_attempt_seconds_bucket{action_type=\"sms\",le=\"0.0025\"} 0\n",
                           "\nsubmission_attempt_seconds_bucket{action_type=\"sms\",le=\"1.0\"} 1\n",
                           "\nsubmission_attempt_seconds_bucket{action_type=\"sms\",le=\"+Inf\"} 1\n",
                           "\njob_failure_rate{type=\"quote\\\" \\\\ line\\n\"} 0.5\n", "# TYPE submission_in_flight gauge\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
  EXPECT_EQ(text.find("# EOF"), text.size() - 6);
  EXPECT_EQ(text.find("trace_id"), std::string::npos);
}

TEST(OpenMetrics, ABucketHasTheLatestTraceThatWasSampled) {
  Metrics metrics;
  metrics.attempt_took("sms", milliseconds(3), trace_of("00-0bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""));
  metrics.attempt_took("sms", milliseconds(4), kTrace);
  metrics.attempt_took("sms", milliseconds(4), trace_of("00-1bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", ""));
  metrics.attempt_took("push", milliseconds(4));
  metrics.end_to_end("sms", std::chrono::hours(100), kTrace);
  const auto text = metrics.open_metrics_text();
  const std::string exemplar = " # {trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"} ";
  EXPECT_NE(text.find("le=\"0.005\"} 3" + exemplar + "0.004 "), std::string::npos) << text;
  EXPECT_NE(text.find("submission_end_to_end_seconds_bucket{action_type=\"sms\",le=\"+Inf\"} 1" + exemplar), std::string::npos);
  std::size_t count = 0;
  for (auto at = text.find("trace_id"); at != std::string::npos; at = text.find("trace_id", at + 1)) ++count;
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(metrics.text().find("trace_id"), std::string::npos) << "the classic form has none";
}

}  // namespace
}  // namespace waybill
