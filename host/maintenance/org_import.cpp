// Each row is held against the tables that there are before it is staged.
#include "maintenance/org_import.h"

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>

#include "base/hex.h"
#include "base/time.h"
#include "base/utf8.h"
#include "domain/contract.h"
#include "domain/idempotency.h"
#include "domain/job.h"
#include "maintenance/export_file.h"
#include "maintenance/org_export.h"

namespace waybill {
namespace {

using nlohmann::json;

constexpr std::string_view kChannelTarget = "channel:";

class Import {
 public:
  explicit Import(ImportRows& rows) : rows_(rows) {}

  Result<ImportedFile> read(std::istream& lines) {
    auto file = read_export(lines, {.begin = [this](const ExportFile& header) { return begin(header); },
                                    .row = [this](const ExportedRow& row) { return add(row); }});
    TRY(file);
    return ImportedFile{.rows = file->rows, .tables = std::move(file->tables), .digest = std::move(file->digest)};
  }

 private:
  Result<void> begin(const ExportFile& header) {
    org_in_file_ = header.org;
    auto place = rows_.begin({.name = header.organisation,
                              .org = header.org,
                              .exported_at = header.exported_at,
                              .program = header.program,
                              .schema = header.schema});
    TRY(place);
    place_ = std::move(*place);
    return {};
  }

  Result<void> add(const ExportedRow& row) {
    const auto table = place_.tables.find(row.table);
    if (table == place_.tables.end())
      return wrong_line(row.line, "no organisation has rows of a table \"" + row.table + "\" here");
    for (const auto& [name, value] : row.row.items())
      if (!table->second.contains(name)) return wrong_line(row.line, row.table + " has no column \"" + name + "\" here");
    for (const auto& [name, column] : table->second) {
      const auto found = row.row.find(name);
      if (found == row.row.end()) return wrong_line(row.line, row.table + ": the column \"" + name + "\" is missing");
      if (column.is_id && !is_id(*found, column.is_array)) return wrong_line(row.line, row.table + ": " + name + ": it is no id");
      if (column.is_time && !is_time(*found)) return wrong_line(row.line, row.table + ": " + name + ": it is no time");
    }
    if (const auto org = row.row.find("org_id"); org != row.row.end() && *org != json(org_in_file_.value))
      return wrong_line(row.line, row.table + ": org_id: the row is of another organisation");
    if (const auto fault = unreadable_in(row); !fault.empty()) return wrong_line(row.line, row.table + ": " + fault);
    const auto home = home_of(row);
    TRY(home);
    return rows_.add({.line = row.line, .table = row.table, .home = *home, .text = row.text});
  }

  static bool is_id(const json& value, bool is_array) {
    if (!is_array) return value.is_null() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    return value.is_array() && std::all_of(value.begin(), value.end(), [](const json& one) { return is_id(one, false); });
  }

  // As row_to_json() writes them; what has no end is no time that a host could read.
  static bool is_time(const json& value) {
    return value.is_null() || (value.is_string() && parse_rfc3339_micros(value.get_ref<const std::string&>()));
  }

  // What the database would take, and hosts could not read: one such row would stop what they do for others as well.
  static std::string unreadable_in(const ExportedRow& row) {
    if (row.table == "contract_snapshots") {
      const auto& contract = row.row.at("contract");
      if (!contract.is_string()) return "contract: it is no text";
      if (const auto read = contract_from_json(contract.get_ref<const std::string&>()); !read)
        return "contract: " + read.error().what;
    }
    if (row.table == "submissions" || row.table == "edited_payloads") {
      const auto& body = row.row.at("body");
      if (!body.is_null() && !(body.is_string() && is_text(body.get_ref<const std::string&>()))) return "body: it is no text";
    }
    return {};
  }

  // Of bytes as PostgreSQL writes them.
  static bool is_text(std::string_view bytea) {
    if (!bytea.starts_with("\\x")) return false;
    bytea.remove_prefix(2);
    return bytea.find_first_not_of("0123456789abcdef") == bytea.npos && is_clean_utf8(from_hex(bytea));
  }

  // The shard depends on the organisation's number and on how many there are, so it is another one here. A notification is where
  // its channel is.
  Result<std::optional<Shard>> home_of(const ExportedRow& row) const {
    const bool is_channel = row.table == "channels";
    if (!is_channel && !row.row.contains("client_ref")) return std::nullopt;
    const char* named = is_channel ? "channel_id" : "client_ref";
    const auto reference = text(row, named);
    TRY(reference);
    if (row.table == "submissions" && row.row.at("kind") == kNotificationKind) {
      const auto target = text(row, "target");
      TRY(target);
      if (!target->starts_with(kChannelTarget)) return wrong_line(row.line, "submissions: target: it is no channel");
      return shard_for(place_.org, target->substr(kChannelTarget.size()), place_.shards);
    }
    if (row.row.at(named).is_null()) return std::nullopt;
    return shard_for(place_.org, *reference, place_.shards);
  }

  static Result<std::string> text(const ExportedRow& row, const char* column) {
    const auto& value = row.row.at(column);
    if (value.is_null()) return std::string();
    if (!value.is_string()) return wrong_line(row.line, row.table + ": " + column + ": it is no text");
    return value.get<std::string>();
  }

  ImportRows& rows_;
  OrgId org_in_file_{};
  ImportPlace place_;
};

}  // namespace

Result<OrgImported> import_organisation(ImportStore& store, const ImportOrder& order, std::istream& lines,
                                        const std::function<void(std::int64_t rows)>& progress) {
  return store.run(
      order, left_out_of_exports(), [&](ImportRows& rows) { return Import(rows).read(lines); }, progress);
}

}  // namespace waybill
