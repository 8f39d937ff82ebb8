// Storing submissions on a connection, within its transaction.
#pragma once

#include <span>
#include <vector>

#include "store/intake/intake_store.h"
#include "store/pg/pg.h"

namespace waybill {

// As IntakeStore::submit(), without a claim.
Result<std::vector<SubmitResult>> submit_on(Connection& connection, Shard shard, std::span<const NewSubmission> items);

}  // namespace waybill
