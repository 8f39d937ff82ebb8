// API tokens. Each object has its own session; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/idempotency.h"

namespace waybill {

// What a check needs to know of a token.
struct TokenView {
  enum class State : std::uint8_t { live, expired, revoked };
  OrgId org;
  std::string name;
  std::string role;  // member, admin, owner, operator
  std::string org_name{kDefaultOrgName};
  bool org_disabled = false;
  State state = State::live;
  std::int64_t number = 0;
  std::string id{};                             // public
  std::vector<std::string> targets{}, paths{};  // what it is for; empty: everything
  std::optional<Micros> lasts{};                // none: without end
};

struct NewToken {
  std::string org, name, role;
  std::string id;            // public: 12 of [0-9a-f]
  Sha256 hash;               // of the token
  bool certificate = false;  // the hash is that of a client's certificate
  std::vector<std::string> targets{}, paths{};
  std::optional<Millis> lasts{};
};

struct TokenRow {
  std::string id, name, org, role;
  std::vector<std::string> targets, paths;
  Timestamp created;
  std::optional<Timestamp> expires, used, revoked;  // used: to a minute
  bool certificate = false;                         // shown instead of a secret
};

// A token that was used so long ago.
struct TokenUse {
  std::int64_t number;
  Micros ago;
};

class TokenStore {
 public:
  virtual ~TokenStore() = default;
  // Also one that is revoked or has expired; none: there is no such token.
  virtual Result<std::optional<TokenView>> find(const Sha256& hash) = 0;
  // Error::conflict if a valid token of that name, or with that certificate, exists, Error::not_found if the organisation does
  // not, Error::invalid for a role that the organisation cannot have.
  virtual Result<TokenRow> create(const NewToken& token) = 0;
  // Of one organisation, or of all; by organisation and name, those that are revoked last.
  virtual Result<std::vector<TokenRow>> list(const std::optional<std::string>& org, bool also_revoked) = 0;
  virtual Result<bool> revoke(const std::string& org, const std::string& name) = 0;
  virtual Result<bool> revoke_by_id(const std::string& id) = 0;
  // Keeps what is newer by a minute than what is stored.
  virtual Result<void> note_uses(std::span<const TokenUse> uses) = 0;
};

}  // namespace waybill
