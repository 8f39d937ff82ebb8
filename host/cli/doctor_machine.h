// What `waybill doctor` looks at on this machine: files of the installation, disks, certificates, secrets.
#pragma once

#include <memory>
#include <string>

#include "cli/finding.h"
#include "config/config.h"
#include "services/secrets.h"

namespace waybill {

// Configuration, plugins, registry, secrets and certificates. It loads plugins as a start does, so it is not asked every second.
struct InstalledFiles {
  Findings findings;
  std::shared_ptr<const Secrets> secrets;  // null: they cannot be read here
  std::string registry_digest;
};
InstalledFiles look_at_files(const Config& config);

// `data_directory`: of a server on this machine; "": unknown, or elsewhere.
Findings look_at_disks(const Config& config, const std::string& data_directory);

std::int64_t machine_memory();  // bytes; 0: unknown

}  // namespace waybill
