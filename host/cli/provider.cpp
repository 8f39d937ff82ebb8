// `waybill provider ...`: questions to a destination, asked through its plugin. Nothing is claimed or changed.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/asking.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "config/value.h"
#include "domain/idempotency.h"
#include "egress/egress_policy.h"
#include "services/connect_check.h"
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

Json outcome_json(const char* key, const std::string& subject, const std::string& word, const Outcome& outcome) {
  return {{key, subject}, {"answer", word}, {"reason", outcome.reason}, {"detail", outcome.detail}, {"code", outcome.code}};
}

int print_outcome(const GlobalOptions& options, const std::string& subject, const char* key, const std::string& word,
                  const Outcome& outcome, bool good) {
  const auto words = words_of(outcome);
  if (options.json)
    print_json(outcome_json(key, subject, word, outcome));
  else
    print_text("%s: %s%s%s\n", subject.c_str(), word.c_str(), words.empty() ? "" : ": ", words.c_str());
  return good ? 0 : 1;
}

std::string when(Timestamp time) { return time.micros == 0 ? "-" : format_rfc3339(time); }

// Of a plugin that cannot say whether its destination is well: whether it can be reached at all.
int try_to_connect(const GlobalOptions& options, const ProviderOptions& asking, const std::string& target,
                   const Contract& contract) {
  const auto tried = try_connect(contract.url, asking.contents.transports->of(contract), EgressPolicy(asking.config.egress),
                                 asking.config.timeouts.attempt);
  Outcome outcome;
  outcome.detail = tried ? "nothing was asked: the plugin of action type " + contract.action_type + " has no probe of its own"
                         : "no connection: " + tried.error().what;
  return print_outcome(options, target, "target", tried ? "connected" : "not reachable", outcome, tried.has_value());
}

// The kinds of submissions whose deliveries a provider may be asked about, as people call them.
constexpr std::pair<const char*, const char*> kAskedKinds[] = {
    {"intent", "intent"}, {"pipeline", "submission"}, {"form", "submission"}};

Job job_about(const DeliveryView& delivery, OrgId org, const std::string& kind, const std::string& id, const Clock& clock) {
  Job job{
      JobHead{.delivery = delivery.delivery,
              .submission = delivery.submission,
              .org = org,
              .route = delivery.route,
              .token = {},
              .history = {.attempt_count = delivery.attempts - std::min(delivery.attempts, 1u)},  // the last one is asked about
              .created = delivery.created,
              .claimed_at = delivery.created,
              .claimed_mono = clock.now(),
              .contract = std::make_shared<const Contract>(delivery.contract),
              .idempotency_key = idempotency_key(org, kind, id, delivery.action_order)}};
  job.context = context_of(org, kind, id, delivery.contract, delivery.created, {});
  job.provider_ref = delivery.provider_ref;
  return job;
}

// What became of those deliveries that were accepted, by plugins that can say so. The exit code; none: there is no such
// submission.
std::optional<int> ask_about(const GlobalOptions& options, ProviderOptions& asking, const Reading& reading, const char* kind,
                             const char* word, const std::string& id) {
  const auto deliveries = reading.store->deliveries(reading.org, kind, id);
  if (!deliveries) return failed(deliveries.error().what);
  if (deliveries->empty()) return std::nullopt;
  std::optional<int> exit_code;
  Json answers = Json::array();  // of a submission, which may have several deliveries
  std::string unasked = std::string(word) + " \"" + id + "\" was not accepted; `waybill explain " + id + "` tells where it is";
  for (const auto& delivery : *deliveries) {
    if (delivery.status != Status::accepted) continue;
    const auto outcome = asking.destination_queries->status(job_about(delivery, reading.org, kind, id, asking.clock));
    if (!outcome && outcome.error().kind == Error::Kind::not_found) {
      unasked = outcome.error().what;
      continue;
    }
    if (!outcome) return failed(outcome.error().what);
    const auto* answer = outcome->verdict == Verdict::accepted   ? "arrived"
                         : outcome->verdict == Verdict::rejected ? "failed"
                         : outcome->verdict == Verdict::deferred ? "under way"
                                                                 : "could not be asked";
    const bool is_intent = std::string_view(kind) == "intent";
    const bool is_good = outcome->verdict == Verdict::accepted || outcome->verdict == Verdict::deferred;
    exit_code = std::max(exit_code.value_or(0), is_good ? 0 : 1);
    if (options.json && !is_intent)
      answers.push_back(outcome_json("target", delivery.contract.target, answer, *outcome));
    else
      print_outcome(options, is_intent ? id : id + " (" + delivery.contract.target + ")", "intentId", answer, *outcome, is_good);
  }
  if (!exit_code) return failed(unasked);
  if (!answers.empty()) print_json({{"submissionId", id}, {"deliveries", std::move(answers)}});
  return *exit_code;
}

}  // namespace

int probe_target(const GlobalOptions& options, const std::string& target) {
  const auto asking = begin_asking(options);
  if (!asking) return 1;
  const auto* contract = target_of(*asking, target);
  if (contract == nullptr) return 1;
  const auto outcome = asking->destination_queries->probe(*contract);
  if (!outcome && outcome.error().kind == Error::Kind::not_found && asking->contents.catalogue->find(contract->action_type))
    return try_to_connect(options, *asking, target, *contract);
  if (!outcome) return failed(outcome.error().what);
  const bool good = outcome->verdict == Verdict::accepted;
  return print_outcome(options, target, "target", good ? "reachable" : "not reachable", *outcome, good);
}

int ask_status(const GlobalOptions& options, const std::string& org, const std::string& id) {
  const auto asking = begin_asking(options);
  if (!asking) return 1;
  const auto reading = open_reading(asking->config, org, asking->log);
  if (!reading) return failed(reading.error().what);
  follow_database(*asking, reading->database.address);
  for (const auto& [kind, word] : kAskedKinds)
    if (const auto code = ask_about(options, *asking, *reading, kind, word, id)) return *code;
  return failed("organisation \"" + org + "\" has neither an intent nor a submission \"" + id + "\"");
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
