// Says that nothing was sent whenever it got no answer.
#include "poster.h"

namespace {
struct Liar : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response& response) override {
    auto made = Poster::judge(response);
    if (response.error != WB_NET_OK) made.reach = WB_NOT_SENT;
    return made;
  }
};
}  // namespace

KIT_PLUGIN(Liar, "lies_about_reach");
