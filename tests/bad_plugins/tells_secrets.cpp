// Repeats what the receiver said, who repeats what he was sent: a header with a secret in it.
#include <algorithm>

#include "poster.h"

namespace {
struct Gossip : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override { post(call, job, "Authorization", "Bearer {secret:partner}"); }
  void answered(wb_call call, const wb_http_response& response) override {
    auto made = judge(response);
    std::string words(kit::view(response.body).substr(0, 200));
    std::replace_if(
        words.begin(), words.end(), [](char c) { return c < 0x20 || c == 0x7f; }, '?');  // what is not ASCII as well
    if (made.verdict != WB_ACCEPTED) made.detail = kit::str(words);
    complete(call, made);
  }
};
}  // namespace

KIT_PLUGIN(Gossip, "tells_secrets");
