// Asks for a timer from a thread of its own.
#include <thread>

#include "poster.h"

namespace {
struct Wanderer : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    std::thread([&] {
      timer().after(
          host_, call, 1'000'000, [](void*) {}, nullptr);
    }).join();
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Wanderer, "timer_off_strand");
