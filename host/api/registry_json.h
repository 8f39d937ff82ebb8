// The history of the registry, as the wire and the command line show it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_writer.h"
#include "http/http.h"
#include "registry/registry_history.h"
#include "store/operations/registry_version_store.h"

namespace waybill {

struct RegistryEventsQuery {
  std::int64_t before = 0;
  std::size_t most = 50;
};
// Both: Error::invalid with a message that names the field.
Result<RegistryEventsQuery> read_registry_query(const http::Request& request);
Result<int> read_registry_version(std::string_view text);

Json events_json(const RegistryEvents& page);
Json version_json(const RegistryVersion& version);
Json differences_json(const std::vector<RegistryDifference>& all);

}  // namespace waybill
