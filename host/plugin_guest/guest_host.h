// The host as a plugin sees it in a process of its own: the C functions behind wb_host and its services.
#pragma once

#include <waybill/plugin.h>

namespace waybill::plugin_process {

// A wb_host whose functions find their guest through the GuestFace that it is the first member of. `version` lives on.
wb_host make_guest_host(wb_str version);

}  // namespace waybill::plugin_process
