// Waits where everybody else waits with it.
#include <unistd.h>

#include "poster.h"

namespace {
int awake = 0;  // for the whole process: the first deliveries are slow

struct Sleeper : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    if (awake++ < 6) usleep(130'000);
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Sleeper, "sleeps_in_send");
