// Settling as a part of a transaction, with all that follows from it.
#pragma once

#include <span>

#include "store/pg/pg.h"
#include "store/pipelines/pipeline_rows.h"
#include "store/queue/settle_store.h"

namespace waybill {

// As SettleStore::settle(): dead letters and the submissions of forms and pipelines are written in the same transaction.
Result<SettleResult> settle_in(Connection& connection, PipelineRows& pipelines, Shard shard, std::span<const Settlement> batch);

}  // namespace waybill
