// Loads what asking destinations takes.
#include "cli/asking.h"

#include "services/gcs_links.h"
#include "services/secrets.h"
#include "store/pg_stores.h"

namespace waybill {

std::unique_ptr<ProviderOptions> begin_asking(const GlobalOptions& options, std::shared_ptr<const StandIn> stand_in) {
  auto config = configuration(options);
  if (!config) return nullptr;
  auto contents = load_installation(*config, MissingPluginPolicy::tolerate);
  return make_asking(std::move(*config), std::move(contents), std::move(stand_in));
}

void follow_database(ProviderOptions& asking, const DatabaseAddress& database) {
  if (const auto time = read_time(database)) asking.clock.follow(*time, asking.clock.now());
}

std::unique_ptr<ProviderOptions> make_asking(Config config, LoadedInstallation contents,
                                             std::shared_ptr<const StandIn> stand_in) {
  auto asking = std::make_unique<ProviderOptions>();
  asking->config = std::move(config);
  asking->contents = std::move(contents);
  auto secrets = Secrets::resolve(asking->config.secrets, asking->config.file.string());
  if (!asking->contents.problems.empty() || !secrets) {
    print(asking->contents.problems.empty() && !secrets ? secrets.error() : asking->contents.problems);
    return nullptr;
  }
  auto links = make_links(asking->config.link_key, *secrets, asking->clock);
  if (!links) {
    failed("links.key: " + links.error().what);
    return nullptr;
  }
  const auto registry = std::make_shared<const Registry>(*asking->contents.registry);
  const TextServices texts{.templates = [registry] { return templates_of(registry); }, .links = std::move(*links)};
  asking->factory = std::make_unique<PluginSenderFactory>(
      *asking->contents.catalogue, asking->config, std::make_shared<const LiveSecrets>(std::move(*secrets)), texts, asking->clock,
      asking->log, asking->metrics, nullptr,
      [transports = *asking->contents.transports](const Contract& contract) { return transports.of(contract); },
      [transports = *asking->contents.transports](const std::string& client) { return transports.of_oauth2(client); },
      std::move(stand_in));
  asking->destination_queries = std::make_unique<DestinationQueries>(*asking->factory, asking->config.timeouts.attempt);
  return asking;
}

}  // namespace waybill
