// Erasing an organisation from every table. As the tables' owner; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/pg/pg.h"

namespace waybill {

struct OrgToErase {
  OrgId id;
  Timestamp created, now;
  std::optional<Timestamp> disabled;
  Seconds disabled_for{0};
};
struct ErasableTable {
  std::string name;
  std::int64_t leaf = 0, pages = 0;  // the table itself, or a partition of it
};
struct ErasedTable {
  std::string name;
  std::int64_t rows = 0;
  std::optional<Timestamp> oldest, newest;
  std::string digest;  // SHA-256 over the keys of its rows, chained from batch to batch
  Timestamp begun;
};

class ErasureStore {
 public:
  virtual ~ErasureStore() = default;
  virtual Result<std::optional<OrgToErase>> find(const std::string& name) = 0;
  // Notes the beginning in the audit, once.
  virtual Result<void> begin(OrgId org, const std::string& name, const std::string& actor) = 0;
  // Every table with organisations' rows, in the order in which they are erased.
  virtual Result<std::vector<ErasableTable>> tables() = 0;
  // One transaction, for some pages of a table. Returns how many rows.
  virtual Result<std::int64_t> erase(OrgId org, const ErasableTable& table, std::int64_t first_page, int pages) = 0;
  virtual Result<std::int64_t> erase_token_uses(OrgId org) = 0;
  virtual Result<std::vector<ErasedTable>> erased(OrgId org) = 0;
  // Deletes the organisation and keeps the certificate, a JSON object.
  virtual Result<void> end(OrgId org, const std::string& actor, const std::string& certificate) = 0;
  // Of an organisation that was erased.
  virtual Result<std::optional<std::string>> certificate(const std::string& name) = 0;
};

std::unique_ptr<ErasureStore> make_erasure_store(const DatabaseAddress& owner);

}  // namespace waybill
