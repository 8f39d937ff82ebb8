// What commands that change something take from their caller: a name for the audit, and files.
#pragma once

#include <string>

#include "base/error.h"

namespace waybill {

// Of the user that runs this process.
std::string user_name();
// A file, or with "-" standard input.
Result<std::string> read_whole(const std::string& name);

}  // namespace waybill
