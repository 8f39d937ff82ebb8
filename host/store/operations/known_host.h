// A host by the name that a restart leaves it: host_name of its configuration, by default its machine's name. Processes of one
// name, such as two during an upgrade, are one host here.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace waybill {

// What a host says of itself when it is heard.
struct HeardHost {
  std::string name, process, version;       // "<machine>:<pid>"
  std::optional<Timestamp> succeeded_at{};  // when it last saw a delivery accepted
};

// Until somebody resumes it, the host claims nothing and finishes what it has.
struct HostDrain {
  Timestamp since;
  std::string reason, actor;
  bool operator==(const HostDrain&) const = default;
};

}  // namespace waybill
