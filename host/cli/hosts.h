// The commands on hosts: how they are, and that one claims nothing.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

struct HostOptions {
  std::string host;  // its name, or "<machine>:<pid>"
  std::string reason;
  std::string actor;  // for the audit; "" for the user's name
};

int list_hosts(const GlobalOptions& options);
int drain_host(const GlobalOptions& options, const HostOptions& wanted);
int resume_host(const GlobalOptions& options, const HostOptions& wanted);

}  // namespace waybill
