// Takes its time in a constructor of a global object.
#include <unistd.h>

#include "poster.h"

namespace {
const int kSlept = usleep(400'000);
}  // namespace

KIT_PLUGIN(kit::Poster, "slow_to_load");
