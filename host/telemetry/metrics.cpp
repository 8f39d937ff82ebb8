// The metric families of the host, kept by prometheus-cpp.
#include "telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <sstream>
#include <vector>

#include "telemetry/exemplars.h"
#include "telemetry/open_metrics.h"
#include "telemetry/process_numbers.h"
#include "telemetry/reason_labels.h"

namespace waybill {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

constexpr double kCallSeconds[]{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
constexpr double kLifeSeconds[]{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,  0.5,   1,    2.5,
                                5,     10,     30,    60,   300,   900,  3600, 14400, 43200, 86400};

constexpr double kStageMillis[]{1,    2.5, 5,   10,  25,  50,  100,   250,    500,    1000,   2500,
                                5000, 1e4, 3e4, 6e4, 3e5, 9e5, 3.6e6, 1.44e7, 8.64e7, 4.32e8, 8.64e8};

constexpr const char* kAttemptSeconds = "submission_attempt_seconds";
constexpr const char* kEndToEndSeconds = "submission_end_to_end_seconds";

constexpr std::size_t kMaxOutcomes = 16;  // words for how an attempt may end

double seconds(Metrics::Duration duration) { return std::chrono::duration<double>(duration).count(); }

// The children of one family. Looking one up again takes a shared lock and no allocation for short labels.
template <class T>
class Children {
 public:
  Children(prometheus::Family<T>& family, std::vector<std::string> labels, std::span<const double> buckets = {})
      : family_(family), labels_(std::move(labels)), buckets_(buckets.begin(), buckets.end()) {}

  T& at(std::string_view first) { return *find({first, {}, {}}, kUnlimited); }
  T& at(std::string_view first, std::string_view second) { return *find({first, second, {}}, kUnlimited); }
  // Null if it were one more than `most`.
  T* at_most(std::size_t most, const std::array<std::string_view, 3>& values) { return find(values, most); }

 private:
  static constexpr std::size_t kUnlimited = ~std::size_t{0};

  T* find(const std::array<std::string_view, 3>& values, std::size_t most) {
    std::string key;
    key.reserve(values[0].size() + values[1].size() + values[2].size() + 2);
    key.append(values[0]).append(1, '\0').append(values[1]);
    if (labels_.size() > 2) key.append(1, '\0').append(values[2]);
    {
      std::shared_lock lock(mutex_);
      if (const auto found = known_.find(key); found != known_.end()) return found->second;
      if (known_.size() >= most) return nullptr;
    }
    prometheus::Labels labels;
    for (std::size_t i = 0; i < labels_.size(); ++i) labels.emplace(labels_[i], values[i]);
    std::unique_lock lock(mutex_);
    T*& child = known_[std::move(key)];
    if (!child) child = &add(labels);
    return child;
  }

  T& add(const prometheus::Labels& labels) {
    if constexpr (std::is_same_v<T, Histogram>)
      return family_.Add(labels, buckets_);
    else
      return family_.Add(labels);
  }

  prometheus::Family<T>& family_;
  std::vector<std::string> labels_;
  Histogram::BucketBoundaries buckets_;
  std::shared_mutex mutex_;
  std::map<std::string, T*> known_;
};

}  // namespace

struct Metrics::Registry {
  prometheus::Registry all;
  Children<Counter> intents{counters("submission_intents_total", "Submissions by status: taken in, and ended."), {"status"}};
  Children<Counter> attempts{counters("submission_attempts_total", "Attempts that ended."), {"action_type", "outcome"}};
  Children<Histogram> attempt_seconds{histograms(kAttemptSeconds, "Length of one attempt."), {"action_type"}, kCallSeconds};
  Histogram& acceptance_seconds = histograms("submission_acceptance_seconds", "From a request until its submission was durable.")
                                      .Add({}, Histogram::BucketBoundaries(std::begin(kCallSeconds), std::end(kCallSeconds)));
  Children<Histogram> end_to_end_seconds{
      histograms(kEndToEndSeconds, "From creation until the end."), {"action_type"}, kLifeSeconds};
  Children<Counter> claims_lost{counters("submission_claims_lost_total", "Claims that ended without being settled."), {"why"}};
  Children<Counter> alerts{counters("submission_alerts_total", "Occurrences that alerts were raised for."), {"kind"}};
  Counter& alerts_not_delivered =
      counters("submission_alerts_not_delivered_total", "Messages that never reached the alert target.").Add({});
  Children<Counter> violations{counters("submission_plugin_misbehaviour_total", "What plugins did against the rules."),
                               {"action_type", "how"}};
  Children<Counter> target_attempts{counters("submission_target_attempts_total", "Attempts that ended, by target and reason."),
                                    {"target", "outcome", "reason"}};
  ReasonLabels reasons;  // of target_attempts
  Children<Gauge> plugin_info{gauges("submission_plugin_info", "1 for each action type: its plugin and the plugin's version."),
                              {"action_type", "plugin", "version"}};
  Children<Counter> plugin_counts{counters("submission_plugin_count_total", "What plugins count themselves."),
                                  {"action_type", "name"}};
  Children<Counter> http_requests{counters("submission_http_requests_total", "Requests answered."), {"route", "status"}};
  Counter& tls_failures =
      counters("submission_http_tls_failures_total", "Connections that ended in their TLS handshake.").Add({});
  Children<Counter> failed_sign_ins{counters("submission_failed_sign_ins_total", "Requests with a wrong token."), {"reason"}};
  Children<Counter> received{counters("submissions_received_total", "Submissions that pipelines took in."), {"pipeline"}};
  Children<Counter> pipeline_moves{counters("submission_pipeline_moves_total", "States that submissions came to."),
                                   {"pipeline", "to"}};
  std::mutex declaring;  // for the two below, whose children have locks of their own
  std::map<std::string, Children<Histogram>> durations;
  std::map<std::string, Children<Gauge>> rates;
  Children<Gauge> queue_depth{gauges("submission_queue_depth", "Unfinished deliveries by status."), {"status"}};
  Children<Gauge> type_depth{gauges("queue_depth", "Unfinished deliveries by action type."), {"type"}};
  Children<Gauge> failure_rate{
      gauges("job_failure_rate", "Share of the newest deliveries that ended within an hour which failed for good."), {"type"}};
  Gauge& oldest_due_age = gauges("submission_oldest_due_age_seconds", "How long the oldest due delivery has waited.").Add({});
  Gauge& in_flight = gauges("submission_in_flight", "Deliveries that this host has claimed.").Add({});
  Gauge& database_up = gauges("submission_database_up", "1 while the database answers.").Add({});
  Gauge& clock_skew =
      gauges("waybill_clock_skew_seconds", "How far this machine's clock is ahead of the database's; negative: behind.").Add({});
  Gauge& dead_letters =
      gauges("submission_dead_letters_waiting", "Dead letters that nobody has replayed, counted up to 100,000.").Add({});
  Gauge& cooling_targets = gauges("submission_targets_cooling", "Targets that cool down in an outage.").Add({});
  Gauge& paused_targets = gauges("submission_targets_paused", "Targets to which operators have stopped sending.").Add({});
  Children<Gauge> unfinished{gauges("submissions_unfinished", "Submissions that have not ended, by state."),
                             {"pipeline", "state"}};
  Children<Gauge> plugin_missing{
      gauges("waybill_plugin_missing", "1 for an action type that is used and that no loaded plugin has."), {"action_type"}};
  Children<Gauge> build{gauges("waybill_build_info", "The program and the newest schema that it knows; always 1."),
                        {"version", "schema"}};
  prometheus::Family<Gauge>& registries = gauges("waybill_registry_info", "The registry that is in force; always 1.");
  std::mutex changing_registry;
  std::pair<std::string, Gauge*> registry{};  // guarded by changing_registry
  Gauge& registry_differs =
      gauges("waybill_registry_differs", "1 while another host runs by a registry with other contents.").Add({});
  Gauge& ready = gauges("waybill_ready", "1 while /readyz says so: this host takes submissions.").Add({});
  prometheus::Family<Gauge>& certificate_ends =
      gauges("waybill_tls_certificate_expiry_seconds", "When the certificate of `listen` expires, since 1970.");
  Children<Counter> trace_spans{counters("waybill_trace_spans_total", "Spans that a collector has, and those that were dropped."),
                                {"result"}};
  Objective objective{all};
  Gauge& resident = gauges("process_resident_memory_bytes", "Resident memory.").Add({});
  Gauge& memory = gauges("process_virtual_memory_bytes", "Virtual memory.").Add({});
  Gauge& memory_limit =
      gauges("waybill_memory_limit_bytes", "The memory that this process may have: that of its cgroup, or of its machine.")
          .Add({});
  Gauge& files = gauges("process_open_fds", "Open file descriptors.").Add({});
  Gauge& most_files = gauges("process_max_fds", "The most file descriptors that may be open.").Add({});
  Gauge& start = gauges("process_start_time_seconds", "When the process started, since 1970.").Add({});
  Counter& cpu = counters("process_cpu_seconds_total", "Time on processors, of the user and of the system.").Add({});
  Exemplars exemplars;
  std::mutex reading;  // of the process

