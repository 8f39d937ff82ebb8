// Has something for whoever asks, except for what there is.
#include "poster.h"

namespace {
struct Generous : kit::Poster {
  using Poster::Poster;
  const void* extension(std::string_view id) override {
    for (const auto* const real : {WB_COMPOSE_EXTENSION, WB_STATUS_EXTENSION, WB_PROBE_EXTENSION, WB_FAILURES_EXTENSION})
      if (id == real) return nullptr;
    return this;
  }
};
}  // namespace

KIT_PLUGIN(Generous, "any_extension");
