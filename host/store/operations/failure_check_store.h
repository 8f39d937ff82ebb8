// The plan of failure checks, the check that is under way, and the digests of those that are over. Each object has its own
// session; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

struct FailureCheckState {
  Timestamp now;                        // of the database
  std::optional<std::string> schedule;  // none: nothing is planned yet
  std::optional<Timestamp> next, last_tick;
  std::optional<Timestamp> tick, begun;  // of the check that is under way
  int tries = 0;
  bool is_free = true;                // nobody does the check that is under way
  std::string host;                   // who does it
  std::optional<std::string> newest;  // the schedule of the newest host; none: no host has told one
};

// A check, as its token gives it to one process.
struct FailureCheck {
  std::int64_t token = 0;
  Timestamp tick, begun, now;
  int tries = 1;  // begun since one ended in good order
};

// What a provider accepted and then failed to deliver.
struct ReportedFailure {
  std::string provider_ref, reference, status, detail;
  std::optional<Timestamp> failed_at;
};

struct DigestLine {  // also of one that is not over
  OrgId org;
  std::map<std::string, std::uint64_t> by_status;
  std::uint64_t failures = 0, linked = 0;
};

struct FailureDigest {
  std::int64_t id = 0;
  Timestamp tick, begun, finished;
  bool by_hand = false;
  std::string targets, problems, by_status;  // JSON
  std::uint64_t failures = 0;
};

struct DigestFailure {
  ReportedFailure failure;
  std::string target, action_type, submission;  // the id under which it was handed in; "" if it is unknown
};

class FailureCheckStore {
 public:
  virtual ~FailureCheckStore() = default;
  virtual Result<FailureCheckState> state() = 0;
  // The schedule that this host has.
  virtual Result<void> tell(HostId host, const std::string& schedule) = 0;
  struct HostSchedule {
    std::string host, schedule;
  };
  virtual Result<std::vector<HostSchedule>> schedules() = 0;  // the newest host's first
  // Writes schedule and next tick, unless another host has changed what was `seen`.
  virtual Result<void> plan(const std::string& schedule, std::optional<Timestamp> next, const FailureCheckState& seen) = 0;
  // None: another one has it, or there is none.
  virtual Result<std::optional<FailureCheck>> begin(const FailureCheckState& seen, Timestamp tick, Timestamp next,
                                                    const std::string& host) = 0;
  virtual Result<std::optional<FailureCheck>> resume(const std::string& host) = 0;
  virtual Result<std::optional<FailureCheck>> begin_by_hand(const std::string& host) = 0;

  virtual Result<std::optional<Timestamp>> checked_until(const std::string& target) = 0;
  // False, here and below: the check is not the caller's any more.
  virtual Result<bool> store(const FailureCheck& check, const std::string& target, const std::string& action_type,
                             std::span<const ReportedFailure> page) = 0;
  virtual Result<bool> put_off(const FailureCheck& check, Millis wait) = 0;
  virtual Result<std::vector<DigestLine>> so_far(const FailureCheck& check) = 0;
  virtual Result<std::vector<DigestFailure>> first(const FailureCheck& check, OrgId org, std::size_t most) = 0;
  struct Ending {
    std::map<std::string, Timestamp> targets;  // whose lists are complete, and when they were asked
    std::vector<std::string> problems;
    struct Alert {
      OrgId org;
      std::string words;  // "": none is raised
    };
    std::vector<Alert> organisations;  // each gets a digest
  };
  // One commit: the digests, their alerts, what is known of the targets, and the end of the check.
  virtual Result<bool> finish(const FailureCheck& check, const Ending& ending) = 0;

  virtual Result<std::vector<FailureDigest>> digests(OrgId org, std::size_t most) = 0;
  virtual Result<std::vector<DigestFailure>> failures(OrgId org, std::int64_t digest, std::size_t most) = 0;
};

}  // namespace waybill
