// Writing the rows of a file into a database, as one organisation. As the tables' owner; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "store/organisations/left_out.h"
#include "store/pg/pg.h"
#include "vault/vault.h"

namespace waybill {

struct ImportOrder {
  std::string name;  // that it gets; "": the one that it has in the file
  std::string actor;
  bool is_rehearsal = false;  // all is done, and undone at the end
};

// What the file says of itself.
struct ImportHeader {
  std::string name;
  OrgId org;
  std::string exported_at, program;
  int schema = 0;
};

struct ImportedFile {
  std::int64_t rows = 0;
  std::map<std::string, std::int64_t> tables;
  std::string digest;
};

struct ImportColumn {
  std::string name;
  bool is_array = false;
  bool is_id = false;    // of an object: a number, or null
  bool is_time = false;  // one of RFC 3339, or null
};
// What a file's rows must have, by table, and where they will be.
struct ImportPlace {
  OrgId org;
  int shards = 1;
  std::map<std::string, std::map<std::string, ImportColumn>, std::less<>> tables;  // columns by name
};

struct StagedRow {
  std::int64_t line = 0;
  std::string_view table;
  std::optional<Shard> home;  // where its submission or channel belongs, of rows that tell
  std::string_view text;      // the whole line
};

class ImportRows {
 public:
  virtual ~ImportRows() = default;
  // First of all. Error::conflict: the organisation cannot be had here.
  virtual Result<ImportPlace> begin(const ImportHeader& header) = 0;
  virtual Result<void> add(const StagedRow& row) = 0;
};

struct OrgImported {
  OrgId org;
  std::string name;
  ImportHeader from;
  ImportedFile file;
  std::int64_t open = 0;              // deliveries
  std::vector<std::string> channels;  // living ones, by name: their receivers need a new secret
  bool is_disabled = false;
};

class ImportStore {
 public:
  virtual ~ImportStore() = default;
  // One transaction: what `read` hands over is staged, and once it says that the file is whole, inserted. `progress` is told how
  // many rows have been inserted. Error::invalid names the line; nothing is left of an import that fails.
  virtual Result<OrgImported> run(const ImportOrder& order, std::span<const LeftOut> left_out,
                                  const std::function<Result<ImportedFile>(ImportRows&)>& read,
                                  const std::function<void(std::int64_t)>& progress) = 0;
};

// The vault seals the new secrets of channels; one without a key does for organisations without channels.
std::unique_ptr<ImportStore> make_import_store(const DatabaseAddress& owner, std::shared_ptr<const Vault> vault);

}  // namespace waybill
