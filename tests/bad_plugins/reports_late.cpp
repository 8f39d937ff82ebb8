// Reports one more failure after the page was complete.
#include "ability.h"

namespace {
constexpr wb_failures kFailures{&kit::ask_able_for_failures};
struct Late : kit::Able {
  using Able::Able;
  void asked(wb_call call, const wb_job*, const wb_failure_query* query) override {
    const auto failure = query->failure;
    auto* const user = query->user;
    const wb_failure one{sizeof one, 0, kit::str("ref-1"), {}, kit::str("bounced"), {}};
    failure(user, &one);
    complete(call, kit::outcome(WB_ACCEPTED));
    failure(user, &one);
  }
  const void* extension(std::string_view id) override { return id == WB_FAILURES_EXTENSION ? &kFailures : nullptr; }
};
}  // namespace

KIT_PLUGIN(Late, "reports_late");
