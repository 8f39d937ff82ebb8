// `waybill pipeline ...`: the pipelines of the registry and Waybill's own. These need no database; those that repair are in
// cli/repairs.h.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

int list_pipelines(const GlobalOptions& options);
int show_pipeline(const GlobalOptions& options, const std::string& name);  // its diagram in Mermaid

}  // namespace waybill
