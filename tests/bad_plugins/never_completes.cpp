// Takes an answer, and says nothing; ends a call only when it is cancelled.
#include "poster.h"

namespace {
struct Silent : kit::Poster {
  using Poster::Poster;
  void answered(wb_call call, const wb_http_response& response) override {
    if (response.error == WB_NET_CANCELLED) Poster::answered(call, response);
  }
  void cancel(wb_call call) override {
    if (open_calls().count(call.id) != 0) return Poster::cancel(call);
    complete(call, kit::outcome(WB_TRANSIENT, WB_MAYBE_SENT, "cancelled"));
  }
};
}  // namespace

KIT_PLUGIN(Silent, "never_completes");
