// What a plugin's process gives up before any of the plugin's code runs in it.
#pragma once

#include <functional>
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
// `runs_command`: it goes on as another program, which it may therefore start. `begin_anew`: executes this program again, by
// which capabilities go where a filter refuses to give them up; called at most once in the life of a process, and returns if it
// fails.
std::vector<std::string> enter_sandbox(const Isolation& isolation, bool runs_command, const std::function<void()>& begin_anew);

}  // namespace waybill::plugin_process
