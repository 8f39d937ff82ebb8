// Throws what is no std::exception, when an answer comes.
#include "poster.h"

namespace {
struct Thrower : kit::Poster {
  using Poster::Poster;
  void answered(wb_call, const wb_http_response&) override { throw 7; }
};
}  // namespace

KIT_PLUGIN(Thrower, "throws_an_int");
