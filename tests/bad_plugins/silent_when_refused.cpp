// Forgets its call when the host refuses a request.
#include "poster.h"

namespace {
struct Offended : kit::Poster {
  using Poster::Poster;
  void answered(wb_call call, const wb_http_response& response) override {
    if (response.error != WB_NET_REFUSED) Poster::answered(call, response);
  }
};
}  // namespace

KIT_PLUGIN(Offended, "silent_when_refused");
