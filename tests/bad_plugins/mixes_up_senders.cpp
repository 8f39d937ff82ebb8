// Thinks that there is only one sender of it: the last one made takes every answer.
#include "poster.h"

namespace {
struct Only : kit::Poster {
  explicit Only(const wb_host* host) : Poster(host) { the_one = this; }
  ~Only() override {
    if (the_one == this) the_one = nullptr;
  }
  void send(wb_call call, const wb_job* job) override {
    mine.insert({call.id, true});
    post(call, job);
  }
  void answered(wb_call call, const wb_http_response& response) override {
    if (the_one != nullptr && the_one->mine.erase(call.id) != 0) Poster::answered(call, response);
  }
  static Only* the_one;
  std::unordered_map<std::uint64_t, bool> mine;
};
Only* Only::the_one = nullptr;
}  // namespace

KIT_PLUGIN(Only, "mixes_up_senders");
