// Brings its process down a moment after it was made, from a thread of its own: outside of any call.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "poster.h"

namespace {

struct TimeBomb : kit::Poster {
  explicit TimeBomb(const wb_host* host) : Poster(host) {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      ::kill(::getpid(), SIGSEGV);
    }).detach();
  }
};

}  // namespace

KIT_PLUGIN(TimeBomb, "time_bomb");
