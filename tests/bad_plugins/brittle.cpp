// Delivers, but crashes on what it is told to crash on: "poison" while it sends, "aftertaste" when the answer comes.
#include <csignal>
#include <unordered_set>

#include "poster.h"

namespace {

void crash() { std::raise(SIGSEGV); }

struct Brittle : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    const auto payload = kit::view(job->payload);
    if (payload.find("poison") != std::string_view::npos) crash();
    if (payload.find("aftertaste") != std::string_view::npos) doomed_.insert(call.id);
    post(call, job);
  }
  void answered(wb_call call, const wb_http_response& response) override {
    if (doomed_.contains(call.id)) crash();
    Poster::answered(call, response);
  }
  std::unordered_set<std::uint64_t> doomed_;
};

}  // namespace

KIT_PLUGIN(Brittle, "brittle");
