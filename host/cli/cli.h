// The command line: `waybill <command>`. See `waybill --help`.
#pragma once

namespace waybill {

// Runs one command and returns the exit code: 0 good, 1 the command failed, 2 it was called wrongly.
int run_command_line(int argc, char** argv);

}  // namespace waybill
