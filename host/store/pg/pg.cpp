// libpqxx, and nothing of it beyond this file.
#include "store/pg/pg.h"

#include <charconv>
#include <chrono>
#include <pqxx/pqxx>
#include <set>

#include "store/pg/error_words.h"
#include "store/pg/session_limits.h"
#include "store/pg/session_watch.h"
#include "store/pg/sqlstate.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // libpqxx 7 deprecates what 6 and 7 share

namespace waybill {
namespace {

// A commit that the server could not replicate as it was asked to comes with a warning, not an error.
class SyncWatch final : public pqxx::errorhandler {
 public:
  explicit SyncWatch(pqxx::connection& connection) : pqxx::errorhandler(connection) {}
  bool operator()(const char message[]) noexcept override {
    if (std::string_view(message).find("wait for synchronous replication") != std::string_view::npos) cancelled_ = true;
    return false;
  }
  bool take() { return std::exchange(cancelled_, false); }

 private:
  bool cancelled_ = false;
};

bool is_keyword_string(const std::string& url) { return !url.starts_with("postgresql://") && !url.starts_with("postgres://"); }

std::string with_defaults(const std::string& url, std::string_view purpose) {
  const bool keywords = is_keyword_string(url);
  std::string all = url;
  const auto add = [&](std::string_view key, std::string_view value) {
    if (url.find(key) != std::string::npos) return;
    all += keywords ? " " : (all.find('?') == std::string::npos ? "?" : "&");
    all.append(key).append("=").append(value);
  };
  add("connect_timeout", "5");
  add("tcp_user_timeout", "15000");
  add("application_name", "waybill-" + std::string(purpose));
  return all;
}

// libpqxx 6 forgets that of one kind.
std::string sqlstate_of(const pqxx::sql_error& error) {
  if (error.sqlstate().empty() && dynamic_cast<const pqxx::insufficient_privilege*>(&error)) return "42501";
  return error.sqlstate();
}

std::string milliseconds(Millis length) { return "'" + std::to_string(length.count()) + "ms'"; }

// What a session is set to at its beginning. The last statement asks whether the server only reads.
//
// One plan serves whatever the parameters are, and its joins are probes of indexes. See kPlanLife. Without statistics, as a table
// that was just filled has none, the planner thinks that next to nothing of it is due: what is off here is what it would do then.
//
// What is acknowledged is on disk, whatever else the server is for: a commit that does not wait for its own disk is made to.
// Those that wait for more, or only for that (local), are as they were set.
//
// The server does not tell a statement's parameters when it fails: they hold payloads.
std::string beginning(const std::string& schema, const SessionLimits& limits) {
  return "SET search_path TO " + quoted_identifier(schema) +
         "; SET TimeZone TO 'UTC'; SET jit TO off; SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off;"
         " SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET enable_bitmapscan TO off; SET enable_material TO off;"
         " SET client_min_messages TO warning; SET client_encoding TO 'UTF8';"
         " SET log_parameter_max_length_on_error TO 0; SET statement_timeout TO " +
         milliseconds(limits.statement) + "; SET lock_timeout TO " + milliseconds(limits.lock) +
         // A transaction whose client was cut off while nothing ran must not keep its locks.
         "; SET idle_in_transaction_session_timeout TO " + milliseconds(limits.statement) +
         // Nor may a session be there for hours whose client cannot be reached any more.
         "; SET tcp_keepalives_idle TO 30; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 3;"
         " SET tcp_user_timeout TO '60s'"
         "; SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';"
         " SELECT pg_is_in_recovery(), current_setting('transaction_read_only') = 'on'";
}

constexpr auto kStandby =
    "the server is a standby and only reads: name all servers in database.url and add target_session_attrs=read-write";
constexpr auto kReadOnly =
    "the server takes no writes from this role: default_transaction_read_only is on for the server, the database or the role";

pqxx::result execute(pqxx::nontransaction& work, const char* name, const Parameters& parameters) {
#if PQXX_VERSION_MAJOR >= 7
  pqxx::params all;
  all.reserve(parameters.size());
  for (const auto& p : parameters) p ? all.append(pqxx::zview(*p)) : all.append();
  return work.exec_prepared(name, all);
#else
  std::vector<const char*> all;
  all.reserve(parameters.size());
  for (const auto& p : parameters) all.push_back(p ? p->c_str() : nullptr);
  return work.exec_prepared(name, pqxx::prepare::make_dynamic_params(all));
#endif
}

std::string quoted(std::string_view text, char quote) {
  std::string all(1, quote);
  for (const char c : text) all.append(c == quote ? 2 : 1, c);
  return all + quote;
}

}  // namespace

std::string quoted_identifier(std::string_view name) { return quoted(name, '"'); }
std::string quoted_literal(std::string_view text) { return quoted(text, '\''); }

// The cells of all rows. libpqxx takes and drops references to the whole result with each access to a cell, but not with each
// step of an iterator.
struct Rows::Data {
  pqxx::result result;
  std::size_t rows = 0, columns = 0;
  std::vector<std::string_view> cells;  // one without data is null

