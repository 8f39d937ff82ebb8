// A private PostgreSQL for measurements, durable as it is shipped: fsync, synchronous_commit and full_page_writes stay on.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::bench {

// One fresh database. Dropped at the end, whoever is still connected: then nothing of the server works on after a measurement.
class Database {
 public:
  Database(std::string server_url, std::string name, std::string url);
  Database(Database&& other) noexcept = default;
  ~Database();

  const std::string& url() const { return url_; }

 private:
  std::string server_url_, name_, url_;
};

// Gone with its data at the end. One thread at a time; made by a thread that lives longer.
class Postgres {
 public:
  // `settings` ("name=value") come on top of its own.
  explicit Postgres(const std::vector<std::string>& settings);
  ~Postgres();

  pid_t pid() const { return server_->pid(); }
  Database create_database();  // fresh and empty
  const std::vector<std::string>& settings() const { return settings_; }

  // Single-row commits per second that pgbench makes with so many clients, or 0 if there is no pgbench.
  double commits_per_second(int clients, int seconds, std::size_t body_bytes);

 private:
  std::string url(const std::string& database) const;

  testing::TempFolder folder_;
  std::filesystem::path programs_;
  std::vector<std::string> settings_;
  std::unique_ptr<testing::Process> server_;
  int databases_ = 0;
};

}  // namespace waybill::bench
