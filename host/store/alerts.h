// What is asked of the database about alerts: incidents and their notifications, what is stuck, and failures until they are told.
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

// One message to be told, about one incident or a summary of many.
struct Notification {
  std::string reference;
  std::vector<Incident> incidents;
};

// When an incident is told again, and how many messages may go out.
struct NotificationRules {
  Millis quiet;               // between two messages about one incident
  std::size_t most_messages;  // in one quiet time; beyond it, incidents are summed up
  Millis between_summaries;
};

// Work that is due and that nobody takes.
struct Stuck {
  enum class What : std::uint8_t { deliveries, form } what;
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

// A session of its own: one thread at a time.
class AlertStore {
 public:
  virtual ~AlertStore() = default;
  // Raises an alert of a condition that lasts: it counts once in `apart`. What happens once is raised by raise_alert(), in the
  // transaction of what it is about.
  virtual Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                              Millis apart) = 0;
  // Occurrences by kind since the last call of any host.
  virtual Result<std::map<std::string, std::uint64_t>> count_new() = 0;
  // Reserves what is due to be told, and answers all that is reserved, also what another host has not come round to.
  virtual Result<std::vector<Notification>> notifications(const NotificationRules& rules) = 0;
  // True for the one caller that ends this notification.
  virtual Result<bool> told(const std::string& reference) = 0;
  // Incidents with nothing new for so long: the next of their kind is a new one.
  virtual Result<void> close(Millis after) = 0;
  // Due or processing for longer than this, alerts' own deliveries and resting targets apart.
  virtual Result<std::vector<Stuck>> stuck(Millis longer_than) = 0;
  // Of periods that are over, ordered by organisation and period.
  virtual Result<std::vector<ProviderFailure>> finished_failures() = 0;
  // In one commit, these (of one organisation) are gone and the alert is raised. Nothing happens if they have gone already.
  virtual Result<void> digest(std::span<const ProviderFailure> failures, const std::string& about, const std::string& words) = 0;
};

}  // namespace waybill
