// Which transport the connections of a delivery have.
#include "services/transports.h"

#include <iterator>

#include "services/secrets.h"

namespace waybill {

tl::expected<Transports, Problems> Transports::load(const std::map<std::string, TransportRules>& senders,
                                                    const std::map<std::string, OAuth2Client>& oauth2,
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
  for (const auto& [name, client] : oauth2)
    if (client.transport != TransportRules{})
      read(out.oauth2_, name, client.transport, {config_file, client.line, "oauth2." + name, ""});
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

std::shared_ptr<const Transport> Transports::of_oauth2(std::string_view client) const {
  const auto found = oauth2_.find(client);
  return found == oauth2_.end() ? nullptr : found->second;
}

}  // namespace waybill
