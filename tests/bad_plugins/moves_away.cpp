// Changes the working directory and the umask of its process while it sends.
#include <sys/stat.h>
#include <unistd.h>

#include "poster.h"

namespace {
struct Mover : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    if (chdir("/") == 0) umask(0);
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Mover, "moves_away");
