// Ctrl-C for a command that waits.
#pragma once

#include <signal.h>

#include "base/owned_descriptor.h"
#include "base/time.h"

namespace waybill {

// While it lives, SIGINT and SIGTERM are noted instead of ending the process. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool is_there() const { return wait(Millis{0}); }
  bool wait(Millis length) const;  // true as soon as there is one; false after `length`

 private:
  OwnedDescriptor noted_;
  struct sigaction on_int_ {};
  struct sigaction on_term_ {};
};

}  // namespace waybill
