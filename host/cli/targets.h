// The commands on targets: sending to one is stopped and begun again.
#pragma once

#include <cstddef>
#include <string>

#include "app/installation.h"

namespace waybill {

struct TargetOptions {
  std::string target;  // or "sender:email_raw", or "channel:<id>"
  std::string org = "default";
  std::string reason;
  std::string actor;  // for the audit; "" for the user's name
  std::size_t limit = 100;
};

int pause_target(const GlobalOptions& options, const TargetOptions& wanted);
int resume_target(const GlobalOptions& options, const TargetOptions& wanted);
int list_stopped_targets(const GlobalOptions& options, const TargetOptions& wanted);

}  // namespace waybill
