// `waybill provider ...`: questions to a destination, asked through its plugin. Nothing is claimed or changed.
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "config/value.h"
#include "domain/idempotency.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

std::string words_of(const Outcome& outcome) {
  std::string words = outcome.reason;
  if (!outcome.detail.empty()) words += (words.empty() ? "" : ": ") + outcome.detail;
  if (outcome.code != 0)
    words += (words.empty() ? "code " : " (code ") + std::to_string(outcome.code) + (words.empty() ? "" : ")");
  return words;
}

const Contract* target_of(const ProviderOptions& asking, const std::string& name) {
  const auto* target = asking.contents.registry->find(name);
  if (target == nullptr) failed("the registry has no target \"" + name + "\"");
  return target;
}

int print_outcome(const GlobalOptions& options, const std::string& subject, const char* key, const std::string& word,
                  const Outcome& outcome, bool good) {
  const auto words = words_of(outcome);
  if (options.json)
    print_json(
        {{key, subject}, {"answer", word}, {"reason", outcome.reason}, {"detail", outcome.detail}, {"code", outcome.code}});
  else
    print_text("%s: %s%s%s\n", subject.c_str(), word.c_str(), words.empty() ? "" : ": ", words.c_str());
  return good ? 0 : 1;
}

std::string when(Timestamp time) { return time.micros == 0 ? "-" : format_rfc3339(time); }

}  // namespace

int probe_target(const GlobalOptions& options, const std::string& target) {
  const auto asking = begin_asking(options);
  if (!asking) return 1;
  const auto* contract = target_of(*asking, target);
  if (contract == nullptr) return 1;
  const auto outcome = asking->destination_queries->probe(*contract);
  if (!outcome) return failed(outcome.error().what);
  const bool good = outcome->verdict == Verdict::accepted;
  return print_outcome(options, target, "target", good ? "reachable" : "not reachable", *outcome, good);
}

int ask_status(const GlobalOptions& options, const std::string& org, const std::string& intent_id) {
  const auto asking = begin_asking(options);
  if (!asking) return 1;
  const auto reading = open_reading(asking->config, org, asking->log);
  if (!reading) return failed(reading.error().what);
  const auto deliveries = reading->store->deliveries(reading->org, "intent", intent_id);
  if (!deliveries) return failed(deliveries.error().what);
  if (deliveries->empty()) return failed("organisation \"" + org + "\" has no intent \"" + intent_id + "\"");
  const auto& delivery = deliveries->front();
  if (delivery.status != Status::accepted)
    return failed("intent \"" + intent_id + "\" was not accepted; `waybill explain " + intent_id + "` tells where it is");
  Job job{.delivery = delivery.delivery,
          .submission = delivery.submission,
          .org = reading->org,
          .route = delivery.route,
          .token = {},
          .attempt = delivery.attempts,
          .created = delivery.created,
          .claimed_at = delivery.created,
          .claimed_mono = asking->clock.now(),
          .contract = std::make_shared<const Contract>(delivery.contract),
          .idempotency_key = idempotency_key(reading->org, "intent", intent_id, delivery.action_order),
          .payload = {},
          .context = context_of(reading->org, "intent", intent_id, delivery.contract, delivery.created, {}),
          .artifact = {},
          .provider_ref = delivery.provider_ref,
          .progress = {}};
  const auto outcome = asking->destination_queries->status(std::move(job));
  if (!outcome) return failed(outcome.error().what);
  const auto* word = outcome->verdict == Verdict::accepted   ? "arrived"
                     : outcome->verdict == Verdict::rejected ? "failed"
                     : outcome->verdict == Verdict::deferred ? "under way"
                                                             : "could not be asked";
  return print_outcome(options, intent_id, "intentId", word, *outcome,
                       outcome->verdict == Verdict::accepted || outcome->verdict == Verdict::deferred);
}

int list_failures(const GlobalOptions& options, const std::string& target, const std::string& since) {
  const auto back = config::parse_duration(since);
  if (!back) return failed("--since: \"" + since + "\" is no duration such as 24h or 30m");
  const auto asking = begin_asking(options);
  if (!asking) return 1;
  const auto* contract = target_of(*asking, target);
  if (contract == nullptr) return 1;
  const auto from = asking->clock.unix_seconds() - std::chrono::duration_cast<Seconds>(*back).count();
  const auto failures = asking->destination_queries->failures(*contract, from);
  if (!failures) return failed(failures.error().what);
  const bool whole = failures->outcome.verdict == Verdict::accepted;
  if (options.json) {
    Json list = Json::array();
    for (const auto& f : failures->list) {
      Json failure{{"failedAt", nullptr},
                   {"providerRef", f.provider_ref},
                   {"idempotencyKey", f.idempotency_key},
                   {"reason", f.reason},
                   {"detail", f.detail}};
      if (f.failed_at.micros != 0) failure["failedAt"] = format_rfc3339(f.failed_at);
      list.push_back(std::move(failure));
    }
    print_json({{"target", target}, {"complete", whole}, {"failures", list}});
  } else {
    for (const auto& f : failures->list)
      print_text("%-28s %-24s %-24s %s%s%s\n", when(f.failed_at).c_str(), f.provider_ref.c_str(), f.idempotency_key.c_str(),
                 f.reason.c_str(), f.detail.empty() ? "" : ": ", f.detail.c_str());
    if (whole && failures->list.empty()) print_text("no failures since %s ago\n", since.c_str());
  }
  if (!whole) return failed("the list is not complete: " + words_of(failures->outcome));
  return 0;
}

}  // namespace waybill
