// Failures that a destination reports, as its plugin lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace waybill {

// One page of failures, filled on the strand while its call is open.
struct FailurePage {
  struct Failure {
    Timestamp failed_at;  // 0: unknown
    std::string provider_ref, idempotency_key, reason, detail;
  };
  std::int64_t since = 0;  // asked: seconds since 1970
  std::string page;        // asked: empty for the first
  std::vector<Failure> failures;
  std::string next_page;  // empty: this is the last page
};

}  // namespace waybill