  void note(const char* histogram, std::string_view label, std::span<const double> bounds, Metrics::Duration took,
            const Trace& trace) {
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), seconds(took)) - bounds.begin();
    exemplars.note(histogram, label, static_cast<std::size_t>(bucket), seconds(took), trace);
  }

  void read_process() {
    const auto now = process_numbers();
    const std::lock_guard lock(reading);
    resident.Set(now.resident_bytes);
    memory.Set(now.virtual_bytes);
    memory_limit.Set(now.memory_limit);
    files.Set(now.open_files);
    most_files.Set(now.max_files);
    start.Set(now.started);
    cpu.Increment(std::max(0.0, now.cpu_seconds - cpu.Value()));
  }

  // Null: it is a rate. Pipelines, or versions of one, may disagree.
  Children<Histogram>* duration(const std::string& name) {
    const std::lock_guard lock(declaring);
    if (rates.contains(name)) return nullptr;
    const auto found = durations.find(name);
    if (found != durations.end()) return &found->second;
    return &durations
                .try_emplace(name, histograms(name.c_str(), "Time that submissions spent in a state, in milliseconds."),
                             std::vector<std::string>{"pipeline"}, kStageMillis)
                .first->second;
  }
  Children<Gauge>* rate(const std::string& name) {
    const std::lock_guard lock(declaring);
    if (durations.contains(name)) return nullptr;
    const auto found = rates.find(name);
    if (found != rates.end()) return &found->second;
    return &rates
                .try_emplace(name, gauges(name.c_str(), "Share of the submissions of the last 24 hours that came to a state."),
                             std::vector<std::string>{"pipeline"})
                .first->second;
  }

  Registry() {  // label sets known beforehand show as 0 rather than as absent
    for (const char* status : {"pending", "accepted", "rejected", "exhausted"}) intents.at(status);
    for (const char* why : {"host_died", "lease_expired", "stale_settle"}) claims_lost.at(why);
    for (const char* status : {"waiting", "open", "scheduled", "due", "claimed"}) queue_depth.at(status);
    for (const char* kind : {"dead_letter", "infected_attachment", "stuck", "provider_failures", "plugin_crash", "plugin_hung",
                             "plugin_switched_off", "failed_messages", "pipeline_stuck", "retention_expired", "secret_locked"})
      alerts.at(kind);
  }

 private:
  prometheus::Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(all);
  }
  prometheus::Family<Gauge>& gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(all);
  }
  prometheus::Family<Histogram>& histograms(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(all);
  }
};

