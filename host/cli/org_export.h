// `waybill org export` and `org verify`: an organisation, on standard output, and whether a file of it is whole.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct ExportOptions {
  std::string org;
  std::string actor;  // for the file and the audit; "" for the user's name
};

int export_org(const GlobalOptions& options, const ExportOptions& wanted);
// "-": of standard input.
int verify_org_file(const GlobalOptions& options, const std::string& file);

}  // namespace waybill
