// `waybill waiting ...`: what waits, ended, sent elsewhere, or slowed down. No host need run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "app/installation.h"

namespace waybill {

struct WaitingOptions {
  std::string org = "default";
  std::string target, kind, older_than;  // older_than: "2h"; "": any age
  std::size_t limit = 100;               // of list
  std::string reason;                    // of end
  std::string to;                        // of reroute
  std::string actor;                     // for the audit; "" for the user's name
  bool dry_run = false;
  std::uint32_t per_second = 0, per_minute = 0;  // of rate; 0: not this one
  std::string lasts;                             // of rate: "30m"; "": until it is cleared
  bool clear = false;
};

int list_waiting(const GlobalOptions& options, const WaitingOptions& wanted);
int end_what_waits(const GlobalOptions& options, const WaitingOptions& wanted);
int reroute_what_waits(const GlobalOptions& options, const WaitingOptions& wanted);
int rate_target(const GlobalOptions& options, const WaitingOptions& wanted);

}  // namespace waybill
