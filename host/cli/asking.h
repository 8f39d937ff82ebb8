// What commands need that ask destinations through their plugins.
#pragma once

#include <memory>

#include "app/installation.h"
#include "base/database_clock.h"
#include "senders/destination_queries.h"
#include "senders/sender_factory.h"

namespace waybill {

// Everything that asking needs, from configuration to plugins.
struct ProviderOptions {
  Config config;
  Log log = quiet_log();
  LoadedInstallation contents;
  DatabaseClock clock;  // of signatures
  Metrics metrics;
  std::unique_ptr<PluginSenderFactory> factory;
  std::unique_ptr<DestinationQueries> destination_queries;
};

// Null after printing what is wrong. With a stand-in nothing leaves the machine.
std::unique_ptr<ProviderOptions> make_asking(Config config, LoadedInstallation contents,
                                             std::shared_ptr<const StandIn> stand_in = nullptr);
// From now on its signatures carry the time of this database, if it says it.
void follow_database(ProviderOptions& asking, const DatabaseAddress& database);
// The same from the files.
std::unique_ptr<ProviderOptions> begin_asking(const GlobalOptions& options, std::shared_ptr<const StandIn> stand_in = nullptr);

}  // namespace waybill
