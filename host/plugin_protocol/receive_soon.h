// Reading from a socket whose next bytes are some microseconds away.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace waybill::plugin_process {

// recv(), but it looks a few times, and lets others run between, before it goes to sleep: to be woken takes longer than most
// questions take to be answered.
ssize_t receive_soon(int socket, char* into, std::size_t most);

}  // namespace waybill::plugin_process
