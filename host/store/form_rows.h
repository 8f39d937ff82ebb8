// Parts of transactions that move submissions of forms; each is called inside one, so that it sees what was committed before the
// submission's row was locked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/pg.h"
#include "store/settle_store.h"

namespace waybill {

// What was settled of one delivery, in a transaction that has settled it.
struct SettlementRow {
  const Settlement* settlement;
  SubmissionId submission;
};

// Audit of the forms' actions that ended, dead letters with their alerts, and what the submissions of forms do next. The last
// states of those that ended.
Result<std::vector<std::string>> follow_up(Connection& connection, Shard shard, std::span<const SettlementRow> rows);

// Opens the next action of each submission in processing, or ends it. How many moved, and the last states of those that ended.
struct FormAdvance {
  std::size_t moved = 0;
  std::vector<std::string> ended;
};
Result<FormAdvance> advance(Connection& connection, Shard shard, const std::vector<SubmissionId>& submissions);

// Begins a submission that is ready, or ends one with an infected attachment. The caller has locked its row, in state `received`.
Result<std::string> begin_if_ready(Connection& connection, SubmissionId submission, const std::string& actor);

// Takes the unfinished deliveries of a submission out of the queue that no host holds; true when none is held.
Result<bool> cancel_open(Connection& connection, SubmissionId submission);

}  // namespace waybill
