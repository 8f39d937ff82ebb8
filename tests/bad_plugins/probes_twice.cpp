// Ends the call of a probe twice.
#include "ability.h"

namespace {
constexpr wb_probe kProbe{&kit::ask_able};
struct Emphatic : kit::Able {
  using Able::Able;
  void asked(wb_call call, const wb_job*, const wb_failure_query*) override {
    complete(call, kit::outcome(WB_ACCEPTED));
    complete(call, kit::outcome(WB_ACCEPTED));
  }
  const void* extension(std::string_view id) override { return id == WB_PROBE_EXTENSION ? &kProbe : nullptr; }
};
}  // namespace

KIT_PLUGIN(Emphatic, "probes_twice");
