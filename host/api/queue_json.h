// How long the queue is and when it will be empty, as the wire and the command line show it.
#pragma once

#include "base/json_writer.h"
#include "store/operations/backlog_store.h"

namespace waybill {

inline constexpr std::size_t kMaxQueueTargets = 100;  // shown

// Of all targets together: the last of them decides, and one that never empties has the rest wait for nothing.
Backlog whole_of(const QueueStanding& standing);
EmptyQueue empty_queue(const QueueStanding& standing);

Json queue_json(const QueueStanding& standing);

}  // namespace waybill
