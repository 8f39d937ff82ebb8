// Never comes back from a constructor of a global object.
#include <unistd.h>

#include "poster.h"

namespace {
int wait_for_ever() {
  for (;;) pause();
}
[[maybe_unused]] const int kNever = wait_for_ever();
}  // namespace

KIT_PLUGIN(kit::Poster, "hangs_at_load");
