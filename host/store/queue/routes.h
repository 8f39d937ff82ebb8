// Finds or creates the route of a contract in an organisation.
#pragma once

#include "base/id.h"
#include "domain/contract.h"
#include "store/pg/pg.h"

namespace waybill {

Result<RouteId> route_of(Connection& connection, OrgId org, const Contract& contract);

}  // namespace waybill
