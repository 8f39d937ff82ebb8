// pg_basebackup, then postgres as a direct child, as the primary is.
#include "support/postgres_standby.h"

#include <signal.h>
#include <unistd.h>

#include <stdexcept>

#include "support/sql_client.h"

namespace waybill::testing {
namespace {

constexpr std::string_view kHost = "?host=";

}  // namespace

PostgresStandby::PostgresStandby(const PostgresCluster& primary) : programs_(postgres_programs()) {
  const auto user = database_user();
  if (user && ::chown(folder_.path().c_str(), user->first, user->second) != 0) throw std::runtime_error("chown failed");
  const auto made = run({.arguments = {programs_ / "pg_basebackup", "-h", primary.folder(), "-U", "postgres", "-D",
                                       folder_.path() / "data", "-R", "-X", "stream", "-c", "fast", "--no-sync"},
                         .folder = "/",
                         .user = user});
  if (made.exit_code != 0) throw std::runtime_error("pg_basebackup failed: " + made.out + made.err);
  const auto log = folder_.path() / "log";
  server_ = std::make_unique<Process>(
      Command{.arguments = {programs_ / "postgres", "-D", folder_.path() / "data", "-k", folder_.path(), "-c",
                            "listen_addresses=", "-c", "max_connections=300", "-c", "log_min_messages=warning"},
              .folder = "/",
              .err = log,
              .user = user,
              .signal_if_orphaned = SIGQUIT});
  const auto url = url_of(primary.url("postgres"));
  const bool streams = eventually([&] {
    return SqlClient::can_connect(url) &&
           SqlClient(url).number("SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'") == 1;
  });
  if (!streams) throw std::runtime_error("the standby does not stream: " + read_file(log));
}

PostgresStandby::~PostgresStandby() {
  server_->signal(SIGQUIT);
  server_->wait();
}

std::string PostgresStandby::url_of(const std::string& url) const {
  return url.substr(0, url.find(kHost) + kHost.size()) + folder_.path().string();
}

std::string PostgresStandby::either(const std::string& url) const {
  return url + "," + folder_.path().string() + "&target_session_attrs=read-write";
}

void PostgresStandby::stop_receiving() {
  SqlClient sql(url_of("postgresql://postgres@/postgres?host="));
  sql.execute("ALTER SYSTEM SET primary_conninfo = ''");
  sql.execute("SELECT pg_reload_conf()");
  if (!eventually([&] { return sql.number("SELECT count(*) FROM pg_stat_wal_receiver") == 0; }))
    throw std::runtime_error("the standby goes on receiving");
}

void PostgresStandby::promote() {
  SqlClient sql(url_of("postgresql://postgres@/postgres?host="));
  if (sql.text("SELECT pg_promote(true, 60)") != "t") throw std::runtime_error("the standby was not promoted");
}

}  // namespace waybill::testing
