// How much of whose work this host may hold: the limits, what is held now, and fair shares of what is free.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "core/contract.h"
#include "core/id.h"

namespace waybill {

struct RouteFacts {
  OrgId org;
  std::shared_ptr<const Contract> contract;
  std::string host_name;  // of the contract's URL
};

// Safe from any thread.
class Window {
 public:
  // `concurrency` tells how many calls of an action type may be open, 0 if none can run.
  Window(const Limits& limits, std::function<std::size_t(const std::string& action_type)> concurrency);

  struct Demand {
    RouteId route;
    const RouteFacts* facts;
    bool only_expired = false;  // they cannot run, but their contract's time is over and they must end: few, and no limit
  };
  // How many more of each route may be taken now: within every limit that concerns it, one by one to whoever holds least, so that
  // what falls free goes to those who wait, not to those who have much. Routes that get nothing are left out.
  std::vector<std::pair<RouteId, std::size_t>> shares(const std::vector<Demand>& demands, std::size_t most) const;

  struct Wish {
    RouteId route;
    const RouteFacts* facts;
    std::size_t count;
  };
  // Holds all of it, if that is within every limit that concerns it; else nothing.
  bool hold_all(const std::vector<Wish>& wishes);

  bool can_run(const std::string& action_type) const { return concurrency_(action_type) > 0; }
  void hold(RouteId route, const RouteFacts& facts, std::size_t count);
  void let_go(RouteId route, std::size_t count);
  std::size_t held() const;

 private:
  struct Held {
    std::string target_key, host_name, action_type;
    OrgId org;
    std::size_t count = 0;
  };
  using Counts = std::unordered_map<std::string, std::size_t>;

  std::array<std::size_t, 4> limits_of(const RouteFacts& facts) const;
  void hold_locked(RouteId route, const RouteFacts& facts, std::size_t count);
  void let_go_locked(RouteId route, std::size_t count);

  const Limits limits_;
  const std::function<std::size_t(const std::string&)> concurrency_;
  mutable std::mutex mutex_;  // for all below
  std::size_t held_ = 0;
  std::unordered_map<RouteId, Held> routes_;
  Counts targets_, host_names_, action_types_;
  std::unordered_map<OrgId, std::size_t> orgs_;
};

}  // namespace waybill
