// Ends the process where a sender is to be made.
#include <cstdlib>

#include "poster.h"

namespace {
struct Quitter : kit::Poster {
  explicit Quitter(const wb_host* host) : Poster(host) { std::exit(3); }
};
}  // namespace

KIT_PLUGIN(Quitter, "exits_in_create");
