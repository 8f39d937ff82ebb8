// Says something and aborts as soon as it is loaded.
#include <cstdio>
#include <cstdlib>

#include "poster.h"

namespace {
[[maybe_unused]] const int kEnded = (std::fputs("crashes_at_load: no licence\n", stderr), std::abort(), 0);
}  // namespace

KIT_PLUGIN(kit::Poster, "crashes_at_load");
