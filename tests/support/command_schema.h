// What commands print with --json, held against docs/commands/*.schema.json.
#pragma once

#include <string>
#include <vector>

#include "support/process.h"

namespace waybill::testing {

// How it differs from the command's schema, or after a failure from error.schema.json; "" if it does not, or without --json. A
// field that the schema does not have is a difference here, though the published schema leaves room for later ones.
std::string schema_fault(const std::vector<std::string>& arguments, const CommandResult& result);

}  // namespace waybill::testing
