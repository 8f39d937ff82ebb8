// A streaming standby of a cluster of the tests, to be promoted when the test says so.
#pragma once

#include <memory>
#include <string>

#include "support/postgres_cluster.h"

namespace waybill::testing {

// One thread at a time.
class PostgresStandby {
 public:
  explicit PostgresStandby(const PostgresCluster& primary);  // and waits until it streams
  ~PostgresStandby();

  // The same database as `url` here, to read from; and here or on the primary, wherever it may be written.
  std::string url_of(const std::string& url) const;
  std::string either(const std::string& url) const;
  void stop_receiving();  // from here on it knows nothing new
  void promote();         // and waits until it takes writes

 private:
  TempFolder folder_;
  std::filesystem::path programs_;
  std::unique_ptr<Process> server_;
};

}  // namespace waybill::testing
