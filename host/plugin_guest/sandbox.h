// What a plugin's process gives up before any of the plugin's code runs in it.
#pragma once

#include <string>
#include <vector>

#include "config/isolation.h"

namespace waybill::plugin_process {

// For this process, and for good. Returns what this machine does not allow, in words such as "no network namespace: ..."; the
// rest is in force.
//   files    Landlock: reads only what programs and libraries need to run, and `isolation.read`; writes nothing
//   network  a namespace without one, and no socket can be made, unless `isolation.network`
//   others   no new process, no trace of or signal to another one (seccomp); no privilege, and none to gain
//   limits   memory, descriptors, no core file, nothing written to a file
// `runs_command`: it goes on as another program, which it may therefore start.
std::vector<std::string> enter_sandbox(const Isolation& isolation, bool runs_command);

}  // namespace waybill::plugin_process
