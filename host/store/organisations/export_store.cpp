// A cursor over each table in turn.
#include "store/organisations/export_store.h"

#include "store/organisations/export.sql.h"
#include "store/pg/template_words.h"

namespace waybill {
namespace {

// So many rows are in memory at once. Those with bytes may have a megabyte and more each.
constexpr const char* kRowsAtOnce = "100";
constexpr const char* kRowsWithBytesAtOnce = "8";

class PgExportStore final : public ExportStore {
 public:
  explicit PgExportStore(const DatabaseAddress& owner) : link_(owner, "export") {}

  Result<void> read(const std::string& name, std::span<const LeftOut> left_out, const ExportVisitor& visitor) override {
    return link_.transact([&](Connection& connection) { return read_all(connection, name, left_out, visitor); },
                          "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  }

  Result<void> note(OrgId org, const ExportNote& note) override {
    TRY(link_.run(sql::note_export, {std::to_string(org.value), note.name, note.actor, std::to_string(note.rows), note.digest}));
    return {};
  }

 private:
  static Result<void> read_all(Connection& connection, const std::string& name, std::span<const LeftOut> left_out,
                               const ExportVisitor& visitor) {
    const auto found = connection.run(sql::org_to_export, {name});
    TRY(found);
    if (found->empty()) return fail(Error::Kind::not_found, "there is no organisation \"" + name + "\"");
    const auto row = found->front();
    const OrgToExport org{{row.org_id()}, row.now(), static_cast<int>(row.schema()), static_cast<int>(row.shards())};
    TRY(visitor.begin(org));
    const auto tables = connection.run(
        sql::exported_tables, {std::to_string(org.id.value), left_out_names(left_out, false), left_out_names(left_out, true)});
    TRY(tables);
    for (const auto table : *tables) TRY(read_table(connection, table, visitor));
    return {};
  }

  static Result<void> read_table(Connection& connection, const sql::exported_tables_row& table, const ExportVisitor& visitor) {
    const std::string name(table.table_name());
    TRY(connection.script(with_words(sql::open_exported_rows, {{"{table}", quoted_identifier(name)},
                                                               {"{columns}", std::string(table.columns())},
                                                               {"{condition}", std::string(table.condition())},
                                                               {"{key}", std::string(table.key())}})));
    const auto next = with_words(sql::next_exported_rows, {{"{count}", table.has_bytes() ? kRowsWithBytesAtOnce : kRowsAtOnce}});
    for (;;) {
      const auto rows = connection.script(next);
      TRY(rows);
      if (rows->size() == 0) break;
      for (std::size_t i = 0; i < rows->size(); ++i) TRY(visitor.row(name, rows->text(i, 0)));
    }
    TRY(connection.script(std::string(sql::close_exported_rows)));
    return {};
  }

  Link link_;
};

}  // namespace

std::unique_ptr<ExportStore> make_export_store(const DatabaseAddress& owner) { return std::make_unique<PgExportStore>(owner); }

}  // namespace waybill
