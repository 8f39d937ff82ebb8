// Suspects (deliveries inside which a host died), and the lock that lets one process try them. Each object has its own session;
// one thread at a time.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/queue/claim_result.h"

namespace waybill {

class SuspectStore {
 public:
  virtual ~SuspectStore() = default;
  // True if a suspect is due and no process tries suspects.
  virtual Result<bool> is_help_wanted() = 0;
  // True while this session is the one that tries suspects; takes the lock if it is free.
  virtual Result<bool> lead() = 0;
  // Lets another process try suspects if the one that does has asked nothing for a whole `lease`. Returns whether that was so.
  virtual Result<bool> end_silent_lead(Millis lease) = 0;
  // Time until the first unclaimed suspect is due, 0 if one is due; none: there is no suspect.
  virtual Result<std::optional<Micros>> next_due() = 0;
  // Claims the due suspect that has waited longest, if any. Committed when it returns; undo an unconfirmed claim with
  // QueueStore::give_back().
  virtual Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease) = 0;

  // A host died inside this attempt, and a rescuer took the claim back, perhaps without knowing that. Nothing happens if the
  // death was charged already, or if an attempt that counts has ended since.
  struct HostDeath {
    DeliveryId delivery;
    std::uint32_t attempt;  // the lost one
    std::uint32_t counted;  // attempts before it that counted
    std::uint32_t losses;   // deaths charged before
  };
  enum class Accusation { yes, too_early, too_late };
  virtual Result<Accusation> accuse(const HostDeath& death, Millis apart) = 0;

  // For a lasting condition, counted once in `apart`.
  virtual Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                              Millis apart) = 0;
  virtual Result<void> raise_alert(OrgId org, const std::string& kind, const std::string& about, const std::string& words) = 0;
};

}  // namespace waybill
