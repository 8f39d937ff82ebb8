// Walks what is old enough, a batch at a time.
#include "maintenance/archive_task.h"

#include <memory>

namespace waybill {
namespace {

constexpr std::size_t kBatch = 100;
constexpr std::size_t kDeletedAtOnce = 500;
constexpr auto kWalkEvery = std::chrono::minutes(10);

// Through one shard, of those that ended or of those that wait for a replay.
struct Walk {
  Shard shard;
  ArchiveStore::Why why;
  Millis age;
  ArchiveStore::Place at{};
  std::chrono::steady_clock::time_point next{};
};

class Archiver {
 public:
  Archiver(ArchiveStore& store, int shards, const ArchiveSettings& settings, Log& log)
      : store_(store), settings_(settings), log_(log) {
    for (int shard = 0; shard < shards; ++shard)
      for (const auto& [why, age] :
           {std::pair{ArchiveStore::Why::ended, settings.ages.ended}, {ArchiveStore::Why::blocked, settings.ages.blocked}})
        if (age > Millis{0}) walks_.push_back({.shard = static_cast<Shard>(shard), .why = why, .age = age});
  }

  Result<void> run() {
    std::uint64_t moved = 0, deleted = 0;
    for (auto& walk : walks_) {
      if (std::chrono::steady_clock::now() < walk.next) continue;
      const auto done = step(walk);
      TRY(done);
      moved += *done;
    }
    if (settings_.delete_after > Millis{0}) {
      const auto gone = store_.delete_archived(settings_.delete_after, kDeletedAtOnce);
      TRY(gone);
      deleted = *gone;
    }
    if (moved + deleted > 0) log_.info("archive.moved", {{"archived", moved}, {"deleted", deleted}});
    return {};
  }

 private:
  Result<std::uint64_t> step(Walk& walk) {
    const auto found = store_.archivable(walk.shard, walk.why, walk.age, walk.at, kBatch);
    TRY(found);
    std::vector<SubmissionId> ids;
    for (const auto& place : *found) ids.push_back(place.id);
    std::uint64_t moved = 0;
    if (!ids.empty()) {
      auto done = store_.archive(walk.shard, ids, settings_.ages);
      if (!done && done.error().kind != Error::Kind::unavailable) done = one_by_one(walk.shard, ids);
      TRY(done);
      moved = *done;
      walk.at = found->back();
    }
    if (found->size() < kBatch) {
      walk.at = {};
      walk.next = std::chrono::steady_clock::now() + kWalkEvery;
    }
    return moved;
  }

  // One that the database refuses holds up no other.
  Result<std::uint64_t> one_by_one(Shard shard, const std::vector<SubmissionId>& ids) {
    std::uint64_t moved = 0;
    for (const auto id : ids) {
      const auto done = store_.archive(shard, {&id, 1}, settings_.ages);
      if (done) {
        moved += *done;
        continue;
      }
      if (done.error().kind == Error::Kind::unavailable) return done;
      log_.error("archive.not_moved", {{"submission", id.value},
                                       {"error", done.error().what},
                                       {"remedy", "it is tried again later; it stays where it is until then"}});
    }
    return moved;
  }

  ArchiveStore& store_;
  const ArchiveSettings settings_;
  Log& log_;
  std::vector<Walk> walks_;
};

}  // namespace

PeriodicTask archive_task(ArchiveStore& store, int shards, const ArchiveSettings& settings, Log& log) {
  const auto archiver = std::make_shared<Archiver>(store, shards, settings, log);
  return {.name = "archive", .every = Seconds{1}, .run = [archiver] { return archiver->run(); }};
}

}  // namespace waybill
