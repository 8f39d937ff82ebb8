// `waybill org import`: an organisation from a file of another installation.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct ImportOptions {
  std::string file;   // "-": of standard input
  std::string name;   // "": as in the file
  std::string actor;  // for the audit; "" for the user's name
  bool dry_run = false;
};

int import_org(const GlobalOptions& options, const ImportOptions& wanted);

}  // namespace waybill
