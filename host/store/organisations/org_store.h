// The organisations of an installation, for its operators. Each object has its own session; one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

struct OrgView {
  OrgId id;
  std::string name;
  Timestamp created;
  std::optional<Timestamp> disabled;
  std::uint32_t weight = 1;
  std::int64_t tokens = 0;  // live ones
};

struct OrgPage {
  std::vector<OrgView> organisations;  // by name
  std::string next;                    // list() with this as `after` goes on; "": this is the last page
};

class OrgStore {
 public:
  virtual ~OrgStore() = default;
  // Error::invalid for a name that cannot be, Error::conflict for one that is taken, Error::unavailable unless the database keeps
  // organisations apart (store/pg/tenant_link.h).
  virtual Result<OrgView> create(const std::string& name) = 0;
  virtual Result<OrgPage> list(const std::string& after, std::size_t most) = 0;
  virtual Result<std::optional<OrgView>> find(const std::string& name) = 0;
  // Its tokens are refused within a second; what it handed in before is still delivered. Or enables it again. None: there is
  // no such organisation. Error::conflict for `default`, which operators need.
  virtual Result<std::optional<OrgView>> set_disabled(const std::string& name, bool disabled) = 0;
  // From 1 to kMaxOrgWeight; hosts go by it within two seconds. None: there is no such organisation.
  virtual Result<std::optional<OrgView>> set_weight(const std::string& name, std::uint32_t weight) = 0;
};

}  // namespace waybill
