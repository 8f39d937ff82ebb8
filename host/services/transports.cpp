// Which transport the connections of a delivery have.
#include "services/transports.h"

#include <iterator>

#include "services/secrets.h"

namespace waybill {

tl::expected<Transports, Problems> Transports::load(const std::map<std::string, TransportRules>& senders,
                                                    const std::string& config_file, const TargetTransports& targets,
                                                    const Secrets& secrets, Problems& remarks) {
  Transports out;
  Problems problems;
  TransportReader reader(secrets, remarks);
  const auto read = [&](ByName& into, const std::string& name, const TransportRules& rules, const Problem& place) {
    auto transport = reader.read(rules, place);
    if (transport)
      into.emplace(name, std::move(*transport));
    else
      std::move(transport.error().begin(), transport.error().end(), std::back_inserter(problems));
  };
  for (const auto& [type, rules] : senders) read(out.senders_, type, rules, {config_file, 0, "senders." + type, ""});
  for (const auto& [name, target] : targets)
    if (target.rules) read(out.targets_, name, *target.rules, target.place);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return out;
}

std::shared_ptr<const Transport> Transports::of(const Contract& contract) const {
  if (contract.is_of_channel()) return nullptr;
  if (!contract.is_of_form())
    if (const auto found = targets_.find(contract.target); found != targets_.end()) return found->second;
  const auto found = senders_.find(contract.action_type);
  return found == senders_.end() ? nullptr : found->second;
}

std::shared_ptr<const Transports> LiveTransports::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void LiveTransports::swap_in(Transports next) {
  auto fresh = std::make_shared<const Transports>(std::move(next));
  const std::lock_guard lock(mutex_);
  current_.swap(fresh);
}

}  // namespace waybill
