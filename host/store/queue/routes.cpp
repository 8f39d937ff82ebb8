// Contracts are stored once for each organisation and content.
#include "store/queue/routes.h"

#include "store/queue/routes.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {

Result<RouteId> route_of(Connection& connection, OrgId org, const Contract& contract) {
  const std::string json = to_json(contract);
  const std::string hash = bytea(as_view(sha256(json)));
  const std::string org_text = std::to_string(org.value);
  for (const bool make : {false, true}) {
    if (make) TRY(connection.run(sql::make_route, {org_text, hash, json}));
    auto found = connection.run(sql::find_route, {org_text, hash});
    TRY(found);
    if (found->size() == 1) return RouteId{found->front().route_id()};
  }
  return fail(Error::Kind::bug, "a route that was just made is not there");
}

}  // namespace waybill
