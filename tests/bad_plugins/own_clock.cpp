// Asks the machine for the time instead of the host.
#include <ctime>

#include "poster.h"

namespace {
struct Watchmaker : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override { post(call, job, "X-Time", std::to_string(std::time(nullptr))); }
};
}  // namespace

KIT_PLUGIN(Watchmaker, "own_clock");
