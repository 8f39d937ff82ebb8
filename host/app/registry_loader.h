// The registry that is in force, and loading the one on disk in its place.
#pragma once

#include <mutex>

#include "api/admin_routes.h"
#include "app/installation.h"
#include "app/sender_renewal.h"
#include "limits/places.h"
#include "registry/registry.h"
#include "services/secrets.h"
#include "services/transports.h"
#include "store/forms/form_store.h"

namespace waybill {

// Safe from any thread.
class RegistryLoader {
 public:
  RegistryLoader(const Config& config, const LoadedInstallation& installation, Registry registry, Secrets secrets, Log& log)
      : config_(config),
        live_(std::move(registry)),
        transports_(Transports(*installation.transports)),
        secrets_(std::make_shared<LiveSecrets>(std::move(secrets))),
        log_(log),
        report_{.digest = installation.registry_digest, .request = 0, .verdict = "loaded", .remarks = {}} {}

  LiveRegistry& live() { return live_; }
  std::shared_ptr<const Registry> current() const { return live_.current(); }
  std::shared_ptr<const Transport> transport_of(const Contract& contract) const { return transports_.current()->of(contract); }
  std::shared_ptr<const Transport> oauth2_transport(const std::string& client) const {
    return transports_.current()->of_oauth2(client);
  }
  std::shared_ptr<const LiveSecrets> secrets() const { return secrets_; }
  // Puts the registry on disk in force once its forms are stored, and with it all secrets as their variables and files are
  // now, and the certificates that it and `senders` name. With problems, or an error of the store, the old ones stay. Takes and
  // refuses what a start does. `request`: the ReloadRequest that it answers, 0 for none.
  // With it come new versions of plugins in processes, and new settings of their senders.
  ReloadResult reload(FormStore& store, LoadActor actor, SenderRenewal& senders, std::int64_t request = 0);
  RegistryReport report() const;  // as it is now

  std::vector<std::string> action_types() const;  // that its targets and forms name
  std::optional<Contract> alert_target() const;
  TargetRates rates() const;

 private:
  ReloadResult load(FormStore& store, LoadActor actor, SenderRenewal& senders);
  ReloadResult refused(Problems problems, const Problems& warnings);

  const Config& config_;
  LiveRegistry live_;
  LiveTransports transports_;
  const std::shared_ptr<LiveSecrets> secrets_;
  Log& log_;
  std::mutex reloading_;
  mutable std::mutex reporting_;
  RegistryReport report_;  // guarded by reporting_
};

}  // namespace waybill
