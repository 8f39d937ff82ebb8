// Reads the channels of claimed notifications.
#pragma once

#include <span>

#include "store/pg/pg.h"
#include "store/queue/claim_result.h"

namespace waybill {

// Gives each row of kind kNotificationKind its channel, as the channel is now, and the size of its body.
Result<void> add_channels(Link& link, Shard shard, std::span<ClaimedRow> rows);

}  // namespace waybill
