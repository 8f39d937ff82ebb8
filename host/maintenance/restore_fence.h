// After a restore: ends what may have been sent since the restored moment and must not be sent twice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/time.h"
#include "store/queue/fence_store.h"
#include "store/queue/queue_store.h"
#include "store/queue/settle_store.h"
#include "telemetry/log.h"

namespace waybill {

struct FenceOrder {
  Timestamp restored_to;
  std::string actor;
  int shards = 1;
  bool dry_run = false;
  bool force = false;       // also while hosts live, and where submissions are newer than the restored moment
  std::size_t batch = 500;  // rows of the queue in one transaction
};

struct FenceReport {
  bool is_new = true;                                                       // else it goes on with what an earlier call began
  std::int64_t ended = 0;                                                   // or would be
  std::int64_t noted = 0;                                                   // that may be sent again, and may have been sent
  std::map<std::pair<std::string, std::string>, std::int64_t> by_target{};  // those ended, by organisation and target
};

struct FenceStores {
  FenceStore& fence;
  QueueStore& queue;
  SettleStore& settle;
};

// Every open delivery of policy one_shot that was handed in until the restored moment ends as exhausted, `restored`, as what was
// lost with a worker does: with an attempt that nobody saw, as a dead letter. What may be sent again is noted as maybe sent. It
// may be interrupted and run again. `progress` is told how many have ended. Error::conflict: hosts live, or submissions are
// newer.
Result<FenceReport> fence_restored(const FenceStores& stores, const FenceOrder& order, Log& log,
                                   const std::function<void(std::int64_t ended)>& progress = {});

}  // namespace waybill
