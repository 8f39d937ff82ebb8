// Authenticates with basic_user, and repeats the header that the receiver sends back.
#include "poster.h"

namespace {
struct Gossip : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job* job) override {
    wb_http_request request{};
    request.size = sizeof request;
    const auto url = kit::url_in(kit::view(job->destination));
    request.method = kit::str("POST");
    request.url = kit::str(url);
    request.body = job->payload;
    request.basic_user = kit::str("desk_user");
    request.basic_password = kit::str("desk_key");
    open_calls()[call.id] = http().fetch(host_, call, &request, &done, new Pending{this, call});
  }
  void answered(wb_call call, const wb_http_response& response) override {
    auto made = judge(response);
    for (std::size_t i = 0; i < response.header_count && made.verdict != WB_ACCEPTED; ++i)
      if (kit::view(response.headers[i].name) == "x-request") made.detail = response.headers[i].value;
    complete(call, made);
  }
};
}  // namespace

KIT_PLUGIN(Gossip, "tells_basic_secrets");