Metrics::Metrics() : registry_(std::make_unique<Registry>()) {}
Metrics::~Metrics() = default;

void Metrics::submission(std::string_view status) { registry_->intents.at(status).Increment(); }

void Metrics::attempts(std::string_view action_type, std::string_view outcome, std::uint64_t count) {
  registry_->attempts.at(action_type, outcome).Increment(static_cast<double>(count));
}

void Metrics::attempt_took(std::string_view action_type, Duration took, const Trace& trace) {
  registry_->attempt_seconds.at(action_type).Observe(seconds(took));
  if (trace) registry_->note(kAttemptSeconds, action_type, kCallSeconds, took, trace);
}

void Metrics::target_attempts(std::string_view target, std::string_view outcome, std::string_view reason, std::uint64_t count) {
  auto& attempts = registry_->target_attempts;
  if (auto* known = attempts.at_most(kMaxTargetSeries, {target, outcome, reason_label(target, reason)}))
    known->Increment(static_cast<double>(count));
  else if (auto* rest = attempts.at_most(kMaxTargetSeries + kMaxOutcomes, {"other", outcome, "other"}))
    rest->Increment(static_cast<double>(count));
}

std::string_view Metrics::reason_label(std::string_view target, std::string_view reason) {
  return registry_->reasons.label(target, reason);
}

void Metrics::plugin_loaded(std::string_view action_type, std::string_view plugin, std::string_view version) {
  if (auto* info = registry_->plugin_info.at_most(kMaxTargetSeries, {action_type, plugin, version})) info->Set(1);
}

void Metrics::plugin_count(std::string_view action_type, std::string_view name, std::uint64_t by) {
  registry_->plugin_counts.at(action_type, name).Increment(static_cast<double>(by));
}

void Metrics::pipeline_received(std::string_view pipeline) { registry_->received.at(pipeline).Increment(); }

void Metrics::pipeline_moved(std::string_view pipeline, std::string_view to, Duration took,
                             std::span<const std::string> declared) {
  registry_->pipeline_moves.at(pipeline, to).Increment();
  for (const auto& name : declared)
    if (auto* durations = registry_->duration(name)) durations->at(pipeline).Observe(seconds(took) * 1000);
}

