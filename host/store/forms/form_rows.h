// What follows from settlements of intents and forms alike (audit, dead letters, alerts), and how submissions of forms move on.
// Parts of transactions: call each inside a transaction, so that it sees everything committed
// before the submission's row was locked.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/form_pipeline.h"
#include "store/pg/pg.h"
#include "store/queue/settle_store.h"

namespace waybill {

// A delivery that the present transaction has settled.
struct SettlementRow {
  const Settlement* settlement;
  SubmissionId submission;
  bool is_handled = false;  // a transition of its pipeline handles its failure: it becomes no dead letter
};

// Writes the audit of ended actions and the dead letters with their alerts, and advances the submissions of forms. Returns the
// final states of those that ended.
Result<std::vector<std::string>> follow_up(Connection& connection, Shard shard, std::span<const SettlementRow> rows);

// Opens the next action of each processing submission, or ends it. Returns how many moved, and the final states of those that
// ended.
struct FormAdvance {
  std::size_t moved = 0;
  std::vector<std::string> ended;
};
Result<FormAdvance> advance_forms(Connection& connection, Shard shard, const std::vector<SubmissionId>& submissions);

// Starts a ready submission, or ends one with an infected attachment. The caller holds its row lock; its state is `received`.
Result<std::string> begin_if_ready(Connection& connection, SubmissionId submission, const std::string& actor);

Result<void> raise(Connection& connection, OrgId org, const FormAlert& alert);

// Removes the unclaimed deliveries of a submission from the queue; true if no host holds any.
Result<bool> cancel_open(Connection& connection, SubmissionId submission);

}  // namespace waybill
