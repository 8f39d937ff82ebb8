// Deliveries that were inside a plugin when their host died, and the lock that lets one process try them. An object holds a
// session of its own: one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/pg.h"
#include "store/queue_store.h"

namespace waybill {

class SuspectStore {
 public:
  virtual ~SuspectStore() = default;
  // True if a suspect is due and no process anywhere tries suspects.
  virtual Result<bool> is_help_wanted() = 0;
  // True while this session is the one that tries them: it becomes it, if no other one is.
  virtual Result<bool> lead() = 0;
  // From now until the first suspect that nobody has claimed is due, 0 if one is; none: there is none.
  virtual Result<std::optional<Micros>> next_due() = 0;
  // The one that has waited longest, if any is due. Committed when it returns; a claim whose answer is lost is undone by
  // QueueStore::give_back.
  virtual Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease) = 0;

  // A delivery was inside a plugin in an attempt whose host died, and its claim was taken back, perhaps by somebody who did not
  // know of that. Nothing happens if the death was counted already, or if an attempt that counts has ended since.
  struct Lost {
    DeliveryId delivery;
    std::uint32_t attempt;  // the one that was lost
    std::uint32_t counted;  // attempts before it that counted
    std::uint32_t losses;   // deaths that counted before
  };
  enum class Accused { yes, too_early, too_late };
  virtual Result<Accused> accuse(const Lost& lost, Millis apart) = 0;

  // Of a condition that lasts: it counts once in `apart`.
  virtual Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                              Millis apart) = 0;
  virtual Result<void> raise_alert(OrgId org, const std::string& kind, const std::string& about, const std::string& words) = 0;
};

std::unique_ptr<SuspectStore> make_suspect_store(const DatabaseAddress& address);

}  // namespace waybill
