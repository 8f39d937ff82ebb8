// The check of failures, by hand or for a host that found it due; and its digests.
#include "cli/failures.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/failure_checker.h"
#include "app/host_identity.h"
#include "app/stores.h"
#include "base/printing.h"
#include "cli/asking.h"
#include "cli/json_output.h"
#include "maintenance/failure_schedule.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr auto kUnderWay = "a check is under way already; `waybill failures list` will show its digest";

// A process that a host started for a due check: it ends with the host, and writes to the same log.
bool is_orphan(pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);  // the host's threads block the signals that shall end this process
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  return parent != 0 && getppid() != parent;
}

int print_result(const GlobalOptions& options, const FailureCheckResult& result) {
  if (options.json) {
    Json organisations = Json::array();
    for (const auto& line : result.organisations)
      organisations.push_back(
          {{"org", line.org.value}, {"failures", line.failures}, {"linked", line.linked}, {"byStatus", line.by_status}});
    print_json({{"targets", result.targets}, {"problems", result.problems}, {"organisations", organisations}});
  } else {
    std::uint64_t failures = 0;
    for (const auto& line : result.organisations) failures += line.failures;
    print_line(std::to_string(failures) + " new failure(s) in the lists of " + std::to_string(result.targets.size()) +
               " target(s)");
    for (const auto& line : result.organisations)
      for (const auto& [status, count] : line.by_status)
        print_line("  " + status + ": " + std::to_string(count) +
                   (line.org == kDefaultOrg ? "" : " (organisation " + std::to_string(line.org.value) + ")"));
  }
  for (const auto& problem : result.problems) print_error("not checked: %s\n", problem.c_str());
  return result.problems.empty() ? 0 : 1;
}

std::string time_text(const std::optional<Timestamp>& time) { return time ? format_rfc3339(*time) : ""; }

Json failure_json(const DigestFailure& one) {
  Json json{{"target", one.target},
            {"actionType", one.action_type},
            {"status", one.failure.status},
            {"detail", one.failure.detail},
            {"failedAt", nullptr},
            {"providerRef", one.failure.provider_ref},
            {"reference", one.failure.reference},
            {"submissionId", nullptr}};
  if (one.failure.failed_at) json["failedAt"] = format_rfc3339(*one.failure.failed_at);
  if (!one.submission.empty()) json["submissionId"] = one.submission;
  return json;
}

}  // namespace

int check_failures(const GlobalOptions& options, const FailureOptions& failures) {
  if (failures.is_due && is_orphan(failures.parent)) return 0;
  const auto asking = begin_asking(options);
  if (!asking) return 1;
  const Config& config = asking->config;
  Log log = failures.is_due ? make_log(config) : quiet_log();
  const auto database = fit_database(config, log);
  if (!database) return failed(database.error().what);
  follow_database(*asking, database->address);
  const auto store = make_failure_check_store(database->address, failure_check_lease(config));
  const FailureSchedule schedule(config.failure_check.schedule, config.failure_check.time_zone);
  if (const auto planned = schedule.is_wanted(*store); !planned) return failed(planned.error().what);
  const auto check = failures.is_due ? schedule.take(*store, host_name()) : store->begin_by_hand(host_name());
  if (!check) return failed(check.error().what);
  if (!*check) return failures.is_due ? 0 : failed(kUnderWay);
  FailureChecker checker(*store, *asking->destination_queries, *asking->contents.registry,
                         failures.targets.empty() ? config.failure_check.targets : failures.targets, asking->clock, log);
  const auto result =
      checker.run(**check, failures.is_due ? FailureChecker::Patience::tries_again : FailureChecker::Patience::ends_anyhow);
  if (!result) return failed(result.error().what);
  if (failures.is_due) return 0;
  if (result->how == FailureCheckResult::How::lost) return failed("another process has taken the check over");
  return print_result(options, *result);
}

int list_digests(const GlobalOptions& options, const FailureOptions& failures) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto reading = open_reading(*config, failures.org, log);
  if (!reading) return failed(reading.error().what);
  const auto store = make_failure_check_store(reading->database.address, failure_check_lease(*config));
  if (failures.digest != 0) {
    const auto found = store->failures(reading->org, failures.digest, failures.limit);
    if (!found) return failed(found.error().what);
    Json list = Json::array();
    for (const auto& one : *found) {
      list.push_back(failure_json(one));
      if (options.json) continue;
      print_text("%-28s %-20s %-20s %-24s %s\n", time_text(one.failure.failed_at).c_str(), one.failure.status.c_str(),
                 one.target.c_str(), one.failure.reference.c_str(), one.submission.c_str());
    }
    if (options.json) print_json({{"digest", std::to_string(failures.digest)}, {"failures", list}});
    return 0;
  }
  const auto digests = store->digests(reading->org, failures.limit);
  if (!digests) return failed(digests.error().what);
  const auto state = store->state();
  if (!state) return failed(state.error().what);
  Json list = Json::array();
  for (const auto& one : *digests)
    list.push_back({{"digest", std::to_string(one.id)},
                    {"tick", format_rfc3339(one.tick)},
                    {"byHand", one.by_hand},
                    {"begunAt", format_rfc3339(one.begun)},
                    {"finishedAt", format_rfc3339(one.finished)},
                    {"targets", our_json(one.targets)},
                    {"problems", our_json(one.problems)},
                    {"failures", one.failures},
                    {"byStatus", our_json(one.by_status)}});
  if (options.json) {
    Json answer{{"digests", list}, {"nextTick", nullptr}};
    if (state->next) answer["nextTick"] = format_rfc3339(*state->next);
    print_json(answer);
    return 0;
  }
  for (const auto& one : *digests)
    print_text("%-20lld %-28s %-8s %6llu failure(s) %s%s\n", static_cast<long long>(one.id), format_rfc3339(one.tick).c_str(),
               one.by_hand ? "by hand" : "", static_cast<unsigned long long>(one.failures), one.by_status.c_str(),
               one.problems == "[]" ? "" : (" not checked: " + one.problems).c_str());
  print_line(state->next ? "next check: " + format_rfc3339(*state->next) : "no check is planned");
  return 0;
}

}  // namespace waybill
