// Organisations with channels, and notifications that wait for them, as the fan-out of events leaves them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/host.h"
#include "support/sql_client.h"
#include "vault/vault.h"

namespace waybill::bench {

// Which notifications: `count` of them, one for each `stride`th channel of a group in turn.
struct Due {
  std::string group;
  std::size_t count = 0, stride = 1;
  std::chrono::milliseconds lead{};  // until the first is due
  std::chrono::microseconds gap{};   // between the due times of one and the next
};

// What knows the schema of channels is here. One thread at a time.
class Tenants {
 public:
  // `host` serves channels. It makes the first one, whose contract all others have.
  Tenants(const std::string& database_url, const Host& host);

  // Adds organisations with `each` channels, all bound to the one rule that each organisation has. Secrets are sealed as the
  // host seals them. `port_of` is the port that a channel calls, by its number in the group.
  void add(const std::string& group, std::size_t organisations, std::size_t each,
           const std::function<std::uint16_t(std::size_t)>& port_of);
  // Adds notifications; an event is shared by the channels of its organisation that come one after the other. Answers a number
  // for them.
  int notify(const Due& due, std::size_t body_bytes);

  std::uint64_t waiting(int batch);  // of these, those that have not ended
  // Of each of these: ms from its due time to the answer of the attempt that was accepted.
  std::vector<double> waits(int batch);
  // Throws unless every notification that has ended was accepted at its first attempt, on record once, and `expected` of them
  // have.
  void check_each_once(std::uint64_t expected);

 private:
  void seal(std::int64_t org, std::size_t first, std::size_t each, const std::function<std::uint16_t(std::size_t)>& port_of);

  testing::SqlClient sql_;
  const Vault vault_;
  std::string first_;            // the id of the first channel
  std::string keys_, channels_;  // VALUES that are still to be stored
  int batches_ = 0;
};

}  // namespace waybill::bench
