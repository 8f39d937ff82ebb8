// A network of the test's own: nothing leaves it, and every address can be anybody's.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace waybill::testing {

// Moves this process into network and mount namespaces of its own, for good. To be called before any thread is started. There is
// the loopback interface only, with these addresses besides 127.0.0.1 and ::1; names are asked of 127.0.0.1, port 53.
// An address with a prefix ("11.0.0.1/24") makes its whole network this host's, of which only the one address is the interface's.
// Why it cannot be had, as a sentence; none if it was done.
std::optional<std::string> enter_network_namespace(const std::vector<std::string>& addresses);

}  // namespace waybill::testing
