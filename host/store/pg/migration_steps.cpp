// Reading SQL as far as it takes to know where a statement ends and what it locks.
#include "store/pg/migration_steps.h"

#include <algorithm>
#include <cctype>

namespace waybill {
namespace {

constexpr std::string_view kBatches = "-- Batches";
constexpr std::string_view kLocks = "-- Locks: ";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of what begins at `at` and is no plain SQL: a comment, a quoted text or name, or a dollar quote; `at` if nothing does.
std::size_t end_of_quoted(std::string_view sql, std::size_t at) {
  const auto past = [&](std::string_view end, std::size_t from) {
    const auto found = sql.find(end, from);
    return found == std::string_view::npos ? sql.size() : found + end.size();
  };
  const auto rest = sql.substr(at);
  if (rest.starts_with("--")) return past("\n", at);
  if (rest.starts_with("/*")) return past("*/", at + 2);
  if (rest.front() == '\'' || rest.front() == '"') return past(rest.substr(0, 1), at + 1);  // a doubled one begins the next
  if (rest.front() != '$') return at;
  std::size_t tag = 1;
  while (tag < rest.size() && is_word(rest[tag])) ++tag;
  return tag < rest.size() && rest[tag] == '$' ? past(rest.substr(0, tag + 1), at + tag + 1) : at;
}

// The first words, with a blank behind each. What is quoted is none.
std::string first_words(std::string_view sql) {
  constexpr int kEnough = 16;
  std::string words;
  for (std::size_t at = 0, count = 0; at < sql.size() && count < kEnough;) {
    const auto quoted = end_of_quoted(sql, at);
    auto end = at;
    while (end < sql.size() && is_word(sql[end])) ++end;
    if (end > at) {
      words.append(sql.substr(at, end - at)).append(" ");
      ++count;
    }
    at = std::max({quoted, end, at + 1});
  }
  return words;
}

// How statements begin, what they lock, and the word behind which its name stands.
struct Form {
  std::string_view begin, before_name, lock;
};
constexpr Form kForms[] = {
    {"ALTER TABLE ", "TABLE ", "ACCESS EXCLUSIVE"},
    {"DROP TABLE ", "TABLE ", "ACCESS EXCLUSIVE"},
    {"DROP VIEW ", "VIEW ", "ACCESS EXCLUSIVE"},
    {"CREATE OR REPLACE VIEW ", "VIEW ", "ACCESS EXCLUSIVE"},
    {"CREATE TRIGGER ", " ON ", "SHARE ROW EXCLUSIVE"},
    {"CREATE INDEX CONCURRENTLY ", " ON ", "SHARE UPDATE EXCLUSIVE"},
    {"CREATE UNIQUE INDEX CONCURRENTLY ", " ON ", "SHARE UPDATE EXCLUSIVE"},
    {"CREATE INDEX ", " ON ", "SHARE"},
    {"CREATE UNIQUE INDEX ", " ON ", "SHARE"},
    {"INSERT INTO ", "INTO ", "ROW EXCLUSIVE"},
    {"UPDATE ", "UPDATE ", "ROW EXCLUSIVE"},
    {"DELETE FROM ", "FROM ", "ROW EXCLUSIVE"},
};
constexpr std::string_view kConcurrently = "CONCURRENTLY ";

const Form* form_of(std::string_view words) {
  const auto* const found =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& form) { return words.starts_with(form.begin); });
  return found == std::end(kForms) ? nullptr : found;
}

std::string name_behind(std::string_view words, std::string_view mark) {
  words.remove_prefix(words.find(mark) + mark.size());
  for (const std::string_view filler : {"IF NOT EXISTS ", "IF EXISTS ", "ONLY "})
    if (words.starts_with(filler)) words.remove_prefix(filler.size());
  return std::string(words.substr(0, words.find(' ')));
}

MigrationStep step_of(const std::string& sql, bool in_batches) {
  MigrationStep step{.kind = in_batches ? MigrationStep::Kind::batches : MigrationStep::Kind::transaction,
                     .sql = sql,
                     .table = {},
                     .lock = {},
                     .index = {}};
  const auto words = first_words(sql);
  const auto* form = form_of(words);
  if (form == nullptr || words.find(form->before_name) == std::string::npos) return step;
  step.table = name_behind(words, form->before_name);
  step.lock = form->lock;
  if (!form->begin.ends_with(kConcurrently)) return step;
  step.kind = MigrationStep::Kind::index;
  step.index = name_behind(words, kConcurrently);
  return step;
}

// Splits at semicolons, and tells whether a comment `-- Batches` stands before the statement.
class Splitter {
 public:
  std::vector<MigrationStep> split(std::string_view sql) {
    for (std::size_t at = 0; at < sql.size();) {
      const auto end = end_of_quoted(sql, at);
      const auto piece = sql.substr(at, std::max(end, at + 1) - at);
      at += piece.size();
      if (piece == ";") {
        close();
      } else if (!statement_.empty()) {
        statement_ += piece;
      } else if (piece.starts_with(kBatches)) {
        in_batches_ = true;
      } else if (!piece.starts_with("--") && !piece.starts_with("/*") && piece.find_first_not_of(" \n\t\r") != piece.npos) {
        statement_ = piece;
      }
    }
    close();
    return std::move(steps_);
  }

 private:
  void close() {
    while (!statement_.empty() && std::isspace(static_cast<unsigned char>(statement_.back())) != 0) statement_.pop_back();
    if (statement_ == "BEGIN") {
      group_ = 1;
    } else if (statement_ == "COMMIT" && group_ > 0) {
      group_ = 0;
    } else if (!statement_.empty()) {
      add();
    }
    statement_.clear();
    in_batches_ = false;
  }
  void add() {
    if (group_ < 2) {
      steps_.push_back(step_of(statement_, in_batches_));
      group_ *= 2;
      return;
    }
    // Of several statements no one form tells what they lock.
    steps_.back() = {.kind = MigrationStep::Kind::transaction,
                     .sql = steps_.back().sql + ";\n" + statement_,
                     .table = {},
                     .lock = {},
                     .index = {}};
  }

  std::vector<MigrationStep> steps_;
  std::string statement_;
  bool in_batches_ = false;
  int group_ = 0;  // 0: outside of BEGIN and COMMIT; 1: in front of its first statement; 2: behind that
};

}  // namespace

std::vector<MigrationStep> steps_of(std::string_view sql) { return Splitter().split(sql); }

std::string locks_said(std::string_view sql) {
  const auto at = sql.find(kLocks);
  if (at == std::string_view::npos) return "";
  std::string words;
  for (auto rest = sql.substr(at + kLocks.size() - 1); !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    const auto begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    words.append(words.empty() ? "" : " ").append(line.substr(begin));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!rest.starts_with("--")) break;
    rest.remove_prefix(2);
  }
  return words;
}

}  // namespace waybill
