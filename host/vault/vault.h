// Secrets at rest: AES-256-GCM with a data key for each organisation, which is sealed itself with a master key that only hosts
// have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/secret.h"

namespace waybill {

// Whose a sealed text is. It opens only where all of it is the same.
struct SealedFor {
  OrgId org;
  std::string_view row;    // the row's id, such as a channel's
  std::string_view field;  // such as "secret"
};

inline constexpr std::size_t kMinMasterKeyBytes = 32;

inline constexpr const char* kWrongMasterKey = "no master key of notify.key opens the secrets of the channels";

// Immutable; safe from any thread.
class Vault {
 public:
  struct SealedDataKey {
    std::string master;  // which master key sealed it
    std::string sealed;
  };

  // The master keys, the newest first, each of at least kMinMasterKeyBytes; none: nothing can be sealed or opened.
  explicit Vault(const std::vector<Secret>& masters = {});

  bool has_key() const { return !masters_.empty(); }
  // Names a master key without telling anything of it: 16 hexadecimal digits of its hash.
  const std::string& newest() const { return masters_.front().name; }
  bool knows(std::string_view master) const;
  bool fits(const std::vector<std::string>& used) const;  // it knows one of these master keys, or there are none
  std::vector<std::string> names() const;                 // of all

  // A new data key, sealed with the newest master key. Requires has_key().
  SealedDataKey make_data_key(OrgId org, std::int32_t key_id) const;
  // The same data key, sealed with the newest master key.
  Result<SealedDataKey> rewrap(OrgId org, std::int32_t key_id, std::string_view sealed) const;

  // Error::locked when no master key opens the data key: the operator must give the right one.
  Result<std::string> seal(OrgId org, std::int32_t key_id, std::string_view data_key, const SealedFor& owner,
                           const Secret& secret) const;
  Result<Secret> open(OrgId org, std::int32_t key_id, std::string_view data_key, const SealedFor& owner,
                      std::string_view sealed) const;

 private:
  struct Master {
    std::string name;
    Secret key;
  };
  Result<Secret> open_data_key(OrgId org, std::int32_t key_id, std::string_view sealed) const;

  std::vector<Master> masters_;
};

// A channel's new secret: "whsec_" and 32 random bytes in base64.
Secret make_signing_secret();

}  // namespace waybill
