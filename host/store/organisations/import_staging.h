// The rows of a file in a temporary table, before anything is inserted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/organisations/import_store.h"

namespace waybill {

// A column that is inserted, and what is inserted there.
struct ImportValue {
  std::string column, value;  // quoted, and an expression
};
struct ImportTable {
  std::string name;
  std::vector<ImportValue> values;
  std::vector<std::string> columns;  // of its rows in the file
};

// In a transaction of the connection; one thread at a time.
class ImportStaging final : public ImportRows {
 public:
  ImportStaging(Connection& connection, const ImportOrder& order, std::span<const LeftOut> left_out);

  Result<ImportPlace> begin(const ImportHeader& header) override;
  Result<void> add(const StagedRow& row) override;
  Result<void> finish();  // once there are no more

  const ImportHeader& header() const { return header_; }
  OrgId org() const { return place_.org; }
  int shards() const { return place_.shards; }
  const std::string& name() const { return name_; }
  bool keeps_number() const { return keeps_number_; }
  const std::vector<ImportTable>& tables() const { return tables_; }  // each behind those that it refers to

 private:
  struct Waiting {
    std::int64_t line = 0;
    std::string table;
    std::optional<Shard> home;
    std::string text;
  };

  Result<void> flush();
  Result<void> choose_number(bool is_used);
  Result<void> read_columns();
  Result<void> stage(std::span<const Waiting> rows);

  Connection& connection_;
  const ImportOrder& order_;
  const std::span<const LeftOut> left_out_;
  ImportHeader header_;
  std::string name_;
  ImportPlace place_;
  bool keeps_number_ = true;
  std::vector<ImportTable> tables_;
  std::vector<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
};

// The error of a row that the database refuses.
tl::unexpected<Error> refused_line(std::int64_t line, const std::string& table, const Error& error);

}  // namespace waybill