  // Throws std::logic_error if it is not as the statement says.
  void take(const pqxx::result& from, std::span<const Column> described = {}) {
    result = from;
    rows = static_cast<std::size_t>(result.size());
    columns = static_cast<std::size_t>(result.columns());
    if (!described.empty() && described.size() != columns)
      throw std::logic_error("it answers " + std::to_string(columns) + " columns, not " + std::to_string(described.size()));
    cells.reserve(rows * columns);
    for (const auto row : result) {
      const auto* column = described.data();
      const auto end = row.end();
      for (auto cell = row.begin(); cell != end; ++cell) {
        cells.push_back(cell->is_null() ? std::string_view()
                                        : std::string_view(cell->c_str(), static_cast<std::size_t>(cell->size())));
        if (described.empty()) continue;
        if (cells.back().data() == nullptr && !column->may_be_null)
          throw std::logic_error(std::string(column->name) + " is null");
        ++column;
      }
    }
  }
};
Rows::Rows() : data_(std::make_unique<Data>()) {}
Rows::~Rows() = default;
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(Rows&&) noexcept = default;
std::size_t Rows::size() const { return data_->rows; }

bool Rows::is_null(std::size_t row, int column) const { return text(row, column).data() == nullptr; }
std::string_view Rows::text(std::size_t row, int column) const {
  if (row >= data_->rows) return {};
  return data_->cells[row * data_->columns + static_cast<std::size_t>(column)];
}
std::int64_t Rows::number(std::size_t row, int column) const {
  const auto digits = text(row, column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}
bool Rows::flag(std::size_t row, int column) const { return text(row, column) == "t"; }

void ArrayText::next() {
  if (text_.size() > 1) text_ += ',';
}
ArrayText& ArrayText::add(std::int64_t value) {
  next();
  text_ += std::to_string(value);
  return *this;
}
ArrayText& ArrayText::add(std::string_view value) {
  next();
  text_ += '"';
  for (std::size_t start = 0;;) {
    const auto special = value.find_first_of("\"\\", start);
    text_.append(value.substr(start, special - start));
    if (special == std::string_view::npos) break;
    text_ += '\\';
    text_ += value[special];
    start = special + 1;
  }
  text_ += '"';
  return *this;
}
ArrayText& ArrayText::add_flag(bool value) {
  next();
  text_ += value ? 't' : 'f';
  return *this;
}
ArrayText& ArrayText::add_null() {
  next();
  text_ += "NULL";
  return *this;
}
std::string ArrayText::take() { return std::move(text_ += '}'); }

// A plan that was made while a table was next to empty reads all of it for each row that it looks for, and a table can be filled
// faster than the server notices by itself. So plans are made anew, once a second where there is work.
constexpr auto kPlanLife = std::chrono::seconds(1);

struct Connection::Session {
  explicit Session(const std::string& options) : connection(options), sync_watch(connection) {
#if PQXX_VERSION_MAJOR < 7
    connection.inhibit_reactivation(true);  // a lost session must not come back unnoticed: locks went with it
#endif
  }
  pqxx::connection connection;
  SyncWatch sync_watch;                      // after the connection: it must go first
  std::optional<SessionWatch::Place> place;  // the same
  SessionLimits limits;
  bool is_worn = false;  // a new session may do better
  bool was_cut = false;
  std::set<std::string_view> prepared;
  std::chrono::steady_clock::time_point planned_at = std::chrono::steady_clock::now();

  template <class Work>
  Result<Rows> guarded(std::string_view what, Work work) {
    if (!place) return tried(what, work);
    const auto until = limits.statement.count() == 0
                           ? SessionWatch::Time::max()
                           : std::chrono::steady_clock::now() + limits.statement + SessionLimits::kServersLead;
    if (!place->begin(until)) return fail(Error::Kind::unavailable, std::string(what) + ": the host is stopping");
    auto rows = tried(what, work);
    if (!place->end(rows.has_value())) return rows;
    is_worn = was_cut = true;
    if (rows) return rows;  // its answer came as its time was over
    return fail(Error::Kind::unavailable,
                std::string(what) + ": no answer from the database in its time; the connection was ended");
  }

 private:
  template <class Work>
  Result<Rows> tried(std::string_view what, Work work) {
    try {
      Rows rows = work();
      if (sync_watch.take())
        return fail(Error::Kind::unavailable, std::string(what) + ": committed here, but not on the synchronous standby");
      return rows;
    } catch (const pqxx::broken_connection& e) {
      return fail(Error::Kind::unavailable, std::string(what) + ": the database connection is lost: " + e.what());
    } catch (const pqxx::sql_error& e) {
      const auto sqlstate = sqlstate_of(e);
      const auto remedy = remedy_for(sqlstate);
      is_worn |= remedy == Remedy::new_session;
      return fail(remedy == Remedy::none && connection.is_open() ? Error::Kind::bug : Error::Kind::unavailable,
                  std::string(what) + ": " + error_words(e.what(), sqlstate) + " [" + sqlstate + "]");
    } catch (const std::logic_error& e) {
      return fail(connection.is_open() ? Error::Kind::bug : Error::Kind::unavailable, std::string(what) + ": " + e.what());
    } catch (const std::exception& e) {  // the server gave no reason, or (libpqxx 6) it was a deadlock
      return fail(Error::Kind::unavailable, std::string(what) + ": " + e.what());
    }
  }
};

Connection::Connection(std::unique_ptr<Session> session) : session_(std::move(session)) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
bool Connection::is_open() const {
  return session_->connection.is_open() && !session_->is_worn && !(session_->place && session_->place->is_cut());
}
bool Connection::was_cut() const { return session_->was_cut; }

Result<Connection> Connection::open(const DatabaseAddress& address, std::string_view purpose) {
  const auto& watch = address.watch;
  if (watch && watch->is_over()) return fail(Error::Kind::unavailable, "the host is stopping");
  try {
    Connection opened(std::make_unique<Session>(with_defaults(address.url, purpose)));
    Session& session = *opened.session_;
    session.limits = limits_of(purpose, address.timeouts);
    if (watch) session.place.emplace(watch, std::string(purpose), session.connection.sock());
    const auto begun = opened.script(beginning(address.schema, session.limits));
    TRY(begun);
    if (session.limits.writes && begun->flag(0, 1)) {
      const auto* why = begun->flag(0, 0) ? kStandby : kReadOnly;
      if (watch) watch->refused(std::string(purpose), why);
      return fail(Error::Kind::unavailable, why);
    }
    return opened;
  } catch (const std::exception& e) {
    return fail(Error::Kind::unavailable, "cannot connect to the database: " + connection_error_words(e.what(), address.url));
  }
}

Result<Rows> Connection::run(const Statement& statement, const Parameters& parameters) {
  return session_->guarded(statement.name, [&] {
    if (!session_->prepared.contains(statement.name)) {
      session_->connection.prepare(statement.name, statement.sql);
      session_->prepared.insert(statement.name);
    }
    pqxx::nontransaction work(session_->connection);
    if (const auto now = std::chrono::steady_clock::now(); now - session_->planned_at > kPlanLife) {
      work.exec("DISCARD PLANS");
      session_->planned_at = now;
    }
    Rows rows;
    rows.data_->take(execute(work, statement.name, parameters), statement.columns);
    return rows;
  });
}

Result<Rows> Connection::script(const std::string& sql) {
  return session_->guarded("script", [&] {
    pqxx::nontransaction work(session_->connection);
    Rows rows;
    rows.data_->take(work.exec(sql));  // the simple protocol runs several statements as one transaction
    return rows;
  });
}

Result<void> Connection::set_lock_timeout(Millis length) {
  TRY(script("SET lock_timeout TO " + milliseconds(length)));
  return {};
}

Result<void> Link::open() {
  if (connection_) drop_if_lost();
  if (connection_) return {};
  was_cut_ = false;
  auto opened = Connection::open(address_, purpose_);
  TRY(opened);
  connection_ = std::move(*opened);
  return {};
}

void Link::drop() {
  was_cut_ = connection_->was_cut();
  connection_.reset();
}

void Link::drop_if_lost() {
  if (!connection_->is_open()) drop();
}

Result<Rows> Link::run(const Statement& statement, const Parameters& parameters) {
  TRY(open());
  auto rows = connection_->run(statement, parameters);
  drop_if_lost();
  return rows;
}

Result<Rows> Link::read(const Statement& statement, const Parameters& parameters) {
  auto rows = run(statement, parameters);
  return !rows && was_dead(rows.error()) ? run(statement, parameters) : std::move(rows);
}

}  // namespace waybill
