// Never comes back from send.
#include <unistd.h>

#include "poster.h"

namespace {
struct Stuck : kit::Poster {
  using Poster::Poster;
  void send(wb_call, const wb_job*) override {
    for (;;) pause();
  }
};
}  // namespace

KIT_PLUGIN(Stuck, "hangs_in_send");
