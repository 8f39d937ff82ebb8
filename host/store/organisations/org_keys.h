// The data keys that organisations' secrets are sealed with, each sealed itself with a master key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/pg/pg.h"
#include "vault/vault.h"

namespace waybill {

struct DataKey {
  std::int32_t id = 1;
  std::string sealed;
};

// The organisation's newest one, made if it has none. Error::unavailable: the vault has no master key.
Result<DataKey> newest_data_key(Connection& connection, OrgId org, const Vault& vault);
Result<DataKey> data_key(Connection& connection, OrgId org, std::int32_t id);

// The master keys that data keys of all organisations are sealed with.
Result<std::vector<std::string>> used_master_keys(Link& link);
// A data key that no master key at hand opens.
struct LostKey {
  OrgId org;
  std::string org_name;
  std::int32_t id = 0;
  std::string master;        // which sealed it
  std::size_t channels = 0;  // living ones that need it
};
Result<std::vector<LostKey>> lost_data_keys(Link& link, const Vault& vault);
// In one transaction puts a new data key in the place of a lost one, and new secrets that nobody knows in its channels, which are
// disabled and audited. Answers how many living channels there were. Needs a vault with a key.
Result<std::size_t> give_up_data_key(Link& link, const Vault& vault, const LostKey& lost, const std::string& actor);

// Seals up to `most` data keys anew with the newest master key. Answers how many; 0: all are.
Result<std::size_t> rewrap_data_keys(Link& link, const Vault& vault, std::size_t most);

}  // namespace waybill
