// Believes that a job is as long as it was on the day of its own birth.
#include <cstdlib>

#include "poster.h"

namespace {
struct Conservative : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    if (job->size > sizeof(wb_job)) std::abort();
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Conservative, "chokes_on_longer");
