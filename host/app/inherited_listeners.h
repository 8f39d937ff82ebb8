// The sockets that the service manager listens on for this host: so no connection is refused while a host is started anew.
#pragma once

#include <vector>

#include "base/error.h"
#include "base/owned_descriptor.h"
#include "config/config.h"
#include "service_manager/service_manager.h"

namespace waybill {

struct InheritedListeners {
  OwnedDescriptor api, metrics;  // empty: there is none
};

// By the names of the sockets, FileDescriptorName= of their units: "http" or "metrics"; one without a name of its own is the
// API's. `config` then says where they listen. An error: another name, one name twice, or `auth: none` on an address that others
// reach.
Result<InheritedListeners> inherited_listeners(std::vector<InheritedSocket> sockets, Config& config);

}  // namespace waybill
