// Poison: a payload with the word "poison" takes the process down, at once and inside send. Every other is posted and accepted.
#include "poster.h"

namespace {
struct Poisonable : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    const auto payload = kit::view(job->payload);
    if (payload.find("\"poison\"") != std::string_view::npos) *nothing_ = 1;
    post(call, job);
  }

 private:
  volatile int* volatile nothing_ = nullptr;  // the compiler does not know
};
}  // namespace

KIT_PLUGIN(Poisonable, "crashes_on_marked_payload");
