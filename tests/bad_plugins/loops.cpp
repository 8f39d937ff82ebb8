// Delivers, but what it is told to loop on it never comes back from: "loop" while it sends, "late loop" when the answer comes.
#include <unistd.h>

#include <unordered_set>

#include "poster.h"

namespace {

[[noreturn]] void loop() {
  for (;;) pause();
}

struct Loops : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    const auto payload = kit::view(job->payload);
    if (payload.find("late loop") != std::string_view::npos)
      doomed_.insert(call.id);
    else if (payload.find("loop") != std::string_view::npos)
      loop();
    post(call, job);
  }
  void answered(wb_call call, const wb_http_response& response) override {
    if (doomed_.contains(call.id)) loop();
    Poster::answered(call, response);
  }
  std::unordered_set<std::uint64_t> doomed_;
};

}  // namespace

KIT_PLUGIN(Loops, "loops");
