// Composes, and has nothing to show for it.
#include "ability.h"

namespace {
constexpr wb_compose kCompose{&kit::ask_able};
struct Pretender : kit::Able {
  using Able::Able;
  void asked(wb_call call, const wb_job*, const wb_failure_query*) override { complete(call, kit::outcome(WB_ACCEPTED)); }
  const void* extension(std::string_view id) override { return id == WB_COMPOSE_EXTENSION ? &kCompose : nullptr; }
};
}  // namespace

KIT_PLUGIN(Pretender, "composes_nothing");
