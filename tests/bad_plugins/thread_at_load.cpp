// Starts a thread as soon as it is loaded.
#include <unistd.h>

#include <thread>

#include "poster.h"

namespace {
const bool kStarted = [] {
  std::thread([] {
    for (;;) pause();
  }).detach();
  return true;
}();
}  // namespace

KIT_PLUGIN(kit::Poster, "thread_at_load");
