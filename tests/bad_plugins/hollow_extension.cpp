// Offers to probe, with a table that has no function in it.
#include "poster.h"

namespace {
constexpr wb_probe kHollow{nullptr};
struct Hollow : kit::Poster {
  using Poster::Poster;
  const void* extension(std::string_view id) override { return id == WB_PROBE_EXTENSION ? &kHollow : nullptr; }
};
}  // namespace

KIT_PLUGIN(Hollow, "hollow_extension");
