// Which transport the connections of a delivery have: its target's, else its sender's. And the ones that are in use.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/live.h"
#include "config/config.h"
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
                                                 const std::map<std::string, OAuth2Client>& oauth2,
                                                 const std::string& config_file, const TargetTransports& targets,
                                                 const Secrets& secrets, Problems& remarks);

  // By the names of target and action type, as they are in force now: a snapshot of a contract has none of this. A channel has
  // the defaults, whatever its organisation calls it.
  std::shared_ptr<const Transport> of(const Contract& contract) const;
  std::shared_ptr<const Transport> of_oauth2(std::string_view client) const;  // of connections to its token endpoint

 private:
  using ByName = std::map<std::string, std::shared_ptr<const Transport>, std::less<>>;
  ByName targets_, senders_, oauth2_;
};

using LiveTransports = Live<Transports>;

}  // namespace waybill
