// Takes an answer that was cut off for a failure, and sends again what is there already.
#include "poster.h"

namespace {
struct Reader : kit::Poster {
  using Poster::Poster;
  wb_outcome judge(const wb_http_response& response) override {
    auto made = Poster::judge(response);
    if (response.truncated != 0 && made.verdict == WB_ACCEPTED) made = kit::outcome(WB_TRANSIENT, response.reach, "cut_off");
    return made;
  }
};
}  // namespace

KIT_PLUGIN(Reader, "wants_short_answers");