void Metrics::declared_rate(const std::string& name, std::string_view pipeline, double share) {
  if (auto* rates = registry_->rate(name)) rates->at(pipeline).Set(share);
}

void Metrics::acceptance(Duration took) { registry_->acceptance_seconds.Observe(seconds(took)); }

void Metrics::end_to_end(std::string_view action_type, Duration took, const Trace& trace) {
  registry_->end_to_end_seconds.at(action_type).Observe(seconds(took));
  if (trace) registry_->note(kEndToEndSeconds, action_type, kLifeSeconds, took, trace);
}

void Metrics::claim_lost(std::string_view why, std::uint64_t count) {
  registry_->claims_lost.at(why).Increment(static_cast<double>(count));
}

void Metrics::alert(std::string_view kind, std::uint64_t count) {
  registry_->alerts.at(kind).Increment(static_cast<double>(count));
}
void Metrics::alert_not_delivered() { registry_->alerts_not_delivered.Increment(); }

void Metrics::plugin_violation(std::string_view action_type, std::string_view how) {
  registry_->violations.at(action_type, how).Increment();
}

void Metrics::tls_handshake_failed() { registry_->tls_failures.Increment(); }

void Metrics::http_request(std::string_view route, int status) {
  char text[16];
  const int length = std::snprintf(text, sizeof text, "%d", status);
  registry_->http_requests.at(route, std::string_view(text, static_cast<std::size_t>(length))).Increment();
}

void Metrics::sign_in_failed(std::string_view reason) { registry_->failed_sign_ins.at(reason).Increment(); }

void Metrics::queue_depth(std::string_view status, std::uint64_t count) {
  registry_->queue_depth.at(status).Set(static_cast<double>(count));
}
void Metrics::type_depth(std::string_view action_type, std::uint64_t count) {
  registry_->type_depth.at(action_type).Set(static_cast<double>(count));
}
void Metrics::failure_rate(std::string_view action_type, double share) { registry_->failure_rate.at(action_type).Set(share); }
void Metrics::oldest_due_age(double seconds) { registry_->oldest_due_age.Set(seconds); }
void Metrics::in_flight(std::uint64_t count) { registry_->in_flight.Set(static_cast<double>(count)); }
void Metrics::clock_skew(double seconds) { registry_->clock_skew.Set(seconds); }
void Metrics::database_up(bool up) { registry_->database_up.Set(up ? 1 : 0); }

void Metrics::dead_letters(std::uint64_t waiting) { registry_->dead_letters.Set(static_cast<double>(waiting)); }
void Metrics::paused_targets(std::uint64_t count) { registry_->paused_targets.Set(static_cast<double>(count)); }
void Metrics::cooling_targets(std::uint64_t count) { registry_->cooling_targets.Set(static_cast<double>(count)); }
void Metrics::unfinished(std::string_view pipeline, std::string_view state, std::uint64_t count) {
  registry_->unfinished.at(pipeline, state).Set(static_cast<double>(count));
}
void Metrics::plugin_missing(std::string_view action_type, bool missing) {
  registry_->plugin_missing.at(action_type).Set(missing ? 1 : 0);
}
void Metrics::build_info(std::string_view version, std::string_view schema) { registry_->build.at(version, schema).Set(1); }

void Metrics::registry(std::string_view digest) {
  const std::lock_guard lock(registry_->changing_registry);
  auto& [known, gauge] = registry_->registry;
  if (gauge && known == digest) return;
  if (gauge) registry_->registries.Remove(gauge);  // else each reload would leave one behind
  known = digest;
  gauge = &registry_->registries.Add({{"digest", known}});
  gauge->Set(1);
}
void Metrics::registry_differs(bool differs) { registry_->registry_differs.Set(differs ? 1 : 0); }

void Metrics::ready(bool is_ready) { registry_->ready.Set(is_ready ? 1 : 0); }
void Metrics::tls_certificate_ends(double seconds) { registry_->certificate_ends.Add({}).Set(seconds); }
void Metrics::trace_spans(std::string_view result, std::uint64_t count) {
  registry_->trace_spans.at(result).Increment(static_cast<double>(count));
}
Objective& Metrics::objective() { return registry_->objective; }

std::string Metrics::text() const {
  registry_->read_process();
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, registry_->all.Collect());
  return out.str();
}

std::string Metrics::open_metrics_text() const {
  registry_->read_process();
  return waybill::open_metrics_text(registry_->all.Collect(), registry_->exemplars);
}

}  // namespace waybill
