// Takes for granted that there is a payload.
#include <cstdlib>

#include "poster.h"

namespace {
struct Trusting : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    if (job->payload.len == 0) std::abort();
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Trusting, "chokes_on_payload");
