// The statement timeouts of a session, by its purpose.
#pragma once

#include <string_view>

#include "base/time.h"
#include "config/config.h"

namespace waybill {

struct SessionLimits {
  Millis statement{0};  // 0: unlimited
  Millis lock{0};
  bool writes = true;  // so it needs a writable server

  // The server ends a statement that takes too long. If it does not, the host closes the connection this much later.
  static constexpr Millis kServersLead{2'000};
};

// `purpose` as given to Connection::open().
SessionLimits limits_of(std::string_view purpose, const DatabaseTimeouts& timeouts);

}  // namespace waybill
