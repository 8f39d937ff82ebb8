// Settling with what follows: dead letters, submissions of forms and of pipelines.
#include "store/queue/settle_in.h"

#include <map>

#include "store/forms/form_rows.h"
#include "store/queue/settle.sql.h"
#include "store/queue/settle_statement.h"

namespace waybill {

Result<SettleResult> settle_in(Connection& connection, PipelineRows& pipelines, Shard shard, std::span<const Settlement> batch) {
  SettleBatch columns(batch);
  auto rows = connection.run(columns.statement(), columns.take(shard));
  TRY(rows);
  std::map<std::pair<DeliveryId, ClaimToken>, SubmissionId> submission_of;
  for (const auto row : *rows) submission_of[{{row.delivery()}, {row.token()}}] = {row.submission_id()};
  SettleResult settled;
  std::vector<SettlementRow> held;
  for (const auto& settlement : batch) {
    const auto found = submission_of.find({settlement.delivery, settlement.token});
    if (found == submission_of.end()) continue;
    settled.held.push_back(settlement.delivery);
    settled.tokens.push_back(settlement.token);
    held.push_back({&settlement, found->second});
    submission_of.erase(found);
  }
  std::vector<SubmissionId> walking;
  for (const auto& row : held) {
    if (!row.settlement->of_stage || row.settlement->status == Status::due) continue;
    if (row.settlement->halts)
      TRY(pipelines.halt(connection, row.submission));
    else
      walking.push_back(row.submission);
  }
  pipelines.take_moves();  // of a transaction that was taken back
  auto handled = pipelines.advance(connection, shard, walking);
  TRY(handled);
  for (auto& row : held) {
    if (!row.settlement->of_stage || !handled->contains(row.submission)) continue;
    row.is_handled = true;
    settled.handled.push_back(row.settlement->delivery);
  }
  auto ended = follow_up(connection, shard, held);
  TRY(ended);
  settled.form_states = std::move(*ended);
  settled.moves = pipelines.take_moves();
  return settled;
}

}  // namespace waybill
