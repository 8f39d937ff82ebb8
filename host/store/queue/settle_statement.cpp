// Listing the columns, expanding the statement, filling in a batch.
#include "store/queue/settle_statement.h"

#include <algorithm>

#include "store/queue/settle.sql.h"

namespace waybill {
namespace {

using enum SettleColumn::Part;
using enum SettleColumn::Table;
using settling::column;
using settling::Flag;
using settling::Number;
using settling::Text;
using S = const Settlement&;

// Everything else follows from this list: the statement, its types and its parameters. A new column is a line here.
constexpr SettleColumn kColumns[] = {
    column<[](S s) -> Number { return s.delivery.value; }>(item, "bigint", "delivery", kNone),
    column<[](S s) -> Number { return s.token.value; }>(item, "bigint", "token", kNone),
    column<[](S s) { return s.attempt ? Number(s.attempt->started.micros) : Number(); }>(item, "bigint", "started", kAttempts,
                                                                                         "started_at"),
    column<[](S s) { return s.attempt && s.attempt->finished ? Number(s.attempt->finished->micros) : Number(); }>(
        item, "bigint", "finished", kAttempts, "finished_at"),
    column<[](S s) { return s.attempt && s.attempt->code != 0 ? Number(s.attempt->code) : Number(); }>(item, "integer", "code",
                                                                                                       kAttempts),
    column<[](S s) { return s.attempt ? Text(s.attempt->provider_ref) : Text(); }>(item, "text", "provider_ref",
                                                                                   kAttempts | kDeliveries),

    column<[](S s) { return s.status == Status::due ? Number(s.due.micros) : Number(); }>(rare, "bigint", "due", kReady,
                                                                                          "due_at"),
    column<[](S s) {  // where it is not the attempt's
      const bool is_other = s.status != Status::due && !(s.attempt && s.attempt->finished == s.ended);
      return is_other ? Number(s.ended.micros) : Number();
    }>(rare, "bigint", "ended", kNone),
    column<[](S s) { return s.attempt ? Text(s.attempt->error) : Text(); }>(rare, "text", "error", kAttempts),
    column<[](S s) { return Text(s.result); }>(rare, "jsonb", "result", kNone),
    column<[](S s) { return s.attempt && s.attempt->answer ? Text(*s.attempt->answer) : Text(); }>(rare, "jsonb", "answer",
                                                                                                   SettleColumn::kAttempts),
    column<[](S s) { return s.attempt ? Text(s.attempt->sent_hash) : Text(); }>(rare, "bytea", "sent_hash", kAttempts),
    column<[](S s) { return s.attempt ? Text(s.attempt->signed_with) : Text(); }>(rare, "text", "signed_with", kAttempts),
    column<[](S s) { return Text(s.progress); }>(rare, "text", "progress", kNone),

    column<[](S s) { return to_string(s.status); }>(shared, "delivery_status", "status", kDeliveries),
    column<[](S s) -> Number { return s.history.attempt_count; }>(shared, "integer", "attempt_count", kReady | kDeliveries),
    column<[](S s) -> Number { return s.history.lease_lost; }>(shared, "smallint", "lease_lost", kReady),
    column<[](S s) -> Number { return s.history.uncounted; }>(shared, "integer", "uncounted", kReady),
    column<[](S s) -> Flag { return s.history.maybe_sent; }>(shared, "boolean", "maybe_sent", kReady),
    column<[](S s) { return Text(s.reason); }>(shared, "text", "reason", kDeliveries),
    column<[](S s) { return Text(s.action_type); }>(shared, "text", "action_type", kDeliveries),
    column<[](S s) { return s.attempt ? Number(s.attempt->number) : Number(); }>(shared, "integer", "number", kAttempts),
    column<[](S s) { return s.attempt ? Text(s.attempt->outcome) : Text(); }>(shared, "text", "outcome", kAttempts),
    column<[](S s) { return s.attempt ? Text(s.attempt->reason) : Text(); }>(shared, "text", "attempt_reason", kAttempts,
                                                                             "reason"),
    column<[](S s) -> Flag { return !s.attempt || s.attempt->counts; }>(shared, "boolean", "counts", kAttempts),
    column<[](S s) -> Flag { return s.attempt && s.attempt->maybe_sent; }>(shared, "boolean", "attempt_maybe_sent", kAttempts,
                                                                           "maybe_sent"),
    // A form's action is audited by follow_up(), not later than the clock of the database.
    column<[](S s) { return s.of_form ? Text() : Text(s.action); }>(shared, "text", "action", kAudit),
    column<[](S s) { return Text(s.from_state); }>(shared, "text", "from_state", kAudit),
    column<[](S s) { return Text(s.submission_state); }>(shared, "text", "to_state", kAudit),
    column<[](S s) { return Text(s.trigger); }>(shared, "text", "trigger", kAudit),
    column<[](S s) { return Text(s.actor); }>(shared, "text", "actor", kAudit),
    column<[](S s) { return Text(s.metadata); }>(shared, "jsonb", "metadata", kAudit),
};

// How a shared value is passed: as a parameter, or as an array with an element for each sort of settlement. Most batches are of
// one sort. A parameter costs PostgreSQL next to nothing; reading arrays, one for each column, makes a row a tenth dearer.
enum class Sorts : std::uint8_t { one, several };

// Text that grows at compile time. Without a place to write to it only counts.
class Builder {
 public:
  constexpr explicit Builder(char* to) : to_(to) {}
  constexpr void add(std::string_view text) {
    if (to_ != nullptr) std::copy(text.begin(), text.end(), to_ + size_);
    size_ += text.size();
  }
  constexpr void add_number(std::size_t number) {
    if (number >= 10) add_number(number / 10);
    const char digit = static_cast<char>('0' + number % 10);
    add({&digit, 1});
  }
  constexpr std::size_t size() const { return size_; }

