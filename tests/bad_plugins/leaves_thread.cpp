// Leaves a thread behind, the first time.
#include <unistd.h>

#include <thread>
#include <utility>

#include "poster.h"

namespace {
bool left = false;

struct Litterer : kit::Poster {
  using Poster::Poster;
  ~Litterer() override {
    if (std::exchange(left, true)) return;
    std::thread([] {
      for (;;) pause();
    }).detach();
  }
};
}  // namespace

KIT_PLUGIN(Litterer, "leaves_thread");
