// What commands that change something take from their caller: a name for the audit, and files.
#pragma once

#include <string>

#include "base/error.h"

namespace waybill {

// Who acts: as said, or, if that is "", who called sudo, or else the user that runs this process.
std::string actor_of(const std::string& said);
// A file, or with "-" standard input.
Result<std::string> read_whole(const std::string& name);

}  // namespace waybill
