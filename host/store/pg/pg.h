// A thin layer over libpqxx: prepared statements in, text rows out, failures as values. Only store/ includes it. Only pg.cpp
// includes libpqxx, and handles the differences between libpqxx 6 and 7.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "config/config.h"
#include "store/pg/rows.h"
#include "store/pg/statement.h"

namespace waybill {

// Builds the text form of a PostgreSQL array.
class ArrayText {
 public:
  ArrayText& add(std::int64_t value);
  ArrayText& add(std::string_view value);  // must not hold NUL bytes
  ArrayText& add_flag(bool value);
  ArrayText& add_null();
  std::string take();

 private:
  void next();
  std::string text_ = "{";
};

// A name or a text, quoted for SQL.
std::string quoted_identifier(std::string_view name);
std::string quoted_literal(std::string_view text);

using Parameters = std::vector<std::optional<std::string>>;

template <class OneRow>
RowsOf<OneRow> as_rows(Rows&& rows) {
  return RowsOf<OneRow>(std::move(rows));
}

class SessionWatch;

struct DatabaseAddress {
  std::string url;  // libpq URI or keyword string
  std::string schema;
  DatabaseTimeouts timeouts{};            // enforced by the server
  std::shared_ptr<SessionWatch> watch{};  // enforces them when the server hangs; null: none
};

// One session; one thread at a time. After Error::unavailable the session may be gone: check is_open().
class Connection {
 public:
  // `purpose` appears in pg_stat_activity and selects the statement timeouts (session_limits.h). The schema need not exist before
  // a statement uses it. A read-only server is refused if the purpose is to write.
  static Result<Connection> open(const DatabaseAddress& address, std::string_view purpose);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  // Runs one statement, committed when it returns. Error::unavailable: it may or may not have been carried out. Error::bug as
  // well if the answer is not what the statement's columns say: there are more or fewer, or one is null that must not be.
  Result<Rows> run(const Statement& statement, const Parameters& parameters = {});
  template <class OneRow>
  Result<RowsOf<OneRow>> run(const Query<OneRow>& query, const Parameters& parameters = {}) {
    return run(static_cast<const Statement&>(query), parameters).map(as_rows<OneRow>);
  }
  // One or more statements in one transaction.
  Result<Rows> script(const std::string& sql);
  Result<void> set_lock_timeout(Millis length);  // for the statements that follow
  bool is_open() const;                          // also false if only a new session can succeed
  bool was_cut() const;                          // the watch cut it, because a statement took too long

 private:
  struct Session;
  explicit Connection(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session_;
};

// What such a statement answers: Result<Rows>, or Result<RowsOf<...>> of a query.
template <class OneStatement>
using AnswerOf = decltype(std::declval<Connection&>().run(std::declval<const OneStatement&>()));

// A connection that opens on demand and reopens after a loss.
class Link {
 public:
  Link(DatabaseAddress address, std::string purpose) : address_(std::move(address)), purpose_(std::move(purpose)) {}
  Result<Rows> run(const Statement& statement, const Parameters& parameters = {});
  template <class OneRow>
  Result<RowsOf<OneRow>> run(const Query<OneRow>& query, const Parameters& parameters = {}) {
    return run(static_cast<const Statement&>(query), parameters).map(as_rows<OneRow>);
  }
  // For read-only statements: replaces a dead session and runs the statement again at once.
  Result<Rows> read(const Statement& statement, const Parameters& parameters = {});
  template <class OneRow>
  Result<RowsOf<OneRow>> read(const Query<OneRow>& query, const Parameters& parameters = {}) {
    return read(static_cast<const Statement&>(query), parameters).map(as_rows<OneRow>);
  }
  // Several statements, each committed by itself; `work` takes a Connection& and returns a Result.
  template <class Work>
  std::invoke_result_t<Work, Connection&> use(Work work) {
    TRY(open());
    auto answer = work(*connection_);
    drop_if_lost();
    return answer;
  }
  // The same, and none of them waits longer than a moment for a lock.
  template <class Work>
  std::invoke_result_t<Work, Connection&> use_briefly(Work work) {
    TRY(open());
    auto answer = connection_->set_lock_timeout(kMoment);
    auto done = answer ? work(*connection_) : std::invoke_result_t<Work, Connection&>(tl::unexpected(answer.error()));
    if (connection_->is_open() && !connection_->set_lock_timeout(address_.timeouts.lock)) drop();
    if (connection_) drop_if_lost();
    return done;
  }
  // Several statements in one transaction: an error from `work` rolls back.
  // Error::unavailable may also mean that the commit's answer was lost.
  template <class Work>
  std::invoke_result_t<Work, Connection&> transact(Work work, const char* begin = "BEGIN") {
    TRY(open());
    auto begun = connection_->script(begin);
    if (!begun && !connection_->is_open()) {  // the session was dead: nothing has begun
      drop();
      TRY(open());
      begun = connection_->script(begin);
    }
    auto answer = begun ? work(*connection_) : std::invoke_result_t<Work, Connection&>(tl::unexpected(begun.error()));
    const auto ended = connection_->script(answer ? "COMMIT" : "ROLLBACK");
    if (!ended)
      drop();
    else
      drop_if_lost();
    if (answer && !ended) return tl::unexpected(ended.error());
    return answer;
  }
  // After this error: the session was dead, and a statement that only reads may be run again at once in a new one.
  bool was_dead(const Error& error) const { return error.kind == Error::Kind::unavailable && !connection_ && !was_cut_; }

 private:
  static constexpr Millis kMoment{100};
  Result<void> open();
  void drop();
  void drop_if_lost();

  DatabaseAddress address_;
  std::string purpose_;
  std::optional<Connection> connection_;
  bool was_cut_ = false;  // how the last session was lost
};

}  // namespace waybill
