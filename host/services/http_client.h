// Asynchronous HTTP for plugins: kept connections, a limit per host name, nothing that blocks. libcurl is behind this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "services/event_loop.h"
#include "services/http_message.h"

namespace waybill {

struct StandIn;

struct HttpClientSettings {
  std::size_t per_host_name = 128;      // open requests to one host and port; more wait in order
  std::size_t kept_connections = 2048;  // idle ones included; beyond it only what a burst to one host has opened
  std::string user_agent = "waybill";
  std::shared_ptr<const EgressPolicy> egress = std::make_shared<const EgressPolicy>();
  HostLookup::Resolver resolver = &look_up_host;  // of tenants' destinations
  std::shared_ptr<const StandIn> stand_in{};      // null: requests go out
  Millis max_retry_after{24LL * 3600 * 1000};     // the most that a destination's header may ask for
};

// Belongs to the thread of its loop.
class HttpClient {
 public:
  using Done = std::function<void(std::uint64_t id, HttpResponse)>;

  HttpClient(EventLoop& loop, const Clock& clock, std::shared_ptr<const LiveSecrets> secrets, HttpClientSettings settings);
  ~HttpClient();  // requests still open are dropped without a word

  // `done` is called exactly once, from the loop, never before fetch returns. The id is for cancel; never 0, never reused.
  std::uint64_t fetch(HttpRequest request, Done done);
  // Its `done` comes with NetError::cancelled. Unknown ids are ignored.
  void cancel(std::uint64_t id);
  std::size_t open() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace waybill
