// The exposition text of /metrics. M14 D9
#include "telemetry/metrics.h"

#include <gtest/gtest.h>

#include <ctime>
#include <sstream>
#include <thread>
#include <vector>

#include "telemetry/reason_labels.h"

namespace waybill {
namespace {

using std::chrono::milliseconds;

bool has_line(const Metrics& metrics, const std::string& wanted) {
  std::istringstream lines(metrics.text());
  for (std::string line; std::getline(lines, line);)
    if (line == wanted) return true;
  return false;
}

TEST(Metrics, KnownLabelsShowAsZeroFromTheStart) {  // M14
  Metrics metrics;
  for (const char* status : {"pending", "accepted", "rejected", "exhausted"})
    EXPECT_TRUE(has_line(metrics, std::string("submission_intents_total{status=\"") + status + "\"} 0")) << metrics.text();
  EXPECT_TRUE(has_line(metrics, "submission_claims_lost_total{why=\"host_died\"} 0"));
  EXPECT_TRUE(has_line(metrics, "submission_queue_depth{status=\"due\"} 0"));
  EXPECT_TRUE(has_line(metrics, "submission_in_flight 0"));
  EXPECT_TRUE(has_line(metrics, "submission_acceptance_seconds_count 0"));
}

TEST(Metrics, EveryNameSaysWhoseItIs) {  // M14 D13
  Metrics metrics;
  metrics.submission("pending");
  metrics.attempts("sms", "accepted", 1);
  metrics.attempt_took("sms", milliseconds(3));
  metrics.end_to_end("sms", milliseconds(3));
  metrics.plugin_violation("sms", "late");
  metrics.http_request("/healthz", 200);
  std::istringstream lines(metrics.text());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) line.erase(0, 7);
    EXPECT_TRUE(line.starts_with("submission_") || line.starts_with("submissions_") || line.starts_with("waybill_") ||
                line.starts_with("process_"))
        << line;
  }
}

// D9
TEST(Metrics, AttemptsAreCountedByTargetAndReasonWithinBounds) {
  Metrics metrics;
  metrics.target_attempts("sms.primary", "accepted", "", 1);
  metrics.target_attempts("sms.primary", "error", "timeout", 2);
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="accepted",reason="",target="sms.primary"} 1)"))
      << metrics.text();
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="timeout",target="sms.primary"} 2)"));
  for (std::size_t i = 0; i < kMaxTargetSeries; ++i) metrics.target_attempts("t" + std::to_string(i), "error", "word", 1);
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="other",target="other"} 2)"));
  metrics.target_attempts("sms.primary", "accepted", "", 1);
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="accepted",reason="",target="sms.primary"} 2)"));
}

// T20
TEST(Metrics, OnlyShortIdentifiersBecomeReasons) {
  Metrics metrics;
  for (const char* text : {"card declined", "order 4711 of Erika Mustermann", "\xc3\xbc", "-x", "a\"b",
                           "a-word-that-goes-on-and-on-and-on-and-on-and-on-and-on"})
    metrics.target_attempts("hook", "error", text, 1);
  metrics.target_attempts("hook", "error", "clone_failed", 1);
  metrics.target_attempts("hook", "error", "E.42:x-y", 1);
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="other",target="hook"} 6)"))
      << metrics.text();
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="clone_failed",target="hook"} 1)"));
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="E.42:x-y",target="hook"} 1)"));
}

// T20
TEST(Metrics, ATargetWhoseReasonsHaveNoEndLeavesTheSeriesToTheOthers) {
  Metrics metrics;
  for (std::size_t i = 0; i < 2 * kMaxTargetSeries; ++i) metrics.target_attempts("hook", "error", "id-" + std::to_string(i), 1);
  const auto rest = std::to_string(2 * kMaxTargetSeries - kMaxReasonsOfTarget);
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="other",target="hook"} )" + rest));
  metrics.target_attempts("hook", "error", "id-0", 1);
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="id-0",target="hook"} 2)"));
  metrics.target_attempts("sms", "error", "timeout", 1);
  EXPECT_TRUE(has_line(metrics, R"(submission_target_attempts_total{outcome="error",reason="timeout",target="sms"} 1)"));
}

// D9
TEST(Metrics, AnActionTypeShowsTheVersionOfItsPlugin) {
  Metrics metrics;
  metrics.plugin_loaded("sms", "waybill.sms", "1.1.0");
  EXPECT_TRUE(has_line(metrics, R"(submission_plugin_info{action_type="sms",plugin="waybill.sms",version="1.1.0"} 1)"))
      << metrics.text();
}

