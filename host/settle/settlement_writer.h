// Writes settlements, and as much as can be written of one that the database refuses.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"
#include "store/queue/settle_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

// Rows are written all at once, else each on its own. Of a settlement that is refused even then, its submission stays where it
// is, if it is of a stage; then the texts of plugin and destination go. What is refused to the last stays claimed until its lease
// ends. One thread at a time.
class SettlementWriter {
 public:
  SettlementWriter(SettleStore& store, Log& log, Metrics& metrics) : store_(store), log_(log), metrics_(metrics) {}

  // For the log.
  struct About {
    std::string submission;  // as its client calls it
    std::string detail;      // what the plugin said
  };
  // Told of rows by their places in what is to be written. All of them are told of, in order, unless the database gives no
  // answer.
  struct Listener {
    // One statement for so many rows from `first` on. `result`: which of them still had their token.
    std::function<void(std::size_t first, std::size_t count, const SettleResult& result)> written;
    std::function<void(std::size_t at)> refused;
    std::function<About(std::size_t at)> about;
  };
  // Counts what ended and moved in the metrics. `batch` becomes what was written; what became no dead letter is none. Returns an
  // error other than Error::bug, or nothing once all are told of.
  Result<void> settle(Shard shard, std::span<Settlement> batch, const Listener& listener);
  Result<void> save_artifacts(Shard shard, std::span<const ComposeRow> batch, const Listener& listener);

 private:
  Result<SettleResult> settle_once(Shard shard, std::span<Settlement> batch);
  Result<SettleResult> settle_less(Shard shard, Settlement& refused, Error why, const About& about);

  SettleStore& store_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace waybill
