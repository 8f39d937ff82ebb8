// Reading an organisation's rows of every table, as of one moment. As the tables' owner; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/organisations/left_out.h"
#include "store/pg/pg.h"

namespace waybill {

struct OrgToExport {
  OrgId id;
  Timestamp now;  // of the snapshot
  int schema = 0, shards = 1;
};

struct ExportVisitor {
  std::function<Result<void>(const OrgToExport&)> begin;
  std::function<Result<void>(const std::string& table, std::string_view row)> row;  // a JSON object on one line
};

struct ExportNote {
  std::string name, actor;
  std::int64_t rows = 0;
  std::string digest;
};

class ExportStore {
 public:
  virtual ~ExportStore() = default;
  // One transaction that only reads, REPEATABLE READ. Tables come behind those that they refer to; the rows of each in the order
  // of its key. A few rows at a time are in memory. An error of the visitor ends it. Error::not_found: there is no such
  // organisation.
  virtual Result<void> read(const std::string& name, std::span<const LeftOut> left_out, const ExportVisitor& visitor) = 0;
  // The line in the audit.
  virtual Result<void> note(OrgId org, const ExportNote& note) = 0;
};

std::unique_ptr<ExportStore> make_export_store(const DatabaseAddress& owner);

}  // namespace waybill
