// What planning must know of a route.
#pragma once

#include <memory>
#include <string>

#include "core/contract.h"
#include "core/id.h"

namespace waybill {

struct RouteFacts {
  OrgId org;
  std::shared_ptr<const Contract> contract;
  std::string host_name;  // of the contract's URL, with its port
};

RouteFacts facts_of(OrgId org, std::shared_ptr<const Contract> contract);

}  // namespace waybill
