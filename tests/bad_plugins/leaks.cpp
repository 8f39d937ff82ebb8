// Loses a little memory with every delivery.
#include "poster.h"

namespace {
struct Leaker : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    lost = new char[100];
    post(call, job);
  }
  char* volatile lost = nullptr;
};
}  // namespace

KIT_PLUGIN(Leaker, "leaks");
