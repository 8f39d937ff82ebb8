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
    const Parameters parameters{std::to_string(shard), std::to_string(age.count()), std::to_string(after.since.micros),
                                std::to_string(after.id.value), std::to_string(most)};
    return why == Why::ended ? places_of(link_.read(sql::archivable_ended, parameters))
                             : places_of(link_.read(sql::archivable_blocked, parameters));
  }

  Result<std::uint64_t> archive(Shard shard, std::span<const SubmissionId> ids, const ArchiveAges& ages) override {
    ArrayText all;
    for (const auto id : ids) all.add(id.value);
    const auto moved =
        link_.run(sql::archive_submissions, {std::to_string(shard), all.take(), age_of(ages.ended), age_of(ages.blocked)});
    TRY(moved);
    return static_cast<std::uint64_t>(moved->front().archived());
  }

  Result<std::uint64_t> delete_archived(Millis age, std::size_t most) override {
    const auto gone = link_.run(sql::delete_archived, {std::to_string(age.count()), std::to_string(most)});
    TRY(gone);
    return static_cast<std::uint64_t>(gone->front().deleted());
  }

  Result<std::vector<ArchivedSubmission>> list(OrgId org, const ArchiveFilter& filter, std::size_t most) override {
    const auto rows = link_.read(sql::archived_submissions,
                                 {std::to_string(org.value), null_if_empty(filter.pipeline), null_if_empty(filter.state),
                                  null_if_empty(filter.reference), null_if_empty(filter.submission), std::to_string(most)});
    TRY(rows);
    std::vector<ArchivedSubmission> all;
    for (const auto row : *rows)
      all.push_back({.submission = std::string(row.client_ref()),
                     .pipeline = std::string(row.pipeline()),
                     .state = std::string(row.state()),
                     .reference = std::string(row.reference()),
                     .created = row.created(),
                     .archived = row.archived(),
                     .blocked = row.blocked(),
                     .ended = row.ended()});
    return all;
  }

  Result<std::vector<std::string>> records(OrgId org, const std::string& submission) override {
    const auto rows = link_.read(sql::archived_submission, {std::to_string(org.value), submission});
    TRY(rows);
    std::vector<std::string> all;
    for (const auto row : *rows) all.emplace_back(row.record());
    return all;
  }

 private:
  template <class OneRow>
  static Result<std::vector<Place>> places_of(const Result<RowsOf<OneRow>>& rows) {
    TRY(rows);
    std::vector<Place> all;
    for (const auto row : *rows) all.push_back({{row.submission_id()}, row.since()});
    return all;
  }

  Link link_;
};

}  // namespace

std::unique_ptr<ArchiveStore> make_archive_store(const DatabaseAddress& address) {
  return std::make_unique<PgArchiveStore>(address);
}

}  // namespace waybill
