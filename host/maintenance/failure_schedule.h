// When failures are checked.
#pragma once

#include <optional>
#include <string>

#include "domain/cron.h"
#include "store/operations/failure_check_store.h"

namespace waybill {

// The plan in the database, by a schedule of cron or "never". Where hosts have different ones, that of the newest host holds.
// Immutable.
class FailureSchedule {
 public:
  FailureSchedule(const std::string& of_cron, const std::string& time_zone);

  // Plans the next tick where that is not done, and says whether a check is to be begun or gone on with now.
  Result<bool> is_wanted(FailureCheckStore& store) const;
  // The schedule that holds in place of this one; "" if it is this one.
  Result<std::string> other(FailureCheckStore& store) const;
  const std::string& text() const { return text_; }
  // Takes what is_wanted() found; none if another process was first.
  Result<std::optional<FailureCheck>> take(FailureCheckStore& store, const std::string& host) const;
  // The latest tick that is not after `now`. However many were missed, this one is run.
  Timestamp latest(Timestamp now, Timestamp first_missed) const;

 private:
  explicit FailureSchedule(const std::string& text);  // as text() has it
  Result<FailureCheckState> planned(FailureCheckStore& store) const;

  std::string text_;
  std::optional<CronSchedule> schedule_;  // none: never
  std::optional<TimeZone> zone_;
};

}  // namespace waybill
