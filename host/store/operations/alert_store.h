// The alert queries: incidents and their notifications, stuck work, and failures until their digest.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

struct Incident {
  OrgId org;
  std::string name;  // "<kind>:<what it is about>"
  std::string kind;
  std::string words;  // of the latest occurrence
  std::uint64_t count = 0;
  Timestamp first, last;
};

// One notification, about one incident or a summary of many.
struct Notification {
  std::string reference;
  std::vector<Incident> incidents;
};

// When an incident is repeated, and how many notifications may be sent.
struct NotificationRules {
  Millis quiet;               // between two notifications of one incident
  std::size_t most_messages;  // in one quiet time; further incidents are summarised
  Millis between_summaries;
};

// Work that has been due, or processing, or waiting for a scan, for too long.
struct StuckWork {
  enum class What : std::uint8_t { deliveries, form, scan } what;  // scan: a form's, of an attachment
  OrgId org;
  std::string about;        // the target, or the form's id
  std::string action_type;  // of deliveries
  std::string reference;    // of the oldest
  Timestamp now, since;
  std::uint64_t count = 0;      // at most kMaxStuckCounted + 1
  std::uint64_t in_flight = 0;  // deliveries of the same target
};
inline constexpr std::uint64_t kMaxStuckCounted = 1000;

struct ProviderFailure {
  OrgId org;
  Timestamp since, until;  // the period
  std::string action_type, target, reason;
  std::uint64_t count = 0;
};

// Each object has its own session; one thread at a time.
class AlertStore {
 public:
  virtual ~AlertStore() = default;
  // Raises an alert for a lasting condition, counted once in `apart`. Single events are raised by raise_alert(), in the
  // transaction of the event.
  virtual Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                              Millis apart) = 0;
  // Occurrences by kind since the last call by any host.
  virtual Result<std::map<std::string, std::uint64_t>> count_new() = 0;
  // Reserves the notifications that are due, and returns all reserved ones, including those another host did not finish.
  virtual Result<std::vector<Notification>> notifications(const NotificationRules& rules) = 0;
  // Marks a notification as sent. True for exactly one caller.
  virtual Result<bool> mark_sent(const std::string& reference) = 0;
  // Closes incidents without a new occurrence for `after`; the next occurrence is a new incident.
  virtual Result<void> close(Millis after) = 0;
  // Due, processing or waiting for a scan for longer than this, except notifications and targets that cool down.
  virtual Result<std::vector<StuckWork>> stuck(Millis longer_than) = 0;
  // Those of finished periods, ordered by organisation and period.
  virtual Result<std::vector<ProviderFailure>> finished_failures() = 0;
  // In one commit deletes these failures (of one organisation) and raises the alert. Does nothing if they are deleted already.
  virtual Result<void> digest(std::span<const ProviderFailure> failures, const std::string& about, const std::string& words) = 0;
};

}  // namespace waybill
