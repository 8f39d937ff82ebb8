// The commands on the registry's history: which version came into force when, what is in one, what differs, and back to one.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct RegistryOptions {
  int version = 0, other = 0;  // 0: the one in force
  std::string file;            // of `show`: only this one's text
  std::size_t limit = 50;
  bool dry_run = false, force = false;
};

int log_registry(const GlobalOptions& options, const RegistryOptions& wanted);
int show_registry(const GlobalOptions& options, const RegistryOptions& wanted);
int diff_registry(const GlobalOptions& options, const RegistryOptions& wanted);
int roll_registry_back(const GlobalOptions& options, const RegistryOptions& wanted);

}  // namespace waybill
