// The HTTP/1.1 server: limits, timeouts, routing, authentication, keep-alive, TLS. Boost.Beast stays inside server*.cpp, OpenSSL
// inside tls.cpp.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/owned_descriptor.h"
#include "base/pulse.h"
#include "config/config.h"
#include "http/http.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill::http {

class Server {
 public:
  // Listens at once; requests are answered after start(). `authenticate` is null when auth is none: everybody is an owner of
  // the default organisation. `inherited`: a socket that listens already on what the configuration says, and stays open elsewhere
  // when this server stops.
  static Result<std::unique_ptr<Server>> listen(const Config& config, std::vector<Route> routes, Authenticate authenticate,
                                                Log& log, Metrics& metrics, OwnedDescriptor inherited = {});
  virtual ~Server() = default;
  virtual std::uint16_t port() const = 0;
  virtual void start() = 0;
  // Reads certificate and key again if their files have changed; for connections that begin from now on. True if they did.
  // Without TLS nothing.
  virtual Result<bool> renew_tls() = 0;
  virtual std::optional<std::time_t> certificate_expires() const = 0;  // none: it speaks no TLS
  // No new connections; idle ones are closed, requests under way are answered (with "Connection: close") or given up after
  // `grace`. A connection that was accepted and has sent nothing yet has a moment to do so. Returns when all is over.
  virtual void stop(Millis grace) = 0;
  // Of its event loops. Valid as long as the server.
  virtual std::vector<const Pulse*> pulses() const = 0;
};

}  // namespace waybill::http
