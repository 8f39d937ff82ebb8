// Ctrl-C as an exception: whatever waits asks here, so that all that was started is taken down on the way out.
#pragma once

#include <chrono>
#include <stdexcept>
#include <thread>

namespace waybill::bench {

struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

void watch_interrupts();   // SIGINT, SIGTERM and SIGHUP from now on; once, at the start
void check_interrupted();  // throws Interrupted after one of them

// Asks `predicate` every `pause` until it says true; false if it has not within `bound`.
template <class Predicate>
bool wait_until(Predicate predicate, std::chrono::milliseconds bound,
                std::chrono::microseconds pause = std::chrono::milliseconds(2)) {
  const auto end = std::chrono::steady_clock::now() + bound;
  while (!predicate()) {
    check_interrupted();
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace waybill::bench
