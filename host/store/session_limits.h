// How long the statements of a session may take, by what the session is for.
#pragma once

#include <string_view>

#include "base/time.h"
#include "config/config.h"

namespace waybill {

struct SessionLimits {
  Millis statement{0};  // 0: for ever
  Millis lock{0};
  bool writes = true;  // so it is of no use on a standby

  // The server ends a statement that takes too long. This much later we end the connection of one that it did not end.
  static constexpr Millis kServersLead{2'000};
};

// `purpose` as given to Connection::open().
SessionLimits limits_of(std::string_view purpose, const DatabaseTimeouts& timeouts);

}  // namespace waybill
