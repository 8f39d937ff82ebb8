// Passes over all tables until one finds nothing, then deletes the organisation.
#include "maintenance/org_erasure.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_writer.h"
#include "base/version.h"
#include "domain/idempotency.h"

namespace waybill {
namespace {

constexpr int kMaxPasses = 20;

Json time_or_null(const std::optional<Timestamp>& time) { return time ? Json(format_rfc3339(*time)) : Json(nullptr); }

Json remains() {
  return Json::array({"the lines organisation_erasure_begun and organisation_erased in the audit, with this certificate",
                      "the table erasures: numbers of rows and digests",
                      "attachments in their bucket, and what destinations were sent",
                      "backups, archived logs of the database and its standbys until they are replaced, and the logs of hosts"});
}

class Erasure {
 public:
  Erasure(ErasureStore& store, const ErasureOrder& order, const OrgToErase& org,
          const std::function<void(std::int64_t)>& progress)
      : store_(store), order_(order), org_(org), progress_(progress) {}

  Result<std::string> run() {
    TRY(store_.begin(org_.id, order_.name, order_.actor));
    for (int pass = 0;; ++pass) {
      const auto erased = erase_all();
      TRY(erased);
      if (*erased == 0) break;
      if (pass == kMaxPasses)
        return fail(Error::Kind::conflict, "hosts go on writing rows of organisation \"" + order_.name + "\"; try again later");
    }
    const auto tables = store_.erased(org_.id);
    TRY(tables);
    const auto now = store_.find(order_.name);
    TRY(now);
    if (!*now) return fail(Error::Kind::conflict, "somebody else has erased it meanwhile");
    auto certificate = certificate_of(*tables, (*now)->now);
    TRY(store_.end(org_.id, order_.actor, certificate));
    return certificate;
  }

 private:
  Result<std::int64_t> erase_all() {
    std::int64_t erased = 0;
    const auto add = [&](std::int64_t rows) {
      erased += rows;
      rows_ += rows;
      if (progress_) progress_(rows_);
    };
    const auto uses = store_.erase_token_uses(org_.id);
    TRY(uses);
    add(*uses);
    const auto tables = store_.tables();
    TRY(tables);
    for (const auto& table : *tables) {
      for (std::int64_t page = 0; page < table.pages; page += order_.pages) {
        const auto rows = store_.erase(org_.id, table, page, order_.pages);
        TRY(rows);
        add(*rows);
      }
    }
    return erased;
  }

  std::string certificate_of(const std::vector<ErasedTable>& tables, Timestamp now) const {
    Json list = Json::array();
    std::int64_t rows = 0;
    Timestamp begun = now;
    for (const auto& table : tables) {
      list.push_back({{"table", table.name},
                      {"rows", table.rows},
                      {"oldest", time_or_null(table.oldest)},
                      {"newest", time_or_null(table.newest)},
                      {"digest", table.digest}});
      rows += table.rows;
      begun = std::min(begun, table.begun);
    }
    const auto digest = to_hex(as_view(sha256(list.dump())));
    const Json certificate{{"version", 1},
                           {"organisation",
                            {{"id", org_.id.value},
                             {"name", order_.name},
                             {"createdAt", format_rfc3339(org_.created)},
                             {"disabledAt", time_or_null(org_.disabled)}}},
                           {"begunAt", format_rfc3339(begun)},
                           {"endedAt", format_rfc3339(now)},
                           {"actor", order_.actor},
                           {"program", built_version()},
                           {"rows", rows},
                           {"tables", std::move(list)},
                           {"digest", digest},
                           {"remains", remains()}};
    return certificate.dump();
  }

  ErasureStore& store_;
  const ErasureOrder& order_;
  const OrgToErase& org_;
  const std::function<void(std::int64_t)>& progress_;
  std::int64_t rows_ = 0;
};

}  // namespace

Result<std::string> erase_organisation(ErasureStore& store, const ErasureOrder& order,
                                       const std::function<void(std::int64_t)>& progress) {
  const auto org = store.find(order.name);
  TRY(org);
  if (!*org) {
    auto kept = store.certificate(order.name);
    TRY(kept);
    if (!*kept) return fail(Error::Kind::not_found, "there is no organisation \"" + order.name + "\"");
    return std::move(**kept);
  }
  if (!(*org)->disabled)
    return fail(Error::Kind::conflict,
                "organisation \"" + order.name + "\" is not disabled: run `waybill org disable " + order.name + "` first");
  if ((*org)->disabled_for < kDisabledBeforeErasure)
    return fail(Error::Kind::conflict, "organisation \"" + order.name + "\" has been disabled for " +
                                           std::to_string((*org)->disabled_for.count()) +
                                           " s: hosts may still write what it handed in; wait until it is " +
                                           std::to_string(kDisabledBeforeErasure.count()) + " s");
  return Erasure(store, order, **org, progress).run();
}

}  // namespace waybill
