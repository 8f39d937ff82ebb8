// Work that waits in the database, work that is long done, and the proof that what was done was done once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "support/sql_client.h"

namespace waybill::bench {

// A look into the database of a host; what knows the schema is here. One thread at a time.
class Backlog {
 public:
  explicit Backlog(const std::string& database_url);

  void set_shards(int shards);  // before anything came in, and before a host that shall know of it
  void hold_target();           // nothing is claimed for the target from now on: it cooldowns
  void release_target();        // the host sees it at its next look
  // Adds intents of `body_bytes` each: the rows that the intake would have made, but shared out to the shards in turn. One intent
  // must have ended before.
  void add(std::size_t count, std::size_t body_bytes);
  // More routes like the one that is there, for the targets bench-1, bench-2, ...
  void copy_route(std::size_t count);
  // Adds intents over all of the bench's routes in turn. All become due when `lead` is over.
  void add_for_later(std::size_t count, std::size_t body_bytes, std::chrono::milliseconds lead);
  // Adds intents that were accepted at their first attempt, with all the rows that a host would have left of them.
  void add_finished(std::size_t count, std::size_t body_bytes);
  // Makes all submissions 30 days older, and every other one of them a notification with an event of its own.
  void age();
  std::int64_t newest();  // the largest id of a submission
  std::uint64_t old();    // submissions that are older than a day
  void tidy();            // VACUUM, ANALYZE and a checkpoint: nothing is left for autovacuum to do in the middle of a measurement
  std::uint64_t waiting();  // deliveries that have not ended
  bool empty();             // everything that came in has ended and is on record
  std::uint64_t submissions();
  std::uint64_t accepted();       // deliveries, by their attempts
  std::uint64_t wal_bytes();      // that the server has written since it was made
  std::uint64_t sessions();       // that hosts have open
  std::uint64_t shards_used();    // by deliveries
  std::uint64_t hosts_at_work();  // that have put a delivery's end on record
  // Throws unless everything that has ended was accepted at its first attempt, with one attempt row and one audit row each, and
  // there are `expected` of them. Only of submissions behind `after`.
  void check_each_once(std::uint64_t expected, std::int64_t after = 0);
  void check_all_accepted(std::uint64_t expected);  // the same, at whatever attempt
  std::uint64_t failed_attempts(bool counted);      // on record, that count against their delivery, or do not

 private:
  std::uint64_t next_number();
  void insert_in_chunks(std::size_t count, std::size_t body_bytes, const char* rows);

  testing::SqlClient sql_;
};

}  // namespace waybill::bench
