// initdb, postgres as a direct child, and pgbench beside them.
#include "bench/postgres.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "bench/interrupt.h"
#include "bench/usage.h"
#include "support/sql_client.h"

namespace waybill::bench {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::seconds kStart{60};

fs::path newest_programs() {
  fs::path best;
  int best_version = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version <= best_version || !fs::exists(entry.path() / "bin/initdb")) continue;
    best_version = version;
    best = entry.path() / "bin";
  }
  if (best.empty())
    throw std::runtime_error("no PostgreSQL server below /usr/lib/postgresql: run ./dev deps, or install the package postgresql");
  return best;
}

int shared_buffers_mb() { return std::clamp(static_cast<int>(this_machine().memory_mb / 4), 128, 2048); }

}  // namespace

Postgres::Postgres(const std::vector<std::string>& settings)
    : programs_(newest_programs()),
      settings_{"shared_buffers=" + std::to_string(shared_buffers_mb()) + "MB", "max_wal_size=8GB", "max_connections=100"} {
  settings_.insert(settings_.end(), settings.begin(), settings.end());
  const auto user = testing::database_user();
  if (user && ::chown(folder_.path().c_str(), user->first, user->second) != 0)
    throw std::runtime_error("cannot give a folder to user postgres");
  const auto made = testing::run({.arguments = {programs_ / "initdb", "-D", folder_.path() / "data", "-U", "postgres", "-A",
                                                "trust", "-E", "UTF8", "--no-locale", "--no-sync"},
                                  .folder = "/",
                                  .user = user});
  if (made.exit_code != 0) throw std::runtime_error("initdb failed: " + made.out + made.err);

  std::vector<std::string> arguments{programs_ / "postgres", "-D", folder_.path() / "data", "-k",
                                     folder_.path(),         "-c", "listen_addresses="};
  for (const auto& setting : settings_) arguments.insert(arguments.end(), {"-c", setting});
  const auto log = folder_.path() / "log";
  server_ = std::make_unique<testing::Process>(
      testing::Command{.arguments = arguments, .folder = "/", .err = log, .user = user, .signal_if_orphaned = SIGQUIT});
  const bool up = wait_until([&] { return !server_->running() || testing::SqlClient::can_connect(url("postgres")); }, kStart,
                             std::chrono::milliseconds(50));
  if (!up || !server_->running()) throw std::runtime_error("PostgreSQL did not start: " + testing::read_file(log));
}

Postgres::~Postgres() {
  server_->signal(SIGQUIT);  // its data is thrown away: no need to write it out
  server_->wait();
}

Database::Database(std::string server_url, std::string name, std::string url)
    : server_url_(std::move(server_url)), name_(std::move(name)), url_(std::move(url)) {
  testing::SqlClient(server_url_).execute("CREATE DATABASE " + name_);
}

Database::~Database() {
  if (name_.empty()) return;  // moved from
  try {
    testing::SqlClient(server_url_).execute("DROP DATABASE " + name_ + " WITH (FORCE)");  // PostgreSQL makes a checkpoint of it
  } catch (const std::exception& e) {
    std::fprintf(stderr, "waybill_bench: a database stays until the end: %s\n", e.what());
  }
}

Database Postgres::create_database() {
  const auto name = "bench_" + std::to_string(++databases_);
  return {url("postgres"), name, url(name)};
}

double Postgres::commits_per_second(int clients, int seconds, std::size_t body_bytes) {
  if (!fs::exists(programs_ / "pgbench")) return 0;
  const auto database = create_database();
  testing::SqlClient(database.url())
      .execute("CREATE TABLE commits (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)");
  const testing::TempFolder folder;
  const auto script = folder.path() / "commit.sql";
  testing::write_file(script, "INSERT INTO commits (body) VALUES ('" + std::string(body_bytes, 'x') + "');\n");
  const auto done = testing::run({.arguments = {programs_ / "pgbench", "-n", "-M", "prepared", "-c", std::to_string(clients),
                                                "-j", "2", "-T", std::to_string(seconds), "-f", script, database.url()}});
  check_interrupted();
  const auto at = done.out.find("tps = ");
  if (done.exit_code != 0 || at == std::string::npos) throw std::runtime_error("pgbench failed: " + done.out + done.err);
  return std::strtod(done.out.c_str() + at + 6, nullptr);
}

std::string Postgres::url(const std::string& database) const {
  return "postgresql://postgres@/" + database + "?host=" + folder_.path().string();
}

}  // namespace waybill::bench
