// The archive on PostgreSQL.
#include "store/operations/archive_store.h"

#include "store/operations/archive.sql.h"
#include "store/pg_stores.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

std::optional<std::string> age_of(Millis age) {
  return age == Millis{0} ? std::nullopt : std::optional(std::to_string(age.count()));
}

class PgArchiveStore final : public ArchiveStore {
 public:
  explicit PgArchiveStore(const DatabaseAddress& address) : link_(address, "archive") {}

  Result<std::vector<Place>> archivable(Shard shard, Why why, Millis age, const Place& after, std::size_t most) override {
    const auto rows = link_.read(why == Why::ended ? sql::archivable_ended : sql::archivable_blocked,
                                 {std::to_string(shard), std::to_string(age.count()), std::to_string(after.since.micros),
                                  std::to_string(after.id.value), std::to_string(most)});
    TRY(rows);
    std::vector<Place> all;
    for (std::size_t row = 0; row < rows->size(); ++row) all.push_back({{rows->number(row, 0)}, rows->time(row, 1)});
    return all;
  }

  Result<std::uint64_t> archive(Shard shard, std::span<const SubmissionId> ids, const ArchiveAges& ages) override {
    ArrayText all;
    for (const auto id : ids) all.add(id.value);
    const auto moved =
        link_.run(sql::archive_submissions, {std::to_string(shard), all.take(), age_of(ages.ended), age_of(ages.blocked)});
    TRY(moved);
    return static_cast<std::uint64_t>(moved->number(0, 0));
  }

  Result<std::uint64_t> delete_archived(Millis age, std::size_t most) override {
    const auto gone = link_.run(sql::delete_archived, {std::to_string(age.count()), std::to_string(most)});
    TRY(gone);
    return static_cast<std::uint64_t>(gone->number(0, 0));
  }

  Result<std::vector<ArchivedSubmission>> list(OrgId org, const ArchiveFilter& filter, std::size_t most) override {
    const auto rows = link_.read(sql::archived_submissions,
                                 {std::to_string(org.value), null_if_empty(filter.pipeline), null_if_empty(filter.state),
                                  null_if_empty(filter.reference), null_if_empty(filter.submission), std::to_string(most)});
    TRY(rows);
    std::vector<ArchivedSubmission> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({.submission = text_of(*rows, row, 0),
                     .pipeline = text_of(*rows, row, 1),
                     .state = text_of(*rows, row, 2),
                     .reference = text_of(*rows, row, 3),
                     .created = rows->time(row, 4),
                     .archived = rows->time(row, 7),
                     .blocked = time_of(*rows, row, 5),
                     .ended = time_of(*rows, row, 6)});
    return all;
  }

  Result<std::vector<std::string>> records(OrgId org, const std::string& submission) override {
    const auto rows = link_.read(sql::archived_submission, {std::to_string(org.value), submission});
    TRY(rows);
    std::vector<std::string> all;
    for (std::size_t row = 0; row < rows->size(); ++row) all.push_back(text_of(*rows, row, 0));
    return all;
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<ArchiveStore> make_archive_store(const DatabaseAddress& address) {
  return std::make_unique<PgArchiveStore>(address);
}

}  // namespace waybill
