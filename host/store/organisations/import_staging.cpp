// Whether the file can be had here, its number, and its rows by batches.
#include "store/organisations/import_staging.h"

#include "domain/organisation.h"
#include "store/organisations/import.sql.h"
#include "store/organisations/import_columns.h"
#include "store/queue/fence.sql.h"

namespace waybill {
namespace {

// So much is in memory at once: so many rows, or so many bytes and one more row.
constexpr std::size_t kMaxStagedRows = 500;
constexpr std::size_t kMaxStagedBytes = std::size_t{4} << 20;

// Those that come after it get higher ones.
constexpr std::int64_t kHighestNumber = 2'000'000'000;

constexpr Statement kStageRows{"stage_rows", sql::stage_rows.data()};

std::string check_schema(int file, int database) {
  const std::string both = "the file is of schema version " + std::to_string(file) + ", and this database is at version " +
                           std::to_string(database) + ": ";
  return file > database ? both + "upgrade Waybill here and run `waybill migrate`"
                         : both + "upgrade where it comes from, run `waybill migrate` there, and export it anew";
}

}  // namespace

tl::unexpected<Error> refused_line(std::int64_t line, const std::string& table, const Error& error) {
  if (error.kind == Error::Kind::unavailable) return tl::unexpected(error);
  return fail(Error::Kind::invalid, "line " + std::to_string(line) + ": " + table + ": " + error.what);
}

ImportStaging::ImportStaging(Connection& connection, const ImportOrder& order, std::span<const LeftOut> left_out)
    : connection_(connection), order_(order), left_out_(left_out) {}

Result<ImportPlace> ImportStaging::begin(const ImportHeader& header) {
  header_ = header;
  name_ = order_.name.empty() ? header.name : order_.name;
  if (header.name == kDefaultOrgName || header.org == kDefaultOrg)
    return fail(Error::Kind::invalid,
                "the file is of the organisation \"default\", which every installation has of its own: it cannot be imported");
  if (name_ == kDefaultOrgName)
    return fail(Error::Kind::invalid, "the organisation \"default\" is there already, in every installation");
  if (!is_organisation_name(name_))
    return fail(Error::Kind::invalid, "the name of an organisation is " + std::string(kOrganisationNames));
  if (header.org.value < 1 || header.org.value > kHighestNumber)
    return fail(Error::Kind::invalid, "line 1: " + std::to_string(header.org.value) + " is no number of an organisation");
  const auto found = connection_.run(sql::place_for_import, {name_, std::to_string(header.org.value)});
  TRY(found);
  const auto place = found->front();
  if (header.schema != place.schema())
    return fail(Error::Kind::conflict, check_schema(header.schema, static_cast<int>(place.schema())));
  if (place.is_taken())
    return fail(Error::Kind::conflict, "there is an organisation \"" + name_ + "\" already: choose another name with --as");
  place_.shards = static_cast<int>(place.shards());
  TRY(choose_number(place.is_used()));
  TRY(read_columns());
  TRY(connection_.script(std::string(sql::make_staged_rows)));
  TRY(connection_.script(std::string(sql::make_imported_ids)));
  TRY(connection_.script(std::string(sql::save_import)));
  return place_;
}

Result<void> ImportStaging::choose_number(bool is_used) {
  place_.org = header_.org;
  keeps_number_ = !is_used;
  if (keeps_number_) return {};
  const auto next = connection_.run(sql::next_org_number);
  TRY(next);
  place_.org = {next->front().number()};
  return {};
}

Result<void> ImportStaging::read_columns() {
  const auto token = connection_.run(sql::new_fence_token);
  TRY(token);
  ArrayText tables, columns, kinds, sources;
  std::map<std::string, bool> ids;
  for (const auto& column : imported_columns()) {
    tables.add(column.table);
    columns.add(column.column);
    kinds.add(column.kind);
    sources.add(column.source);
    ids[std::string(column.table) + "." + std::string(column.column)] = is_imported_id(column.kind);
  }
  const auto found =
      connection_.run(sql::imported_columns, {left_out_names(left_out_, false), left_out_names(left_out_, true), tables.take(),
                                              columns.take(), kinds.take(), sources.take(), std::to_string(place_.org.value),
                                              name_, std::to_string(token->front().token())});
  TRY(found);
  for (const auto row : *found) {
    const std::string table(row.table_name()), column(row.column_name());
    if (tables_.empty() || tables_.back().name != table) tables_.push_back({.name = table, .values = {}, .columns = {}});
    if (row.value()) tables_.back().values.push_back({std::string(row.quoted()), std::string(*row.value())});
    if (!row.is_in_file()) continue;
    tables_.back().columns.push_back(column);
    std::string place = table;
    place.append(".").append(column);
    place_.tables[table].emplace(
        column, ImportColumn{.name = column, .is_array = row.is_array(), .is_id = ids[place], .is_time = row.is_time()});
  }
  return {};
}

Result<void> ImportStaging::add(const StagedRow& row) {
  waiting_.push_back({.line = row.line, .table = std::string(row.table), .home = row.home, .text = std::string(row.text)});
  waiting_bytes_ += row.text.size();
  return waiting_.size() < kMaxStagedRows && waiting_bytes_ < kMaxStagedBytes ? Result<void>{} : flush();
}

Result<void> ImportStaging::finish() {
  TRY(flush());
  TRY(connection_.script(std::string(sql::release_import)));
  return {};
}

Result<void> ImportStaging::flush() {
  const auto staged = stage(waiting_);
  if (!staged && staged.error().kind != Error::Kind::unavailable) {
    TRY(connection_.script(std::string(sql::reset_import)));
    for (const auto& row : waiting_)
      if (const auto alone = stage({&row, 1}); !alone) return refused_line(row.line, row.table, alone.error());
  }
  TRY(staged);
  waiting_.clear();
  waiting_bytes_ = 0;
  return {};
}

Result<void> ImportStaging::stage(std::span<const Waiting> rows) {
  if (rows.empty()) return {};
  ArrayText tables, numbers, homes, lines;
  for (const auto& row : rows) {
    tables.add(row.table);
    numbers.add(row.line);
    lines.add(row.text);
    row.home ? homes.add(std::int64_t{*row.home}) : homes.add_null();
  }
  TRY(connection_.run(kStageRows, {tables.take(), numbers.take(), homes.take(), lines.take()}));
  return {};
}

}  // namespace waybill
