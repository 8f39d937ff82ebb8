// What `waybill doctor` asks the database. Each question has a time limit, and one that fails stops no other.
#pragma once

#include <functional>

#include "app/installation.h"
#include "cli/doctor_machine.h"
#include "cli/finding.h"

namespace waybill {

struct DatabaseLook {
  Findings findings;
  std::string data_directory;  // of a server on this machine; "": not known
};
// `is_over`: asked between two questions; the others are not asked then.
DatabaseLook look_at_database(const Config& config, const InstalledFiles& files, const Database& database,
                              const std::function<bool()>& is_over);

}  // namespace waybill
