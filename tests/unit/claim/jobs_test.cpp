// What a host makes of the database's clock: it never thinks that it is later than it is.  E6 E7
#include "claim/jobs.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/decide.h"

namespace waybill {
namespace {

constexpr std::int64_t kMinute = 60'000'000;

Micros any_wait() { return Micros(*rc::gen::inRange<std::int64_t>(0, kMinute)); }

// A claim that waited for a lock before the database read its clock, and for its commit after it. `true_now` is the database's
// clock at any later moment of this host's.
RC_GTEST_PROP(Jobs, NothingExpiresEarlyAndNothingIsBegunLaterThanTheAnswerTravelled, ()) {
  const Clock::Monotonic asked{std::chrono::hours(1)};
  const auto before = any_wait(), after = any_wait(), later = any_wait();
  const Timestamp read{1'700'000'000'000'000 + *rc::gen::inRange<std::int64_t>(0, kMinute)};
  const auto answered = asked + before + after;
  const auto now = answered + later;
  const Timestamp true_now = read + after + later;

  auto contract = std::make_shared<Contract>();
  contract->policy = Policy::deadline;
  contract->max_acceptance = Seconds(*rc::gen::inRange(1, 120));
  ClaimResult claimed{.now = read, .rows = {}};
  ClaimedRow row{};
  row.created = read - any_wait();
  claimed.rows.push_back(row);
  const auto jobs = jobs_of(std::move(claimed), {1}, {asked, answered, Millis(60'000)}, [&](RouteId) { return contract; });
  RC_ASSERT(jobs.size() == 1u);
  const Job& job = jobs[0];
  const Timestamp reckoned = database_now(job, now);
  RC_ASSERT(reckoned <= true_now);
  RC_ASSERT(true_now - reckoned <= after);
  const bool expired = is_expired(*job.contract, job.created, reckoned);
  RC_ASSERT(!expired || is_expired(*job.contract, job.created, true_now));
  RC_ASSERT(expired || !is_expired(*job.contract, job.created, true_now - after));
  RC_ASSERT(job.begin_before == asked + Millis(60'000));  // whoever looks at the claim sees it later than it was asked for
}

}  // namespace
}  // namespace waybill
