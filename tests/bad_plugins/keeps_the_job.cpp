// Comes back to the job when the answer is there, even if the call has ended.
#include "poster.h"

namespace {
struct Keeper : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    jobs[call.id] = job;
    post(call, job);
  }
  void answered(wb_call call, const wb_http_response& response) override {
    auto made = judge(response);
    made.code += static_cast<std::int32_t>(jobs.at(call.id)->attempt) - 1;
    jobs.erase(call.id);
    complete(call, made);
  }
  std::unordered_map<std::uint64_t, const wb_job*> jobs;
};
}  // namespace

KIT_PLUGIN(Keeper, "keeps_the_job");
