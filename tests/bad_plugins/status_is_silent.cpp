// Is asked for the status of a delivery, and never answers.
#include "ability.h"

namespace {
constexpr wb_status kStatus{&kit::ask_able};
struct Silent : kit::Able {
  using Able::Able;
  void asked(wb_call, const wb_job*, const wb_failure_query*) override {}
  const void* extension(std::string_view id) override { return id == WB_STATUS_EXTENSION ? &kStatus : nullptr; }
};
}  // namespace

KIT_PLUGIN(Silent, "status_is_silent");
