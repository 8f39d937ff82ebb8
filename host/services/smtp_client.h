// Asynchronous SMTP submission for plugins: kept connections, a limit per relay, deadlines, nothing that blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "services/address_guard.h"
#include "services/event_loop.h"
#include "services/secrets.h"
#include "services/smtp_message.h"

namespace waybill {

struct StandIn;

struct SmtpClientSettings {
  std::size_t per_relay = 16;         // open connections to one relay; more messages wait in order
  int messages_per_connection = 100;  // then another is opened
  Millis idle{30'000};                // then a connection is left
  std::shared_ptr<const EgressPolicy> egress = std::make_shared<const EgressPolicy>();
  HostLookup::Resolver resolver = &look_up_host;  // of tenants' relays
  std::shared_ptr<const StandIn> stand_in{};      // null: messages go out
};

// Belongs to the thread of its loop.
class SmtpClient {
 public:
  using Done = std::function<void(std::uint64_t id, SmtpReply)>;

  SmtpClient(EventLoop& loop, const Clock& clock, std::shared_ptr<const LiveSecrets> secrets, SmtpClientSettings settings);
  ~SmtpClient();  // submissions still open are dropped without a word

  // `done` is called exactly once, from the loop, never before submit returns. The id is for cancel; never 0, never reused.
  std::uint64_t submit(SmtpMessage message, Done done);
  // Its `done` comes with NetError::cancelled. Unknown ids are ignored.
  void cancel(std::uint64_t id);
  std::size_t open() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace waybill
