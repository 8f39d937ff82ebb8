// Waits where everybody else waits with it.
#include <unistd.h>

#include "poster.h"

namespace {
int awake = 0;  // for the whole process: the first two deliveries are slow

struct Sleeper : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    if (awake++ < 2) usleep(150'000);
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Sleeper, "sleeps_in_send");
