// Says that minor 0 is enough for it, and reads a field of minor 1 unasked.
#include "poster.h"

namespace {
struct Modern : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    length += job->artifact.len;
    post(call, job);
  }
  std::size_t length = 0;
};
}  // namespace

KIT_PLUGIN(Modern, "reads_newer_field");
