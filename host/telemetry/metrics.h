// Every number that /metrics shows. prometheus-cpp is behind this. Safe from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/trace_context.h"
#include "telemetry/objective.h"

namespace waybill {

// The most series of submission_target_attempts_total.
inline constexpr std::size_t kMaxTargetSeries = 2000;

class Metrics {
 public:
  using Duration = std::chrono::steady_clock::duration;
  Metrics();
  ~Metrics();

  void submission(std::string_view status);  // pending when taken in, then its end: submission_intents_total{status}
  void attempts(std::string_view action_type, std::string_view outcome, std::uint64_t count);    // submission_attempts_total
  void attempt_took(std::string_view action_type, Duration took, const Trace& trace = nullptr);  // submission_attempt_seconds
  // submission_target_attempts_total{target,outcome,reason}; what comes after the first kMaxTargetSeries has target "other". A
  // reason that is no word, or one too many of its target, is "other" (reason_labels.h).
  void target_attempts(std::string_view target, std::string_view outcome, std::string_view reason, std::uint64_t count);
  // The reason as this metric has it. Valid as long as `reason`.
  std::string_view reason_label(std::string_view target, std::string_view reason);
  void plugin_loaded(std::string_view action_type, std::string_view plugin,
                     std::string_view version);  // submission_plugin_info: 1
  // submission_plugin_count_total{action_type,name}
  void plugin_count(std::string_view action_type, std::string_view name, std::uint64_t by);
  void pipeline_received(std::string_view pipeline);  // submissions_received_total{pipeline}
  // submission_pipeline_moves_total{pipeline,to}, and histograms in milliseconds under the names that the pipeline declares for
  // the state that took so long.
  void pipeline_moved(std::string_view pipeline, std::string_view to, Duration took, std::span<const std::string> declared);
  // A gauge under a name that a pipeline declares.
  void declared_rate(const std::string& name, std::string_view pipeline, double share);
  void acceptance(Duration took);  // POST until its commit: submission_acceptance_seconds
  // creation until the end: submission_end_to_end_seconds
  void end_to_end(std::string_view action_type, Duration took, const Trace& trace = nullptr);
  void claim_lost(std::string_view why,
                  std::uint64_t count = 1);                // host_died, lease_expired, stale_settle: submission_claims_lost_total
  void alert(std::string_view kind, std::uint64_t count);  // occurrences that were raised: submission_alerts_total{kind}
  void alert_not_delivered();  // messages to the alert target that ended otherwise: submission_alerts_not_delivered_total
  void plugin_violation(std::string_view action_type, std::string_view how);  // submission_plugin_misbehaviour_total
  void tls_handshake_failed();                                                // submission_http_tls_failures_total
  void http_request(std::string_view route, int status);                      // submission_http_requests_total
  void sign_in_failed(std::string_view reason);                               // submission_failed_sign_ins_total{reason}
  void queue_depth(std::string_view status, std::uint64_t count);             // submission_queue_depth{status}
  void type_depth(std::string_view action_type, std::uint64_t count);         // queue_depth{type}
  void failure_rate(std::string_view action_type, double share);              // job_failure_rate{type}
  void oldest_due_age(double seconds);                                        // submission_oldest_due_age_seconds
  void in_flight(std::uint64_t count);                                        // submission_in_flight
  void database_up(bool up);                                                  // submission_database_up
  void clock_skew(double seconds);                                            // waybill_clock_skew_seconds
  void dead_letters(std::uint64_t waiting);                                   // submission_dead_letters_waiting
  void cooling_targets(std::uint64_t count);                                  // submission_targets_cooling
  void paused_targets(std::uint64_t count);                                   // submission_targets_paused
  // Submissions of a pipeline ("intent", "form", or its own name) that have not ended: submissions_unfinished{pipeline,state}
  void unfinished(std::string_view pipeline, std::string_view state, std::uint64_t count);
  void plugin_missing(std::string_view action_type, bool missing);     // waybill_plugin_missing{action_type}
  void registry(std::string_view digest);                              // waybill_registry_info{digest}, 1 for the one in force
  void registry_differs(bool differs);                                 // waybill_registry_differs
  void build_info(std::string_view version, std::string_view schema);  // waybill_build_info{version,schema}, always 1
  void ready(bool is_ready);                                           // waybill_ready
  // waybill_tls_certificate_expiry_seconds, since 1970, of the certificate of `listen`
  void tls_certificate_ends(double seconds);
  // exported, queue_full, refused, given_up: waybill_trace_spans_total{result}
  void trace_spans(std::string_view result, std::uint64_t count);
  Objective& objective();  // waybill_objective_*

  // With process_* as they are now.
  std::string text() const;               // Prometheus exposition format
  std::string open_metrics_text() const;  // OpenMetrics, with exemplars

 private:
  struct Registry;
  std::unique_ptr<Registry> registry_;
};

}  // namespace waybill
