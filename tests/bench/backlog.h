// Work that waits in the database, and the proof that it was done once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "support/sql_client.h"

namespace waybill::bench {

// A look into the database of a host. One thread at a time.
class Backlog {
 public:
  explicit Backlog(const std::string& database_url);

  void hold_target();     // nothing is claimed for the target from now on: it rests
  void release_target();  // the host sees it at its next look
  // Adds intents of `body_bytes` each: the rows that the intake would have made. One intent must have come in before.
  void add(std::size_t count, std::size_t body_bytes);
  bool empty();  // everything that came in has ended and is on record
  std::uint64_t submissions();
  // Throws unless everything that has ended was accepted at its first attempt, with one attempt row and one audit row each, and
  // there are `expected` of them.
  void check_each_once(std::uint64_t expected);

 private:
  testing::SqlClient sql_;
  std::uint64_t added_ = 0;
};

}  // namespace waybill::bench