TEST(Metrics, WhatIsToldIsShown) {  // M14
  Metrics metrics;
  metrics.submission("accepted");
  metrics.submission("accepted");
  metrics.attempts("sms", "accepted", 1);
  metrics.attempt_took("sms", milliseconds(3));
  metrics.acceptance(milliseconds(7));
  metrics.end_to_end("push", std::chrono::hours(2));
  metrics.claim_lost("stale_settle", 5);
  metrics.alert("stuck", 3);
  metrics.alert_not_delivered();
  metrics.plugin_violation("sms", "completed_twice");
  metrics.http_request("/v1/intents/{id}", 404);
  metrics.queue_depth("due", 12);
  metrics.oldest_due_age(1.5);
  metrics.in_flight(7);
  metrics.database_up(true);
  metrics.clock_skew(-7);
  EXPECT_TRUE(has_line(metrics, "submission_intents_total{status=\"accepted\"} 2"));
  EXPECT_TRUE(has_line(metrics, "submission_attempts_total{action_type=\"sms\",outcome=\"accepted\"} 1")) << metrics.text();
  EXPECT_TRUE(has_line(metrics, "submission_attempt_seconds_bucket{action_type=\"sms\",le=\"0.0025\"} 0"));
  EXPECT_TRUE(has_line(metrics, "submission_attempt_seconds_bucket{action_type=\"sms\",le=\"0.005\"} 1"));
  EXPECT_TRUE(has_line(metrics, "submission_acceptance_seconds_bucket{le=\"0.01\"} 1"));
  EXPECT_TRUE(has_line(metrics, "submission_end_to_end_seconds_bucket{action_type=\"push\",le=\"3600\"} 0"));
  EXPECT_TRUE(has_line(metrics, "submission_end_to_end_seconds_bucket{action_type=\"push\",le=\"14400\"} 1"));
  EXPECT_TRUE(has_line(metrics, "submission_claims_lost_total{why=\"stale_settle\"} 5"));
  EXPECT_TRUE(has_line(metrics, "submission_alerts_total{kind=\"stuck\"} 3"));  // F13
  EXPECT_TRUE(has_line(metrics, "submission_alerts_total{kind=\"dead_letter\"} 0"));
  EXPECT_TRUE(has_line(metrics, "submission_alerts_not_delivered_total 1"));
  EXPECT_TRUE(has_line(metrics, "submission_plugin_misbehaviour_total{action_type=\"sms\",how=\"completed_twice\"} 1"));
  EXPECT_TRUE(has_line(metrics, "submission_http_requests_total{route=\"/v1/intents/{id}\",status=\"404\"} 1"));
  EXPECT_TRUE(has_line(metrics, "submission_queue_depth{status=\"due\"} 12"));
  EXPECT_TRUE(has_line(metrics, "submission_oldest_due_age_seconds 1.5"));
  EXPECT_TRUE(has_line(metrics, "submission_in_flight 7"));
  EXPECT_TRUE(has_line(metrics, "submission_database_up 1"));
  EXPECT_TRUE(has_line(metrics, "waybill_clock_skew_seconds -7"));
}

TEST(Metrics, CountsOfSeveralThreadsAddUp) {  // M14
  Metrics metrics;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) metrics.http_request("/readyz", 200 + i % 2);
      });
  }
  EXPECT_TRUE(has_line(metrics, "submission_http_requests_total{route=\"/readyz\",status=\"200\"} 2000"));
  EXPECT_TRUE(has_line(metrics, "submission_http_requests_total{route=\"/readyz\",status=\"201\"} 2000"));
}

double value_of(const Metrics& metrics, const std::string& name) {
  std::istringstream lines(metrics.text());
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + " ")) return std::stod(line.substr(name.size() + 1));
  return -1;
}

TEST(Metrics, ThisProcessShowsUnderTheNamesThatAllClientsHave) {  // D13
  Metrics metrics;
  const double before = value_of(metrics, "process_resident_memory_bytes");
  EXPECT_GT(before, 1e6);
  EXPECT_LT(before, 1e11);
  EXPECT_GE(value_of(metrics, "process_virtual_memory_bytes"), before);
  EXPECT_GE(value_of(metrics, "process_open_fds"), 3);
  EXPECT_GE(value_of(metrics, "process_max_fds"), value_of(metrics, "process_open_fds"));
  const double started = value_of(metrics, "process_start_time_seconds");
  EXPECT_LE(started, static_cast<double>(time(nullptr)) + 1);
  EXPECT_GT(started, static_cast<double>(time(nullptr)) - 86'400.0 * 30);
  std::vector<char> more(64 << 20, 1);
  EXPECT_GE(value_of(metrics, "process_resident_memory_bytes"), before + (48 << 20)) << more.size();
  double spent = value_of(metrics, "process_cpu_seconds_total");
  for (int i = 0; i < 1'000'000'000 && value_of(metrics, "process_cpu_seconds_total") <= spent; ++i) spent += 0;
  EXPECT_GT(value_of(metrics, "process_cpu_seconds_total"), spent);
}

TEST(Metrics, WhatWaitsHasGauges) {  // D13
  Metrics metrics;
  metrics.dead_letters(4);
  metrics.cooling_targets(2);
  metrics.unfinished("verification", "scoring", 3);
  metrics.plugin_missing("fax", true);
  metrics.build_info("1.2.3", "27");
  EXPECT_TRUE(has_line(metrics, "submission_dead_letters_waiting 4"));
  EXPECT_TRUE(has_line(metrics, "submission_targets_cooling 2"));
  EXPECT_TRUE(has_line(metrics, "submissions_unfinished{pipeline=\"verification\",state=\"scoring\"} 3")) << metrics.text();
  EXPECT_TRUE(has_line(metrics, "waybill_plugin_missing{action_type=\"fax\"} 1"));
  EXPECT_TRUE(has_line(metrics, "waybill_build_info{schema=\"27\",version=\"1.2.3\"} 1")) << metrics.text();
  metrics.plugin_missing("fax", false);
  EXPECT_TRUE(has_line(metrics, "waybill_plugin_missing{action_type=\"fax\"} 0"));
}

}  // namespace
}  // namespace waybill
