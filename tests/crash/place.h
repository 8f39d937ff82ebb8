// One of several hosts on one database, killed and started anew in the same place.
#pragma once

#include <atomic>
#include <memory>

#include "support/daemon.h"
#include "support/sql_client.h"

namespace waybill::testing {

struct Place {
  void start(const HostSetup& setup, SqlClient& sql) {
    if (!installation) installation = std::make_unique<Installation>(setup);
    daemon.reset();
    daemon = std::make_unique<Daemon>(*installation);
    host_id = sql.number("SELECT max(host_id) FROM waybill.hosts");
    port = daemon->port();
  }

  std::unique_ptr<Installation> installation;
  std::unique_ptr<Daemon> daemon;
  std::atomic<std::uint16_t> port{0};  // callers on other threads read it
  std::int64_t host_id = 0;
};

}  // namespace waybill::testing
