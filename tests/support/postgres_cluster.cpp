// initdb, then postgres as a direct child; everything by its process id.
#include "support/postgres_cluster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "support/sql_client.h"

namespace waybill::testing {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<PostgresCluster>& slot() {
  static auto* kept = new std::unique_ptr<PostgresCluster>;  // emptied by ClusterEnvironment
  return *kept;
}

class ClusterEnvironment final : public ::testing::Environment {
 public:
  void TearDown() override { slot().reset(); }
};

[[maybe_unused]] const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new ClusterEnvironment);

}  // namespace

PostgresCluster& cluster() {
  if (!slot()) slot() = std::make_unique<PostgresCluster>();
  return *slot();
}

fs::path postgres_programs() {
  fs::path best;
  int best_version = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version > best_version && fs::exists(entry.path() / "bin/initdb")) {
      best_version = version;
      best = entry.path() / "bin";
    }
  }
  if (!best.empty()) return best;
  const char* search = std::getenv("PATH");
  std::istringstream folders(search == nullptr ? "" : search);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (fs::exists(fs::path(folder) / "initdb", ignored)) return folder;
    if (!fs::exists(fs::path(folder) / "pg_config", ignored)) continue;
    auto said = run({.arguments = {folder + "/pg_config", "--bindir"}}).out;
    said.erase(said.find_last_not_of('\n') + 1);
    if (fs::exists(fs::path(said) / "initdb", ignored)) return said;
  }
  throw std::runtime_error("no PostgreSQL server programs found");
}

PostgresCluster::PostgresCluster(std::map<std::string, std::string> environment, std::string listens_on)
    : programs_(postgres_programs()), environment_(std::move(environment)), listens_on_(std::move(listens_on)) {
  const auto user = database_user();
  if (user && ::chown(folder_.path().c_str(), user->first, user->second) != 0) throw std::runtime_error("chown failed");
  const auto made = run({.arguments = {programs_ / "initdb", "-D", folder_.path() / "data", "-U", "postgres", "-A", "trust", "-E",
                                       "UTF8", "--no-locale", "--no-sync"},
                         .folder = "/",
                         .user = user});
  if (made.exit_code != 0) throw std::runtime_error("initdb failed: " + made.out + made.err);
  const auto settings = folder_.path() / "data/postgresql.conf";  // where ALTER SYSTEM goes before them
  write_file(settings, read_file(settings) + "\nfsync = off\n");
  start();
}

PostgresCluster::~PostgresCluster() {
  if (server_) thaw();
  if (server_) stop(Stop::immediate);
}

void PostgresCluster::start() {
  const auto log = folder_.path() / "log";
  server_ = std::make_unique<Process>(
      Command{.arguments = {programs_ / "postgres", "-D", folder_.path() / "data", "-k", folder_.path(), "-c",
                            "listen_addresses=" + listens_on_, "-c", "max_connections=300", "-c", "log_min_messages=warning"},
              .environment = environment_,
              .folder = "/",
              .err = log,
              .user = database_user(),
              .signal_if_orphaned = SIGQUIT});
  const bool up = eventually([&] { return !server_->running() || SqlClient::can_connect(url("postgres")); });
  if (!up || !server_->running()) throw std::runtime_error("postgres did not start: " + read_file(log));
}

void PostgresCluster::stop(Stop how) {
  server_->signal(how == Stop::fast ? SIGINT : SIGQUIT);
  if (!server_->wait()) throw std::runtime_error("postgres did not stop");
  server_.reset();
}

void PostgresCluster::restart(Stop how) {
  stop(how);
  start();
}

void PostgresCluster::freeze() { signal_all(SIGSTOP); }
void PostgresCluster::thaw() { signal_all(SIGCONT); }

void PostgresCluster::signal_all(int number) {
  server_->signal(number);  // it makes no more children then
  for (const auto child : children_of(server_->pid())) ::kill(child, number);
}

std::string PostgresCluster::create_database(const std::string& like) {
  const auto name = "waybill_" + std::to_string(++databases_);
  const auto from =
      like.empty() ? "template1" : like.substr(like.find('@') + 2, like.find('?') - like.find('@') - 2) + " STRATEGY file_copy";
  SqlClient(url("postgres")).execute("CREATE DATABASE " + name + " TEMPLATE " + from);
  return url(name);
}

void PostgresCluster::create_role(const std::string& name, const std::string& attributes) {
  SqlClient(url("postgres"))
      .execute("DO $$ BEGIN CREATE ROLE \"" + name + "\" " + attributes + "; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
}

std::string as_role(const std::string& url, const std::string& role) {
  constexpr std::string_view kSuperuser = "//postgres@";
  auto other = url;
  return other.replace(other.find(kSuperuser), kSuperuser.size(), "//" + role + "@");
}

std::string PostgresCluster::url(const std::string& database) const {
  return "postgresql://postgres@/" + database + "?host=" + folder_.path().string();
}

}  // namespace waybill::testing
