// Takes the payload for a string that ends with a zero.
#include "poster.h"

namespace {
struct Reader : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    if (job->payload.len != 0) length = std::strlen(job->payload.ptr);
    post(call, job);
  }
  std::size_t length = 0;
};
}  // namespace

KIT_PLUGIN(Reader, "reads_past_end");
