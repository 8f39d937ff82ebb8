// `waybill failures ...`: what providers accepted and then failed to deliver.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "app/installation.h"

namespace waybill {

struct FailureOptions {
  std::string org = "default";
  std::vector<std::string> targets;  // check: only these
  bool is_due = false;               // check: only if the schedule asks for it
  pid_t parent = 0;                  // check: the host that started it
  std::int64_t digest = 0;           // list: the failures of this one
  std::size_t limit = 100;
};

int check_failures(const GlobalOptions& options, const FailureOptions& failures);
int list_digests(const GlobalOptions& options, const FailureOptions& failures);

}  // namespace waybill
