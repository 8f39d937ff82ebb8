// Which transport the connections of a delivery have: its target's, else its sender's. And the ones that are in use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "domain/contract.h"
#include "services/transport.h"

namespace waybill {

// [any thread] Null: the defaults.
using TransportSource = std::function<std::shared_ptr<const Transport>(const Contract&)>;

class Transports {
 public:
  Transports() = default;
  // `senders`: by action type; problems with them name `config_file`.
  static tl::expected<Transports, Problems> load(const std::map<std::string, TransportRules>& senders,
                                                 const std::string& config_file, const TargetTransports& targets,
                                                 const Secrets& secrets, Problems& remarks);

  // By the names of target and action type, as they are in force now: a snapshot of a contract has none of this. A channel has
  // the defaults, whatever its organisation calls it.
  std::shared_ptr<const Transport> of(const Contract& contract) const;

 private:
  using ByName = std::map<std::string, std::shared_ptr<const Transport>, std::less<>>;
  ByName targets_, senders_;
};

// Safe from any thread.
class LiveTransports {
 public:
  explicit LiveTransports(Transports first) : current_(std::make_shared<const Transports>(std::move(first))) {}
  std::shared_ptr<const Transports> current() const;
  void swap_in(Transports next);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Transports> current_;  // guarded by mutex_
};

}  // namespace waybill
