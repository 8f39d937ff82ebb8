// The state of the queue by action type, on PostgreSQL.
#include "store/operations/monitor_store.h"

#include <algorithm>
#include <cmath>

#include "store/operations/maintenance.sql.h"
#include "store/operations/monitor.sql.h"
#include "store/pg/sampling.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr std::size_t kLeastEnds = 100;

class PgMonitorStore final : public MonitorStore {
 public:
  PgMonitorStore(const DatabaseAddress& address, int shards) : link_(address, "monitor"), shards_(shards) {}

  Result<TypeStates> types() override {
    const auto pages = link_.read(sql::queue_pages);
    TRY(pages);
    const auto size = static_cast<double>(pages->number(0, 0));
    TypeStates states{.by_type = {}, .estimated = size > kMaxPagesCounted};
    const double times = states.estimated ? size / kPagesSampled : 1;
    const auto counts = states.estimated ? link_.read(sql::types_of_sample, {std::to_string(100.0 * kPagesSampled / size)})
                                         : link_.read(sql::types_of_queue);
    TRY(counts);
    for (std::size_t row = 0; row < counts->size(); ++row)
      states.by_type[text_of(*counts, row, 0)].by_status[text_of(*counts, row, 1)] =
          static_cast<std::uint64_t>(std::llround(static_cast<double>(counts->number(row, 2)) * times));
    const auto oldest = link_.read(sql::oldest_by_type);
    TRY(oldest);
    for (std::size_t row = 0; row < oldest->size(); ++row)
      states.by_type[text_of(*oldest, row, 0)].oldest_due = Micros{oldest->number(row, 1)};
    const auto each = std::max(kMaxEndsCounted / static_cast<std::size_t>(shards_), kLeastEnds);
    const auto ends =
        link_.read(sql::newest_ends, {std::to_string(shards_), std::to_string(each), std::to_string(kEndsCounted.count())});
    TRY(ends);
    for (std::size_t row = 0; row < ends->size(); ++row) {
      auto& state = states.by_type[text_of(*ends, row, 0)];
      state.ended = static_cast<std::uint64_t>(ends->number(row, 1));
      state.failed = static_cast<std::uint64_t>(ends->number(row, 2));
    }
    return states;
  }

  Result<Standing> standing() override {
    const Parameters most{std::to_string(kMaxStandingCounted)};
    Standing standing;
    const auto dead = link_.read(sql::waiting_dead_letters, most);
    TRY(dead);
    standing.dead_letters = count_of(*dead, 0);
    const auto cooling = link_.read(sql::cooling_targets);
    TRY(cooling);
    standing.cooling_targets = count_of(*cooling, 0);
    const auto pipelines = link_.read(sql::unfinished_of_pipelines, most);
    TRY(pipelines);
    for (std::size_t row = 0; row < pipelines->size(); ++row)
      standing.unfinished[{text_of(*pipelines, row, 0), text_of(*pipelines, row, 1)}] =
          static_cast<std::uint64_t>(pipelines->number(row, 2));
    const auto processing = link_.read(sql::processing_forms, most);
    TRY(processing);
    standing.unfinished[{"form", "processing"}] = count_of(*processing, 0);
    const auto pages = link_.read(sql::queue_pages);
    TRY(pages);
    const auto size = static_cast<double>(pages->number(0, 0));
    const bool is_sample = size > kPagesSampled;
    const auto queue = is_sample ? link_.read(sql::unfinished_of_sample, {std::to_string(100.0 * kPagesSampled / size)})
                                 : link_.read(sql::unfinished_of_queue);
    TRY(queue);
    const double times = is_sample ? size / kPagesSampled : 1;
    const auto scaled = [&](int column) {
      return static_cast<std::uint64_t>(std::llround(static_cast<double>(queue->number(0, column)) * times));
    };
    standing.unfinished[{"intent", "pending"}] = scaled(0);
    standing.unfinished[{"form", "received"}] = scaled(1);
    return standing;
  }

 private:
  static std::uint64_t count_of(const Rows& rows, int column) { return static_cast<std::uint64_t>(rows.number(0, column)); }

  Link link_;
  const int shards_;
};

}  // namespace

std::uint64_t TypeState::depth() const {
  std::uint64_t all = 0;
  for (const auto& [status, count] : by_status) all += count;
  return all;
}

std::unique_ptr<MonitorStore> make_monitor_store(const DatabaseAddress& address, int shards) {
  return std::make_unique<PgMonitorStore>(address, shards);
}

}  // namespace waybill
