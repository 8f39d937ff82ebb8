// Writes to standard output while it sends.
#include <cstdio>

#include "poster.h"

namespace {
struct Printer : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    std::puts("sending");
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Printer, "prints");
