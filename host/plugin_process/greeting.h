// The first words between a host and a plugin's process, and what is asked of one that has no sender yet.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "plugin_process/host_stream.h"
#include "plugin_process/process.h"

namespace waybill::plugin_process {

// A process that said hello.
struct ReadyProcess {
  std::shared_ptr<Process> process;
  HostStream stream;
  std::string descriptor;            // JSON; empty: it named none
  std::vector<std::string> missing;  // of its sandbox, what this machine does not allow
  bool lives_again = false;          // after its sender is destroyed another can be made
};

Problems problems_of(const std::vector<ReportedProblem>& reported);  // bounded, and cleaned

// Starts a process and greets it. An error says what is wrong and, after a line break, what would help.
Result<ReadyProcess> start_process(const ProcessSpec& spec, Millis within);

// The plugin's own opinion of settings (kSettings) or of a destination (kDestination), a JSON object. An error if the process
// cannot say.
Result<Problems> ask_opinion(ReadyProcess& ready, std::uint32_t what, std::string_view action_type, std::string_view json,
                             Millis within);

}  // namespace waybill::plugin_process
