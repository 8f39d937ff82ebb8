// A real PostgreSQL of the tests' own: one cluster for each test program, on a unix socket, with durable defaults.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::testing {

// One thread at a time.
class PostgresCluster {
 public:
  enum class Stop {
    fast,      // sessions are cut off, then an orderly end
    immediate  // as after a crash: the next start recovers from the log
  };

  // `environment` is the server's, on top of this process's own. `listens_on`: an address of this machine, besides the socket.
  explicit PostgresCluster(std::map<std::string, std::string> environment = {}, std::string listens_on = {});
  ~PostgresCluster();

  // Fresh and empty, or a copy of the database at `like`, to which nobody is connected; returns its URL, as a superuser.
  std::string create_database(const std::string& like = {});
  void create_role(const std::string& name,
                   const std::string& attributes = "LOGIN");  // unless it is there: roles are the cluster's
  void start();
  void stop(Stop how = Stop::fast);
  void restart(Stop how = Stop::fast);
  // SIGSTOP to the server and all its processes: they hang with their sockets open. thaw() lets them go on.
  void freeze();
  void thaw();

  std::string url(const std::string& database) const;
  const std::filesystem::path& folder() const { return folder_.path(); }  // of its socket, and of data/

 private:
  void signal_all(int number);

  TempFolder folder_;
  std::filesystem::path programs_;
  std::map<std::string, std::string> environment_;
  std::string listens_on_;
  std::unique_ptr<Process> server_;
  int databases_ = 0;
};

// The same database as another role; nobody is asked for a password.
std::string as_role(const std::string& url, const std::string& role);

// This program's cluster, started at first use and stopped when the tests are over.
PostgresCluster& cluster();

// The folder of the newest server programs on this machine (initdb, postgres); throws if there are none.
std::filesystem::path postgres_programs();

}  // namespace waybill::testing
