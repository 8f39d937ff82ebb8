// Erasing an organisation on PostgreSQL.
#include "store/organisations/erasure_store.h"

#include "store/organisations/erasure.sql.h"

namespace waybill {
namespace {

class PgErasureStore final : public ErasureStore {
 public:
  explicit PgErasureStore(const DatabaseAddress& owner) : link_(owner, "erase") {}

  Result<std::optional<OrgToErase>> find(const std::string& name) override {
    const auto rows = link_.run(sql::org_to_erase, {name});
    TRY(rows);
    if (rows->empty()) return std::optional<OrgToErase>{};
    const auto row = rows->front();
    return std::optional(OrgToErase{{row.org_id()}, row.created(), row.now(), row.disabled(), Seconds{row.disabled_for()}});
  }

  Result<void> begin(OrgId org, const std::string& name, const std::string& actor) override {
    TRY(link_.run(sql::begin_erasure, {std::to_string(org.value), name, actor}));
    return {};
  }

  Result<std::vector<ErasableTable>> tables() override {
    const auto rows = link_.run(sql::erasable_tables);
    TRY(rows);
    std::vector<ErasableTable> all;
    for (const auto row : *rows) all.push_back({std::string(row.table_name()), row.leaf(), row.pages()});
    return all;
  }

  Result<std::int64_t> erase(OrgId org, const ErasableTable& table, std::int64_t first_page, int pages) override {
    const auto rows = link_.run(sql::erase_rows, {std::to_string(org.value), std::to_string(table.leaf), table.name,
                                                  std::to_string(first_page), std::to_string(pages)});
    TRY(rows);
    return rows->front().erased();
  }

  Result<std::int64_t> erase_token_uses(OrgId org) override {
    const auto rows = link_.run(sql::erase_token_uses, {std::to_string(org.value)});
    TRY(rows);
    return rows->front().erased();
  }

  Result<std::vector<ErasedTable>> erased(OrgId org) override {
    const auto rows = link_.run(sql::erased_tables, {std::to_string(org.value)});
    TRY(rows);
    std::vector<ErasedTable> all;
    for (const auto row : *rows)
      all.push_back(
          {std::string(row.table_name()), row.rows(), row.oldest(), row.newest(), std::string(row.digest()), row.begun()});
    return all;
  }

  Result<void> end(OrgId org, const std::string& actor, const std::string& certificate) override {
    const auto rows = link_.run(sql::end_erasure, {std::to_string(org.value), actor, certificate});
    TRY(rows);
    if (rows->empty()) return fail(Error::Kind::conflict, "somebody else has erased or enabled it meanwhile");
    return {};
  }

  Result<std::optional<std::string>> certificate(const std::string& name) override {
    const auto rows = link_.run(sql::kept_certificate, {name});
    TRY(rows);
    if (rows->empty()) return std::optional<std::string>{};
    return std::optional(std::string(rows->front().certificate()));
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<ErasureStore> make_erasure_store(const DatabaseAddress& owner) { return std::make_unique<PgErasureStore>(owner); }

}  // namespace waybill
