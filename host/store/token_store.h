// API tokens. Each object has its own session; one thread at a time.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/id.h"
#include "domain/idempotency.h"

namespace waybill {

struct TokenView {
  OrgId org;
  std::string name;
  std::string role;
  std::string org_name{kDefaultOrgName};
  bool org_disabled = false;
};

class TokenStore {
 public:
  virtual ~TokenStore() = default;
  virtual Result<std::optional<TokenView>> find(const Sha256& hash) = 0;
  // Error::conflict if a valid token of that name exists, Error::not_found if the organisation does not.
  virtual Result<void> create(const std::string& org, const std::string& name, const std::string& role, const Sha256& hash) = 0;
  virtual Result<bool> revoke(const std::string& org, const std::string& name) = 0;
};

}  // namespace waybill
