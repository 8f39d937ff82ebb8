// `waybill org export`: an organisation, on standard output.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct ExportOptions {
  std::string org;
  std::string actor;  // for the file and the audit; "" for the user's name
};

int export_org(const GlobalOptions& options, const ExportOptions& wanted);

}  // namespace waybill
