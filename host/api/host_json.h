// Hosts as operators see and drain them, as the wire and the command line show them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json_writer.h"
#include "store/operations/host_store.h"

namespace waybill {

// How a host is, in one word:
//   ready, not_ready
//   draining   an operator drains it, and it has deliveries under way, or has not heard of it yet
//   drained    the same, and it has none
//   ending     it was told to stop
//   silent     it holds its lock, and has said nothing for too long
//   dead       it holds no lock any more, and no other host has taken its work over yet
//   away       no process of it is there
//   unknown    it has not said, or is of an earlier version
std::string_view state_of(const ListedHost& host);
// How many of the others may claim.
std::size_t claiming_beside(const std::vector<ListedHost>& hosts, const std::string& name);

// The reason in the body of a drain. Error::invalid names the field.
Result<std::string> read_drain(std::string_view body);

Json listed_json(const std::vector<ListedHost>& hosts);
// `hosts`: after the drain.
Json drained_json(const std::string& name, const HostDrain& drain, const std::vector<ListedHost>& hosts);
Json undrained_json(const std::string& name, const HostDrain& drain);

}  // namespace waybill
