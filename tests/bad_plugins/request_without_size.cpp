// Forgets the size of its requests.
#include "poster.h"

namespace {
struct Forgetful : kit::Poster {
  using Poster::Poster;
  void send(wb_call call, const wb_job*) override {
    wb_http_request request{};
    request.method = kit::str("POST");
    request.url = kit::str("http://127.0.0.1/");
    http().fetch(host_, call, &request, &end, new Open{this, call});
  }
  struct Open {
    Forgetful* sender;
    wb_call call;
  };
  static void end(void* user, const wb_http_response* response) {
    const auto open = *static_cast<Open*>(user);
    delete static_cast<Open*>(user);
    open.sender->complete(open.call, open.sender->judge(*response));
  }
};
}  // namespace

KIT_PLUGIN(Forgetful, "request_without_size");
