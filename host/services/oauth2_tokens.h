// The operator's OAuth2 clients, and the tokens that they have now. All senders share them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/secret.h"
#include "config/config.h"
#include "services/transport.h"

namespace waybill {

// Safe from any thread.
class OAuth2Tokens {
 public:
  using TransportOf = std::function<std::shared_ptr<const Transport>(const std::string& client)>;
  // `transport` may be empty: the defaults.
  explicit OAuth2Tokens(std::map<std::string, OAuth2Client> clients, TransportOf transport = {})
      : clients_(clients.begin(), clients.end()), transport_(std::move(transport)) {}

  const OAuth2Client* find(std::string_view client) const;  // null if unknown
  std::shared_ptr<const Transport> transport_of(const std::string& client) const;

  std::optional<std::string> token(std::string_view client, Clock::Monotonic now) const;
  void save(const std::string& client, std::string token, Clock::Monotonic good_until);
  void forget(std::string_view client);                          // its token is not used again
  void forget(std::string_view client, std::string_view token);  // if it is this one

 private:
  struct Entry {
    std::string token;
    Clock::Monotonic good_until;
  };
  const std::map<std::string, OAuth2Client, std::less<>> clients_;
  const TransportOf transport_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> tokens_;  // guarded by mutex_
};

}  // namespace waybill
