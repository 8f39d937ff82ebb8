// `waybill restore-fence`: after a restore, before hosts start.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct RestoreOptions {
  std::string since;  // RFC 3339
  std::string actor;  // for the audit; "" for the user's name
  bool dry_run = false, force = false;
};

int fence_restore(const GlobalOptions& options, const RestoreOptions& wanted);

}  // namespace waybill
