// Takes in intents: groups concurrent requests into one insert, and answers each after its group's commit. Forms come in by
// form_intake.h.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/pulse.h"
#include "base/trace_context.h"
#include "domain/contract.h"
#include "domain/job.h"
#include "domain/submission_terms.h"
#include "intake/store_health.h"
#include "store/intake/intake_store.h"
#include "store/queue/queue_store.h"
#include "telemetry/log.h"

namespace waybill {

struct IntakeSettings {
  int shards = 1;
  std::size_t max_in_group = 500;
  std::size_t max_bytes_in_group = 16 << 20;  // of payloads; a larger one is a group of its own
  std::size_t max_waiting = 20'000;           // more are refused at once
  std::size_t max_bytes_waiting = 64 << 20;   // of payloads; more are refused at once
  Millis patience{5'000};                     // how long a submission may wait, for its turn or for the database
};

// An intent as it was handed in, with the contract that its target has at this moment.
struct NewIntent {
  OrgId org;
  std::string intent_id;
  std::shared_ptr<const Contract> contract;
  std::string payload;  // the bytes of the JSON value, empty if there was none
  Trace trace{};
  Terms terms{};
  std::optional<Timestamp> handed_in{};  // else now
};

// Safe from any thread.
class Intake {
 public:
  // Called exactly once, on a thread of the intake. Error::unavailable: not acknowledged, though it may have been stored; submit
  // the same again to find out.
  using Answer = std::function<void(Result<SubmitResult>)>;

  // What happens with stored deliveries. Called on threads of the intake.
  struct Next {
    // Asks for a claim on insert. If there is one, it is followed by `claimed` or `unconfirmed`, with the same groups.
    std::function<std::optional<InsertClaim>(Shard shard, const std::vector<InsertGroup>& all)> claim;
    // Call one of these: after the commit, or after a commit whose answer was lost (it may have taken place).
    std::function<void(Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all, ClaimResult rows)> claimed;
    std::function<void(Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all)> unconfirmed;
    // After each commit that stored unclaimed deliveries, with their routes.
    std::function<void(Shard shard, const std::vector<InsertGroup>& routes)> is_due;
  };
  // One thread per store.
  Intake(std::vector<std::unique_ptr<IntakeStore>> stores, const Clock& clock, IntakeSettings settings, Next next, Log& log);
  ~Intake();

  void start();
  void submit(NewIntent intent, Answer answer);

  struct PendingIntent {
    NewIntent intent;
    Answer answer;
  };
  // The same for many at once.
  void submit(std::vector<PendingIntent> batch);
  StoreHealth& health() { return health_; }
  const StoreHealth& health() const { return health_; }
  const std::deque<Pulse>& pulses() const { return pulses_; }  // of its threads

 private:
  struct QueueEntry {
    NewSubmission item;
    std::shared_ptr<const Contract> contract;
    Answer answer;
    Clock::Monotonic since;
  };
  // The route of each contract of the registry. Keeps no contract alive, and so no registry; entries of expired contracts are
  // dropped as new ones are added.
  class RouteCache {
   public:
    std::optional<RouteId> find(OrgId org, const std::shared_ptr<const Contract>& contract) const;
    void add(OrgId org, const std::shared_ptr<const Contract>& contract, RouteId route);

   private:
    struct Entry {
      std::weak_ptr<const Contract> contract;  // if expired, its address may belong to another contract
      RouteId route;
    };
    std::map<std::pair<OrgId, const Contract*>, Entry> entries_;
    std::size_t prune_at_ = 1000;
  };

  QueueEntry waiting_for(PendingIntent handed_in) const;
  void run(std::stop_token stop, IntakeStore& store, Pulse& pulse);
  std::vector<QueueEntry> take_group(std::stop_token stop, std::vector<QueueEntry>& too_late);
  bool is_to_help(std::unique_lock<std::mutex>& lock, std::stop_token stop);
  void carry_in(std::stop_token stop, IntakeStore& store, RouteCache& routes, std::vector<QueueEntry> group, Pulse& pulse);
  Result<void> find_routes(IntakeStore& store, RouteCache& routes, std::vector<QueueEntry>& group);
  Result<void> submit_shard(IntakeStore& store, Shard shard, std::vector<QueueEntry> group);
  Result<void> submit_one_by_one(IntakeStore& store, Shard shard, std::vector<QueueEntry> group);
  void refuse(const QueueEntry& waiting, const Error& error);  // the database cannot store it, now or at all
  static void refuse(std::vector<QueueEntry> too_late);
  void put_back(std::vector<QueueEntry> group);

  const Clock& clock_;
  const IntakeSettings settings_;
  const Next next_;
  Log& log_;
  StoreHealth health_;
  std::vector<std::unique_ptr<IntakeStore>> stores_;
  std::deque<Pulse> pulses_;  // one for each store
  std::mutex mutex_;          // for all below
  std::condition_variable_any changed_;
  std::condition_variable_any crowded_;  // more are waiting than one thread should take
  std::deque<QueueEntry> waiting_;
  std::size_t bytes_waiting_ = 0;      // of their payloads
  std::size_t writing_ = 0;            // threads that are writing a group
  std::uint64_t taken_ = 0;            // groups so far
  std::vector<std::jthread> threads_;  // last: they use all above
};

}  // namespace waybill
