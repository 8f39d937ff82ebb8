// The lanes of one action type: made when first needed, given up when they hang, switched off when too many did.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "execute/lane.h"

namespace waybill {

// Safe from any thread; look(), cancel_all(), decide_all() and join() belong to one at a time.
class LaneGroup {
 public:
  LaneGroup(std::string action_type, SenderFactory& factory, LaneLimits limits, std::size_t most_abandoned,
            std::shared_ptr<Outlet> outlet, Log& log);

  enum class State { ready, missing, stuck };
  State state();  // makes missing lanes
  std::size_t concurrency() const { return lane_count_ * calls_per_lane_; }

  // Hands each job to the lane with the fewest open calls. False, and nothing taken, when the action type cannot run.
  bool start(std::vector<Lane::Start>& batch);

  Clock::Monotonic look();
  void cancel_all();
  void withdraw_all();
  void decide_all(std::string_view reason);
  // Ends all lanes, and what is still open in them; true when no thread is left inside the plugin. Lanes that hang are leaked.
  bool join(Millis within);

 private:
  using Lanes = std::vector<std::shared_ptr<Lane>>;
  State fill();  // with mutex_ held
  void abandon(const std::shared_ptr<Lane>& lane);
  Lanes lanes() const;

  const std::string action_type_;
  SenderFactory& factory_;
  const LaneLimits limits_;
  const std::size_t most_abandoned_;
  const std::shared_ptr<Outlet> outlet_;
  Log& log_;
  const std::size_t lane_count_;
  const std::size_t calls_per_lane_;
  mutable std::mutex mutex_;
  Lanes lanes_;                          // guarded by mutex_
  Lanes abandoned_;                      // guarded by mutex_
  bool closed_ = false;                  // guarded by mutex_
  std::size_t next_ = 0;                 // guarded by mutex_
  Clock::Monotonic not_again_before_{};  // guarded by mutex_; after a refused create
};

}  // namespace waybill
