// What becomes of deliveries whose channel is disabled: they wait for it.
#pragma once

#include <vector>

#include "domain/job.h"

namespace waybill {

// Makes unattempted what was not sent because its channel is disabled: nothing counts, and it waits. Enabling the channel makes
// it due. If that was missed, it is looked at again: after as long as it has waited, but at least a minute and at most an hour.
// At the age `kept` (0: never) it ends as rejected, and so does a test event, which has one attempt.
void keep_for_channels(std::vector<Finished>& batch, Millis kept);

}  // namespace waybill
