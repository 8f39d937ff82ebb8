// Leaves a descriptor open.
#include <unistd.h>

#include "poster.h"

namespace {
struct Litterer : kit::Poster {
  using Poster::Poster;
  ~Litterer() override { static_cast<void>(dup(STDOUT_FILENO)); }
};
}  // namespace

KIT_PLUGIN(Litterer, "leaves_descriptor");
