// `waybill doctor`: how a running installation is.
#pragma once

#include <string>

#include "app/installation.h"
#include "cli/finding.h"

namespace waybill {

struct DoctorOptions {
  bool verbose = false;
  int watch = 0;  // seconds between two looks; 0: one look
};
int examine(const GlobalOptions& options, const DoctorOptions& doctor);

// The exit code: 0 nothing was found, 1 a problem, 3 warnings, 4 something could not be asked. 2 is a wrong call.
int exit_code_of(const Findings& findings);
// What a look says for people: problems, warnings, what is not known; and the rest in one line, unless all of it is wanted.
std::string report_text(Findings findings, bool verbose);
// What is new, has changed its level, or is gone since the last look; "" if nothing.
std::string changes_text(const Findings& before, const Findings& now);

}  // namespace waybill
