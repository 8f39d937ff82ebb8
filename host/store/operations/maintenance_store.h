// Statements of the periodic tasks, over the whole queue. They may take long; rescue does not wait for them. Each object has its
// own session; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/intake/intent_listing.h"
#include "store/operations/known_host.h"

namespace waybill {

// Up to this many deliveries are counted one by one; beyond it the number is an estimate.
inline constexpr std::uint64_t kMaxCounted = 100'000;

struct QueueState {
  std::map<std::string, std::uint64_t> by_status;  // what waits for its retry is "scheduled", not "due"
  std::optional<Micros> oldest_due;                // age of the oldest delivery that is due
};

// How long submissions of a kind are kept after they were handed in; 0: for ever.
struct KeptKind {
  std::string_view kind;
  Millis age;
};
// What one batch of a walk over submissions, from the oldest on, has deleted.
struct RetentionStep {
  std::uint64_t deleted = 0;
  SubmissionId last{};   // the next batch begins behind it
  bool is_over = false;  // what comes behind it is too young
};

class MaintenanceStore {
 public:
  virtual ~MaintenanceStore() = default;
  // Re-registers, without a host, claims that are missing from `claims`: their host had settled them, and an asynchronous
  // failover lost that. Returns the number of deliveries. A full scan of the queue; run rarely.
  virtual Result<std::uint64_t> find_unregistered_claims() = 0;
  // Its cost hardly depends on the length of the queue. Exact for a queue of up to 64 MiB. Beyond that `claimed` is exact, so is
  // `due` with `scheduled` up to kMaxCounted, and the rest is estimated from a sample.
  virtual Result<QueueState> queue_state() = 0;
  // What a host says of itself, a JSON object, for others to read.
  virtual Result<void> tell(HostId host, const std::string& facts) = 0;
  // That a host is there, by the name that a restart leaves it. Returns its drain, if an operator keeps it from claiming.
  virtual Result<std::optional<HostDrain>> hear(const HeardHost& host) = 0;
  // Creates the partitions of this month and the next two. Does not wait for locks: Error::unavailable names the blocking
  // session, and a later call creates the rest.
  virtual Result<void> make_partitions() = 0;
  // Deletes outages whose last cooldown ended longer ago than `over_for`, and forgets hosts that were not heard for a month.
  // Returns how many outages.
  virtual Result<std::uint64_t> forget_outages(Millis over_for) = 0;
  // Looks at up to `most` submissions behind `after` and deletes those of these kinds that are past their age, with their
  // deliveries and contents; not those that have not ended or have a dead letter. Attempts and audit stay.
  virtual Result<RetentionStep> delete_old(Shard shard, SubmissionId after, std::span<const KeptKind> kinds,
                                           std::size_t most) = 0;
  // Deletes up to `most` events older than `age` that no delivery has any more. Returns how many.
  virtual Result<std::uint64_t> delete_old_events(Millis age, std::size_t most) = 0;
  // Notes which intents are whose, for lists, as far as that can no longer change. True: there is more, which a next call takes.
  virtual Result<bool> list_intents() = 0;
  // Looks at the next `most` of these notes behind `after` and deletes those whose intents, past their `age`, are all gone.
  // Returns the last one looked at; none: there are no more.
  virtual Result<std::optional<ListedPlace>> forget_listed(ListedPlace after, Millis age, std::size_t most) = 0;
  // This host reaches nothing, since then, while another host reaches this target. Until reaches_again() others go without its
  // word.
  virtual Result<void> cut_off(HostId host, Timestamp since, const std::string& target) = 0;
  // What it found unreachable it may probe at once.
  virtual Result<void> reaches_again(HostId host) = 0;
  // Stores a submission as intake does, and takes it back. An error is what would meet a client's; it waits a second for locks.
  virtual Result<void> try_to_store() = 0;
  virtual Result<std::vector<Shard>> expired_shards() = 0;  // where something waits although its own time is over
  virtual Result<bool> is_alone(HostId host) = 0;           // no other host is registered that is not cut off
};

}  // namespace waybill
