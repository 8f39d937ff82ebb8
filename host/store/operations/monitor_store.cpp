// The state of the queue by action type, on PostgreSQL.
#include "store/operations/monitor_store.h"

#include <algorithm>
#include <cmath>

#include "store/operations/maintenance.sql.h"
#include "store/operations/monitor.sql.h"
#include "store/pg/sampling.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

constexpr std::size_t kLeastEnds = 100;

// The share of a table of so many pages that a sample takes.
std::string percentage_of(double pages) { return std::to_string(100.0 * kPagesSampled / pages); }

std::uint64_t scaled(std::int64_t count, double times) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * times));
}

class PgMonitorStore final : public MonitorStore {
 public:
  PgMonitorStore(const DatabaseAddress& address, int shards) : link_(address, "monitor"), shards_(shards) {}

  Result<TypeStates> types() override {
    const auto pages = link_.read(sql::queue_pages);
    TRY(pages);
    const auto size = static_cast<double>(pages->front().pages());
    TypeStates states{.by_type = {}, .estimated = size > kMaxPagesCounted};
    if (states.estimated)
      TRY(count_types(states, sql::types_of_sample, {percentage_of(size)}, size / kPagesSampled));
    else
      TRY(count_types(states, sql::types_of_queue, {}, 1));
    const auto oldest = link_.read(sql::oldest_by_type);
    TRY(oldest);
    for (const auto row : *oldest) states.by_type[text_or_empty(row.action_type())].oldest_due = Micros{row.waited()};
    const auto each = std::max(kMaxEndsCounted / static_cast<std::size_t>(shards_), kLeastEnds);
    const auto ends =
        link_.read(sql::newest_ends, {std::to_string(shards_), std::to_string(each), std::to_string(kEndsCounted.count())});
    TRY(ends);
    for (const auto row : *ends) {
      auto& state = states.by_type[std::string(row.action_type())];
      state.ended = static_cast<std::uint64_t>(row.ended());
      state.failed = static_cast<std::uint64_t>(row.failed());
    }
    return states;
  }

  Result<Standing> standing() override {
    const Parameters most{std::to_string(kMaxStandingCounted)};
    Standing standing;
    const auto dead = link_.read(sql::waiting_dead_letters, most);
    TRY(dead);
    standing.dead_letters = static_cast<std::uint64_t>(dead->front().count());
    const auto cooling = link_.read(sql::cooling_targets);
    TRY(cooling);
    standing.cooling_targets = static_cast<std::uint64_t>(cooling->front().count());
    const auto paused = link_.read(sql::paused_targets);
    TRY(paused);
    standing.paused_targets = static_cast<std::uint64_t>(paused->front().count());
    const auto pipelines = link_.read(sql::unfinished_of_pipelines, most);
    TRY(pipelines);
    for (const auto row : *pipelines)
      standing.unfinished[{std::string(row.pipeline()), std::string(row.state())}] = static_cast<std::uint64_t>(row.count());
    const auto processing = link_.read(sql::processing_forms, most);
    TRY(processing);
    standing.unfinished[{"form", "processing"}] = static_cast<std::uint64_t>(processing->front().count());
    const auto pages = link_.read(sql::queue_pages);
    TRY(pages);
    const auto size = static_cast<double>(pages->front().pages());
    if (size > kPagesSampled)
      TRY(count_unfinished(standing, sql::unfinished_of_sample, {percentage_of(size)}, size / kPagesSampled));
    else
      TRY(count_unfinished(standing, sql::unfinished_of_queue, {}, 1));
    return standing;
  }

  Result<std::vector<OverdueDeliveries>> overdue(Millis age, std::size_t most) override {
    const auto pages = link_.read(sql::queue_pages);
    TRY(pages);
    const auto size = static_cast<double>(pages->front().pages());
    const bool is_sampled = size > kPagesSampled;
    const auto rows =
        link_.read(sql::overdue, {std::to_string(age.count()), is_sampled ? percentage_of(size) : "100", std::to_string(most)});
    TRY(rows);
    std::vector<OverdueDeliveries> all;
    for (const auto row : *rows)
      all.push_back({std::string(row.organisation()), std::string(row.target()),
                     scaled(row.count(), is_sampled ? size / kPagesSampled : 1)});
    return all;
  }

  Result<std::map<OrgId, std::string>> names_of(const std::vector<OrgId>& orgs) override {
    ArrayText wanted;
    for (const auto org : orgs) wanted.add(org.value);
    const auto rows = link_.read(sql::names_of_organisations, {wanted.take()});
    TRY(rows);
    std::map<OrgId, std::string> names;
    for (const auto row : *rows) names.emplace(OrgId{row.org_id()}, row.name());
    return names;
  }

 private:
  // Each row of a sample stands for `times` rows.
  template <class OneRow>
  Result<void> count_types(TypeStates& states, const Query<OneRow>& query, const Parameters& parameters, double times) {
    const auto counts = link_.read(query, parameters);
    TRY(counts);
    for (const auto row : *counts)
      states.by_type[text_or_empty(row.action_type())].by_status[std::string(row.status())] = scaled(row.count(), times);
    return {};
  }
  template <class OneRow>
  Result<void> count_unfinished(Standing& standing, const Query<OneRow>& query, const Parameters& parameters, double times) {
    const auto counts = link_.read(query, parameters);
    TRY(counts);
    standing.unfinished[{"intent", "pending"}] = scaled(counts->front().intents(), times);
    standing.unfinished[{"form", "received"}] = scaled(counts->front().forms(), times);
    return {};
  }

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