 private:
  char* to_;
  std::size_t size_ = 0;
};

constexpr unsigned table_of(std::string_view word) {
  if (word == "ready") return kReady;
  if (word == "attempts") return kAttempts;
  if (word == "deliveries") return kDeliveries;
  if (word == "audit") return kAudit;
  throw "no such table";  // ends the compilation
}

constexpr std::size_t parameter_of(const SettleColumn& column) {  // $1 is the shard
  return static_cast<std::size_t>(&column - kColumns) + 2;
}
constexpr std::size_t kSortParameter = std::size(kColumns) + 2;

// $2::bigint[]
constexpr void add_parameter(Builder& sql, std::size_t number, std::string_view type, bool is_array) {
  sql.add("$");
  sql.add_number(number);
  sql.add("::");
  sql.add(type);
  if (is_array) sql.add("[]");
}

// f.code, at_micros(f.due)
constexpr void add_own(Builder& sql, const SettleColumn& column) {
  sql.add(column.is_time() ? "at_micros(f." : "f.");
  sql.add(column.name);
  if (column.is_time()) sql.add(")");
}

constexpr void add_shared(Builder& sql, const SettleColumn& column, Sorts sorts) {
  if (sorts == Sorts::one) return add_parameter(sql, parameter_of(column), column.type, false);
  sql.add("(");
  add_parameter(sql, parameter_of(column), column.type, true);
  sql.add(")[sort]");
}

constexpr void add_shared(Builder& sql, std::string_view name, Sorts sorts) {
  for (const auto& column : kColumns)
    if (column.part == shared && column.name == name) return add_shared(sql, column, sorts);
  throw "no such shared column";  // ends the compilation
}

constexpr void add_items(Builder& sql, Sorts sorts) {
  sql.add("unnest(");
  bool is_first = true;
  for (const auto& column : kColumns) {
    if (column.part == shared) continue;
    if (!is_first) sql.add(", ");
    is_first = false;
    add_parameter(sql, parameter_of(column), column.type, true);
  }
  if (sorts == Sorts::several) {
    sql.add(", ");
    add_parameter(sql, kSortParameter, "integer", true);
  }
  sql.add(") AS f(");
  is_first = true;
  for (const auto& column : kColumns) {
    if (column.part == shared) continue;
    if (!is_first) sql.add(", ");
    is_first = false;
    sql.add(column.name);
  }
  sql.add(sorts == Sorts::several ? ", sort)" : ")");
}

// , at_micros(f.started) AS started_at, f.code, ...
constexpr void add_kept(Builder& sql, Sorts sorts) {
  for (const auto& column : kColumns) {
    if (column.part == shared || (column.tables & ~kReady) == 0) continue;
    sql.add(", ");
    add_own(sql, column);
    sql.add(" AS ");
    sql.add(column.stored);
  }
  if (sorts == Sorts::several) sql.add(", f.sort");
}

// , started_at, finished_at, ...
constexpr void add_found(Builder& sql, Sorts sorts) {
  for (const auto& column : kColumns) {
    if (column.part == shared || (column.tables & kAttempts) == 0) continue;
    sql.add(", ");
    sql.add(column.stored);
  }
  if (sorts == Sorts::several) sql.add(", sort");
}

constexpr void add_names(Builder& sql, unsigned table) {
  for (const auto& column : kColumns) {
    if ((column.tables & table) == 0) continue;
    sql.add(", ");
    sql.add(column.stored);
  }
}

constexpr void add_values(Builder& sql, unsigned table, Sorts sorts) {
  for (const auto& column : kColumns) {
    if ((column.tables & table) == 0) continue;
    sql.add(", ");
    if (column.part == shared)
      add_shared(sql, column, sorts);
    else
      sql.add(column.stored);
  }
}

// , attempt_count = $3, due_at = at_micros(f.due), ...
constexpr void add_changes(Builder& sql, unsigned table, Sorts sorts) {
  for (const auto& column : kColumns) {
    if ((column.tables & table) == 0) continue;
    sql.add(", ");
    sql.add(column.stored);
    sql.add(" = ");
    column.part == shared ? add_shared(sql, column, sorts) : add_own(sql, column);
  }
}

constexpr void expand(Builder& sql, Sorts sorts) {
  std::string_view rest = sql::settle;
  for (;;) {
    const auto open = rest.find('{');
    sql.add(rest.substr(0, open));
    if (open == std::string_view::npos) return;
    const auto close = rest.find('}');
    const auto word = rest.substr(open + 1, close - open - 1);
    rest.remove_prefix(close + 1);
    if (word == "items")
      add_items(sql, sorts);
    else if (word == "kept")
      add_kept(sql, sorts);
    else if (word == "found")
      add_found(sql, sorts);
    else if (word == "ready")
      add_changes(sql, kReady, sorts);
    else if (word.starts_with('='))
      add_shared(sql, word.substr(1), sorts);
    else if (word.ends_with('='))
      add_values(sql, table_of(word.substr(0, word.size() - 1)), sorts);
    else
      add_names(sql, table_of(word));
  }
}

constexpr std::size_t size_of(Sorts sorts) {
  Builder counted(nullptr);
  expand(counted, sorts);
  return counted.size();
}

template <Sorts sorts>
constexpr auto kText = [] {
  std::array<char, size_of(sorts) + 1> text{};
  Builder sql(text.data());
  expand(sql, sorts);
  return text;
}();

constexpr Query<sql::settle_row> kOneSort{{"settle", kText<Sorts::one>.data(), sql::settle_columns}};
constexpr Query<sql::settle_row> kSeveralSorts{{"settle_sorts", kText<Sorts::several>.data(), sql::settle_columns}};

bool are_one_sort(const Settlement& a, const Settlement& b) {
  return std::all_of(std::begin(kColumns), std::end(kColumns),
                     [&](const SettleColumn& column) { return column.part != shared || column.is_same(a, b); });
}

std::string array_of(const SettleColumn& column, std::span<const Settlement> batch) {
  ArrayText array;
  if (column.part == rare && std::all_of(batch.begin(), batch.end(), column.is_null)) return array.take();  // unnest() fills up
  for (const auto& s : batch) column.add(array, s);
  return array.take();
}

}  // namespace

SettleBatch::SettleBatch(std::span<const Settlement> batch) : batch_(batch) {
  sort_.reserve(batch.size());
  for (const auto& s : batch) sort_.push_back(sort_of(s));
}

// Only the latest sorts are compared, so a sort may stand in the list twice. That costs a few bytes.
std::size_t SettleBatch::sort_of(const Settlement& s) {
  constexpr std::size_t kMaxLook = 32;
  const std::size_t end = sorts_.size() - std::min(kMaxLook, sorts_.size());
  for (std::size_t i = sorts_.size(); i-- > end;)
    if (are_one_sort(*sorts_[i], s)) return i + 1;
  sorts_.push_back(&s);
  return sorts_.size();
}

const Query<sql::settle_row>& SettleBatch::statement() const { return sorts_.size() == 1 ? kOneSort : kSeveralSorts; }

Parameters SettleBatch::take(Shard shard) const {
  Parameters all;
  all.reserve(std::size(kColumns) + 2);
  all.emplace_back(std::to_string(shard));
  for (const auto& column : kColumns) {
    if (column.part != shared) {
      all.emplace_back(array_of(column, batch_));
    } else if (sorts_.size() == 1) {
      all.push_back(column.text(*sorts_.front()));
    } else {
      ArrayText array;
      for (const Settlement* first : sorts_) column.add(array, *first);
      all.emplace_back(array.take());
    }
  }
  if (sorts_.size() == 1) return all;
  ArrayText array;
  for (const auto sort : sort_) array.add(static_cast<std::int64_t>(sort));
  all.emplace_back(array.take());
  return all;
}

}  // namespace waybill
