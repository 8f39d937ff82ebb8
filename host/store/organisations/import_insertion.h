// From the staged rows of a file to rows of the tables.
#pragma once

#include <functional>
#include <string>

#include "store/organisations/import_staging.h"

namespace waybill {

// In a transaction of the connection; one thread at a time.
class ImportInsertion {
 public:
  ImportInsertion(Connection& connection, const ImportStaging& staging, const std::function<void(std::int64_t)>& progress)
      : connection_(connection), staging_(staging), progress_(progress) {}

  // How many deliveries are open. Error::conflict: some are, and the organisation cannot keep its number.
  Result<std::int64_t> check_open_work();
  // Gives new ids, and stores versions of pipelines that are not there yet.
  Result<void> give_ids();
  // Inserts the rows of a table. Error::invalid names the line that the database refuses, and the column if it is one's value.
  Result<void> insert(const ImportTable& table);

 private:
  Result<void> collect_ids();
  Result<void> find_homes();
  Result<void> store_versions();
  Result<void> insert_lines(const ImportTable& table, std::int64_t first, std::int64_t last);
  tl::unexpected<Error> find_refused(const ImportTable& table, std::int64_t first, std::int64_t last, const Error& error);
  std::string refused_column(const ImportTable& table, std::int64_t line);

  Connection& connection_;
  const ImportStaging& staging_;
  const std::function<void(std::int64_t)>& progress_;
  std::int64_t rows_ = 0;
};

}  // namespace waybill
