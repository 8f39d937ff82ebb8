// Reads the lists of providers into the digest of a check.
#include "app/failure_checker.h"

#include <algorithm>
#include <set>

#include "maintenance/alert_text.h"

namespace waybill {
namespace {

constexpr auto kFirstLook = std::chrono::hours(7 * 24);  // how far back the first check of a target asks
constexpr auto kOverlap = std::chrono::hours(24);        // of two checks: lists are late, and clocks differ
constexpr Millis kTryAgain{60'000};
constexpr auto kGiveUp = std::chrono::hours(1);
constexpr int kMaxTries = 3;  // of a check that never ended in good order
constexpr std::size_t kMaxNamed = 10;

std::string words_of(const Outcome& outcome) { return outcome.reason + (outcome.detail.empty() ? "" : ": " + outcome.detail); }

}  // namespace

FailureChecker::FailureChecker(FailureCheckStore& store, DestinationQueries& queries, const Registry& registry,
                               std::vector<std::string> targets, const Clock& clock, Log& log)
    : store_(store), queries_(queries), registry_(registry), targets_(std::move(targets)), clock_(clock), log_(log) {}

std::vector<const Contract*> FailureChecker::asked(std::vector<std::string>& problems) const {
  std::vector<const Contract*> all;
  if (targets_.empty())
    for (const auto& target : registry_.targets()) all.push_back(&target);
  for (const auto& name : targets_) {
    if (const auto* target = registry_.find(name))
      all.push_back(target);
    else
      problems.push_back(name + ": the registry has no such target");
  }
  return all;
}

Result<FailureCheckResult> FailureChecker::run(const FailureCheck& check, Patience patience) {
  if (check.tries > kMaxTries)
    return finish(check, {}, {"the check was begun " + std::to_string(kMaxTries) + " times and its process died each time"});
  const auto begin = clock_.now();
  const auto now = [&] { return check.now + std::chrono::duration_cast<Micros>(clock_.now() - begin); };
  std::map<std::string, Timestamp> whole;
  std::vector<std::string> problems;
  std::set<std::string> not_offered;  // action types
  for (const auto* target : asked(problems)) {
    if (not_offered.contains(target->action_type)) continue;
    const auto known = store_.checked_until(target->target);
    TRY(known);
    const auto asked_at = now();
    const auto since = *known ? **known - kOverlap : asked_at - kFirstLook;
    std::string problem;
    const auto how = read(check, *target, since.micros / 1'000'000, problem);
    TRY(how);
    switch (*how) {
      case Read::whole:
        whole.emplace(target->target, asked_at);
        break;
      case Read::in_part:
        problems.push_back(target->target + ": " + problem);
        break;
      case Read::not_offered:
        not_offered.insert(target->action_type);
        if (!targets_.empty()) problems.push_back(target->target + ": " + problem);
        break;
      case Read::lost:
        return FailureCheckResult{.how = FailureCheckResult::How::lost, .organisations = {}, .targets = {}, .problems = {}};
    }
  }
  if (!problems.empty() && patience == Patience::tries_again && now() - check.begun < kGiveUp) {
    const auto mine = store_.put_off(check, kTryAgain);
    TRY(mine);
    for (const auto& problem : problems)
      log_.warn("failure_check.put_off", {{"problem", problem}, {"remedy", "it is tried again in a minute, for an hour"}});
    return FailureCheckResult{.how = *mine ? FailureCheckResult::How::put_off : FailureCheckResult::How::lost,
                              .organisations = {},
                              .targets = {},
                              .problems = std::move(problems)};
  }
  return finish(check, std::move(whole), std::move(problems));
}

Result<FailureChecker::Read> FailureChecker::read(const FailureCheck& check, const Contract& target, std::int64_t since,
                                                  std::string& problem) {
  bool lost = false;
  const auto outcome = queries_.failures(target, since, [&](std::vector<FailurePage::Failure> page) -> Result<bool> {
    std::vector<ReportedFailure> failures;
    for (auto& one : page)
      failures.push_back({.provider_ref = std::move(one.provider_ref),
                          .reference = std::move(one.idempotency_key),
                          .status = one.reason.empty() ? "failed" : std::move(one.reason),
                          .detail = std::move(one.detail),
                          .failed_at = one.failed_at.micros == 0 ? std::nullopt : std::optional(one.failed_at)});
    const auto mine = store_.store(check, target.target, target.action_type, failures);
    TRY(mine);
    lost = !*mine;
    return *mine;
  });
  if (lost) return Read::lost;
  if (!outcome) {
    problem = outcome.error().what;
    return outcome.error().kind == Error::Kind::not_found ? Read::not_offered : Read::in_part;
  }
  if (outcome->verdict == Verdict::accepted) return Read::whole;
  problem = "its list is not complete: " + words_of(*outcome);
  return Read::in_part;
}

Result<FailureCheckResult> FailureChecker::finish(const FailureCheck& check, std::map<std::string, Timestamp> whole,
                                                  std::vector<std::string> problems) {
  auto lines = store_.so_far(check);
  TRY(lines);
  const bool is_default =
      std::any_of(lines->begin(), lines->end(), [](const DigestLine& line) { return line.org == kDefaultOrg; });
  if (!is_default) lines->insert(lines->begin(), DigestLine{.org = kDefaultOrg, .by_status = {}});
  FailureCheckStore::Ending ending{.targets = std::move(whole), .problems = std::move(problems), .organisations = {}};
  for (const auto& line : *lines) {
    const std::vector<std::string> told = line.org == kDefaultOrg ? ending.problems : std::vector<std::string>{};
    std::string words;
    if (line.failures > 0 || !told.empty()) {
      const auto first = store_.first(check, line.org, kMaxNamed);
      TRY(first);
      words = waybill::words_of(line, *first, told);
    }
    ending.organisations.push_back({line.org, std::move(words)});
  }
  const auto mine = store_.finish(check, ending);
  TRY(mine);
  FailureCheckResult result{.how = *mine ? FailureCheckResult::How::finished : FailureCheckResult::How::lost,
                            .organisations = std::move(*lines),
                            .targets = {},
                            .problems = std::move(ending.problems)};
  for (const auto& [target, at] : ending.targets) result.targets.push_back(target);
  if (!*mine) return result;
  for (const auto& line : result.organisations)
    log_.info("failure_check.done", {{"org", line.org.value},
                                     {"failures", line.failures},
                                     {"linked", line.linked},
                                     {"targets", result.targets.size()},
                                     {"problems", result.problems.size()}});
  return result;
}

}  // namespace waybill
