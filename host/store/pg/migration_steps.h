// A migration's statements, which are applied one by one, each committed on its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace waybill {

struct MigrationStep {
  enum class Kind {
    transaction,  // one statement, or those between BEGIN and COMMIT: committed together
    index,        // CREATE INDEX CONCURRENTLY: in no transaction, beside readers and writers
    batches       // a statement below `-- Batches`: repeated until it answers null, each time with what it answered before
  };
  Kind kind = Kind::transaction;
  std::string sql;    // without comments before it, and without the semicolon at its end
  std::string table;  // or view, that it locks; "": none, or not known: then the migration's own words tell
  std::string lock;   // as PostgreSQL calls it: "ACCESS EXCLUSIVE"; "" as well
  std::string index;  // the name of the one that it makes; "": none
};

// What a batch's statement has for the answer of the batch before: '' at first.
inline constexpr std::string_view kBatchCursor = ":cursor";

// In order. Semicolons in quotes, dollar quotes and comments end no statement.
std::vector<MigrationStep> steps_of(std::string_view sql);

// What the head of a migration says below `-- Locks: `, as one line; "" if nothing.
std::string locks_said(std::string_view sql);

}  // namespace waybill
