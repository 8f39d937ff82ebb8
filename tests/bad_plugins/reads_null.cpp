// Reads where nothing is.
#include "poster.h"

namespace {
struct Reckless : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    const volatile char* const nothing = nullptr;
    if (*nothing == 'x') post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Reckless, "reads_null");
