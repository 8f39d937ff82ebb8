// Submissions on their way in: concurrent requests are grouped, and each is answered after its group's commit.
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
#include "domain/contract.h"
#include "domain/job.h"
#include "store/intake_store.h"
#include "store/queue_store.h"
#include "telemetry/log.h"

namespace waybill {

struct IntakeSettings {
  int shards = 1;
  std::size_t most_in_group = 500;
  std::size_t most_bytes_in_group = 16 << 20;  // of payloads; one that has more is a group of its own
  std::size_t most_waiting = 20'000;           // beyond it a submission is refused at once,
  std::size_t most_bytes_waiting = 64 << 20;   // and beyond this of payloads, whatever their number
  Millis patience{5'000};                      // how long a submission may wait, for a database that is away or for its turn
};

// An intent as it was handed in, with the contract that its target has at this moment.
struct NewIntent {
  OrgId org;
  std::string intent_id;
  std::shared_ptr<const Contract> contract;
  std::string payload;  // the bytes of the JSON value, empty if there was none
};

// Safe from any thread.
class Intake {
 public:
  // Exactly one answer, from a thread of the intake. Error::unavailable: nothing is acknowledged, though it may be stored;
  // the same submission handed in again finds out.
  using Answer = std::function<void(Result<SubmitResult>)>;

  // Who goes on with what is stored. Called from threads of the intake.
  struct Next {
    // A claim for what is about to be stored, so that it is claimed in the same commit; or none. Followed by `claimed` or `lost`.
    std::function<std::optional<InsertClaim>(Shard shard, const std::vector<InsertGroup>& all)> claim;
    // With the same newcomers: after the commit; the commit was not seen, it may have taken place.
    std::function<void(Shard shard, const InsertClaim& claim, std::vector<InsertGroup> all, ClaimResult rows)> claimed;
    std::function<void(Shard shard, const InsertClaim& claim, const std::vector<InsertGroup>& all)> lost;
    // After each commit that stored something unclaimed, with what it was stored for.
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
  // The same for each of many, handed over at once.
  void submit(std::vector<PendingIntent> batch);

 private:
  struct Waiting {
    NewSubmission item;
    std::shared_ptr<const Contract> contract;
    Answer answer;
    Clock::Monotonic since;
  };
  // Which route a contract of the registry is. It keeps no contract, and so no registry, alive: entries of those that are gone
  // are dropped as others come.
  class RouteCache {
   public:
    std::optional<RouteId> find(OrgId org, const std::shared_ptr<const Contract>& contract) const;
    void add(OrgId org, const std::shared_ptr<const Contract>& contract, RouteId route);

   private:
    struct Entry {
      std::weak_ptr<const Contract> contract;  // expired: its address may be another contract's by now
      RouteId route;
    };
    std::map<std::pair<OrgId, const Contract*>, Entry> entries_;
    std::size_t prune_at_ = 1000;
  };

  Waiting waiting_for(PendingIntent handed_in) const;
  void run(std::stop_token stop, IntakeStore& store);
  std::vector<Waiting> take_group(std::stop_token stop, std::vector<Waiting>& too_late);
  bool is_to_help(std::unique_lock<std::mutex>& lock, std::stop_token stop);
  void carry_in(std::stop_token stop, IntakeStore& store, RouteCache& routes, std::vector<Waiting> group);
  Result<void> find_routes(IntakeStore& store, RouteCache& routes, std::vector<Waiting>& group);
  Result<void> submit_shard(IntakeStore& store, Shard shard, std::vector<Waiting> group);
  Result<void> submit_one_by_one(IntakeStore& store, Shard shard, std::vector<Waiting> group);
  void refuse(const Waiting& waiting, const Error& error);  // the database cannot store it, now or ever
  static void refuse(std::vector<Waiting> too_late);
  void put_back(std::vector<Waiting> group);

  const Clock& clock_;
  const IntakeSettings settings_;
  const Next next_;
  Log& log_;
  std::vector<std::unique_ptr<IntakeStore>> stores_;
  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  std::condition_variable_any crowded_;  // more wait than one thread should take
  std::deque<Waiting> waiting_;
  std::size_t bytes_waiting_ = 0;      // of their payloads
  std::size_t writing_ = 0;            // threads that have a group in their hands
  std::uint64_t taken_ = 0;            // groups so far
  std::vector<std::jthread> threads_;  // last: they use all above
};

}  // namespace waybill
