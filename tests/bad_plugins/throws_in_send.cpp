// Throws out of send.
#include <stdexcept>

#include "poster.h"

namespace {
struct Thrower : kit::Poster {
  using Poster::Poster;
  void send(wb_call, const wb_job*) override { throw std::runtime_error("from send"); }
};
}  // namespace

KIT_PLUGIN(Thrower, "throws_in_send");
