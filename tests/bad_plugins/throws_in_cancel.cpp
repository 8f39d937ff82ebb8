// Ends its call in cancel, and then throws.
#include <stdexcept>

#include "poster.h"

namespace {
struct Thrower : kit::Poster {
  using Poster::Poster;
  void cancel(wb_call call) override {
    ended[call.id] = true;
    complete(call, kit::outcome(WB_TRANSIENT, WB_MAYBE_SENT, "cancelled"));
    throw std::runtime_error("from cancel");
  }
  void answered(wb_call call, const wb_http_response& response) override {
    if (ended.erase(call.id) == 0) Poster::answered(call, response);
  }
  std::unordered_map<std::uint64_t, bool> ended;  // by cancel, their answers still to come
};
}  // namespace

KIT_PLUGIN(Thrower, "throws_in_cancel");
