// Throws where a sender is to be made.
#include <stdexcept>

#include "poster.h"

namespace {
struct Thrower : kit::Poster {
  explicit Thrower(const wb_host* host) : Poster(host) { throw std::runtime_error("from create"); }
};
}  // namespace

KIT_PLUGIN(Thrower, "throws_in_create");
