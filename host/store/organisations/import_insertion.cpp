// The ids first, then table by table.
#include "store/organisations/import_insertion.h"

#include <algorithm>

#include "base/hex.h"
#include "domain/pipeline_definition.h"
#include "store/organisations/import.sql.h"
#include "store/organisations/import_columns.h"
#include "store/pg/template_words.h"
#include "store/pipelines/pipeline_versions.h"

namespace waybill {
namespace {

constexpr std::int64_t kLinesAtOnce = 1000;

using Words = std::map<std::string, std::string>;

std::string literal(std::string_view text) { return quoted_literal(text); }

}  // namespace

Result<std::int64_t> ImportInsertion::check_open_work() {
  const auto found = connection_.script(std::string(sql::imported_open_work));
  TRY(found);
  constexpr std::size_t kMostNamed = 10;
  std::int64_t open = 0;
  std::string where;
  for (std::size_t i = 0; i < found->size(); ++i) {
    open += found->number(i, 1);
    if (i == kMostNamed) where += ", ...";
    if (i >= kMostNamed) continue;
    where += (i == 0 ? "" : ", ") + std::string(found->text(i, 0)) + " (" + std::to_string(found->number(i, 1)) + ")";
  }
  if (open == 0 || staging_.keeps_number()) return open;
  return fail(
      Error::Kind::conflict,
      std::to_string(open) + " deliveries of the file are open: " + where + ". The organisation's number, " +
          std::to_string(staging_.header().org.value) +
          ", is or was another's here, and with another number receivers would not know them again: let them end where they "
          "are, or end them with `waybill waiting end`, and export it anew");
}

Result<void> ImportInsertion::give_ids() {
  TRY(connection_.script(std::string(sql::analyze_staged_rows)));
  TRY(collect_ids());
  TRY(connection_.script(std::string(sql::analyze_imported_ids)));
  if (staging_.shards() > 1) TRY(find_homes());
  TRY(connection_.script(std::string(sql::lock_submissions)));
  TRY(connection_.script(with_words(sql::give_ids, {{"{shards}", std::to_string(staging_.shards())}})));
  return store_versions();
}

Result<void> ImportInsertion::collect_ids() {
  for (const auto& column : imported_columns()) {
    if (!is_imported_id(column.kind)) continue;
    const bool is_array = column.column == "routes";
    TRY(connection_.script(with_words(
        is_array ? sql::collect_ids_of_arrays : sql::collect_ids,
        {{"{kind}", literal(column.kind)}, {"{table}", literal(column.table)}, {"{column}", literal(column.column)}})));
  }
  return {};
}

// Rows that tell the shard of their submission have it already (StagedRow::home); deliveries are where their submissions are.
Result<void> ImportInsertion::find_homes() {
  for (const auto& [table, column] : {std::pair{"submissions", "id"}, std::pair{"archived_submissions", "submission_id"},
                                      std::pair{"dead_letters", "submission_id"}, std::pair{"digest_failures", "submission_id"}})
    TRY(connection_.script(with_words(sql::find_homes, {{"{table}", literal(table)}, {"{column}", literal(column)}})));
  for (const auto& column : imported_columns())
    if (column.kind == imported::kObject && !column.source.empty())
      TRY(connection_.script(with_words(
          sql::follow_homes,
          {{"{table}", literal(column.table)}, {"{column}", literal(column.column)}, {"{source}", literal(column.source)}})));
  return {};
}

Result<void> ImportInsertion::store_versions() {
  for (std::int64_t line = 0;;) {
    const auto next = connection_.script(with_words(sql::next_imported_version, {{"{line}", std::to_string(line)}}));
    TRY(next);
    if (next->size() == 0) return {};
    line = next->number(0, 0);
    const auto definition = definition_from_text(std::string(next->text(0, 4)));
    if (!definition) return refused_line(line, "pipeline_versions", {Error::Kind::invalid, definition.error().what});
    if (next->text(0, 3) != "\\x" + to_hex(as_view(definition->hash)) || next->text(0, 2) != definition->pipeline.name)
      return refused_line(line, "pipeline_versions", {Error::Kind::invalid, "hash: the definition is another one"});
    const auto id = store_pipeline_version(connection_, *definition);
    TRY(id);
    TRY(connection_.script(with_words(sql::note_imported_version,
                                      {{"{old}", std::to_string(next->number(0, 1))}, {"{fresh}", std::to_string(*id)}})));
  }
}

Result<void> ImportInsertion::insert(const ImportTable& table) {
  if (table.name == "pipeline_versions") return {};  // store_versions()
  const auto lines = connection_.script(with_words(sql::imported_lines, {{"{table}", literal(table.name)}}));
  TRY(lines);
  const auto begin = lines->number(0, 0), end = lines->number(0, 1);
  if (end < begin) return {};
  TRY(connection_.script(std::string(sql::save_import)));
  for (auto first = begin; first <= end; first += kLinesAtOnce) {
    const auto last = std::min(end, first + kLinesAtOnce - 1);
    if (const auto done = insert_lines(table, first, last); !done) return find_refused(table, begin, last, done.error());
    rows_ += last - first + 1;
    if (progress_) progress_(rows_);
  }
  TRY(connection_.script(std::string(sql::release_import)));
  return {};
}

Result<void> ImportInsertion::insert_lines(const ImportTable& table, std::int64_t first, std::int64_t last) {
  std::string columns, values;
  for (const auto& one : table.values) {
    columns += (columns.empty() ? "" : ", ") + one.column;
    values += (values.empty() ? "" : ", ") + one.value;
  }
  TRY(connection_.script(with_words(sql::insert_imported_rows, {{"{relation}", quoted_identifier(table.name)},
                                                                {"{columns}", columns},
                                                                {"{values}", values},
                                                                {"{table}", literal(table.name)},
                                                                {"{first}", std::to_string(first)},
                                                                {"{last}", std::to_string(last)}})));
  return {};
}

// Nothing but a row alone tells which one it is, and it may be refused for one before it: so all are inserted again, one by one.
tl::unexpected<Error> ImportInsertion::find_refused(const ImportTable& table, std::int64_t first, std::int64_t last,
                                                    const Error& error) {
  if (error.kind == Error::Kind::unavailable) return tl::unexpected(error);
  TRY(connection_.script(std::string(sql::reset_import)));
  for (auto line = first; line <= last; ++line) {
    const auto alone = insert_lines(table, line, line);
    if (alone) continue;
    TRY(connection_.script(std::string(sql::reset_import)));
    return refused_line(line, table.name, {alone.error().kind, refused_column(table, line) + alone.error().what});
  }
  return tl::unexpected(error);
}

std::string ImportInsertion::refused_column(const ImportTable& table, std::int64_t line) {
  for (const auto& column : table.columns) {
    const auto tried = connection_.script(with_words(sql::try_imported_column, {{"{relation}", quoted_identifier(table.name)},
                                                                                {"{column}", literal(column)},
                                                                                {"{table}", literal(table.name)},
                                                                                {"{line}", std::to_string(line)}}));
    if (!tried) return column + ": ";
  }
  return "";
}

}  // namespace waybill
