// The registry that is in force, and loading the one on disk in its place.
#pragma once

#include <mutex>

#include "api/admin_routes.h"
#include "app/installation.h"
#include "registry/registry.h"
#include "services/secrets.h"
#include "services/transports.h"
#include "store/form_store.h"

namespace waybill {

// Safe from any thread.
class RegistryLoader {
 public:
  RegistryLoader(const Config& config, const Catalogue& catalogue, Registry registry, Transports transports, Secrets secrets,
                 Log& log)
      : config_(config),
        catalogue_(catalogue),
        live_(std::move(registry)),
        transports_(std::move(transports)),
        secrets_(std::make_shared<LiveSecrets>(std::move(secrets))),
        log_(log) {}

  LiveRegistry& live() { return live_; }
  std::shared_ptr<const Registry> current() const { return live_.current(); }
  std::shared_ptr<const Transport> transport_of(const Contract& contract) const { return transports_.current()->of(contract); }
  std::shared_ptr<const Transport> oauth2_transport(const std::string& client) const {
    return transports_.current()->of_oauth2(client);
  }
  std::shared_ptr<const LiveSecrets> secrets() const { return secrets_; }
  // Puts the registry on disk in force once its forms are stored, and with it all secrets as their variables and files are
  // now, and the certificates that it and `senders` name. With problems, or an error of the store, the old ones stay.
  ReloadResult reload(FormStore& store, const LoadActor& actor);

  std::vector<std::string> action_types() const;  // that its targets and forms name
  std::optional<Contract> alert_target() const;

 private:
  const Config& config_;
  const Catalogue& catalogue_;
  LiveRegistry live_;
  LiveTransports transports_;
  const std::shared_ptr<LiveSecrets> secrets_;
  Log& log_;
  std::mutex reloading_;
};

}  // namespace waybill
