// Ends the payload with a zero, where it is.
#include "poster.h"

namespace {
struct Writer : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    if (job->payload.len != 0) const_cast<char*>(job->payload.ptr)[job->payload.len] = '\0';
    post(call, job);
  }
};
}  // namespace

KIT_PLUGIN(Writer, "writes_arguments");
