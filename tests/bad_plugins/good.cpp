// Keeps the rules: posts the payload to the destination's target and takes 2xx as accepted. Its blocking twin accepts at once.
#include <unordered_map>

#include "kit.h"

namespace {

struct Open;

struct Poster {
  const wb_host* host;
  std::unordered_map<std::uint64_t, Open*> open;
};

struct Open {
  Poster* poster;
  wb_call call;
  std::uint64_t fetch = 0;
};

Poster& poster(wb_sender* self) { return *reinterpret_cast<Poster*>(self); }

void answered(void* user, const wb_http_response* response) {
  auto* const open = static_cast<Open*>(user);
  auto made = kit::outcome(response->status / 100 == 2 ? WB_ACCEPTED : WB_TRANSIENT, response->reach,
                           response->status ? "status" : "network");
  made.code = response->status != 0 ? response->status : response->error;
  made.detail = response->error_text;
  made.retry_after_ms = response->retry_after_ms;
  if (kit::view(response->body).substr(0, 6) == R"({"id":)" && kit::view(response->body).size() == 8)
    made.result = response->body;
  open->poster->open.erase(open->call.id);
  open->poster->host->complete(open->poster->host, open->call, &made);
  delete open;
}

void send(wb_sender* self, wb_call call, const wb_job* job) {
  auto& sender = poster(self);
  const wb_header headers[] = {{kit::str("X-Key"), job->idempotency_key}, {kit::str("X-Delivery"), job->action_id}};
  wb_http_request request{};
  request.size = sizeof request;
  request.method = kit::str("POST");
  // {"url":"..."} is all that a destination of these tests holds.
  const auto text = kit::view(job->destination);
  const auto begin = text.find("http");
  request.url = kit::str(text.substr(begin, text.rfind('"') - begin));
  request.headers = headers;
  request.header_count = 2;
  request.body = job->payload;
  auto* const open = new Open{&sender, call};
  sender.open[call.id] = open;
  open->fetch = kit::service<wb_http_service>(sender.host, WB_HTTP_SERVICE).fetch(sender.host, call, &request, &answered, open);
}

void cancel(wb_sender* self, wb_call call) {
  auto& sender = poster(self);
  if (const auto found = sender.open.find(call.id); found != sender.open.end())
    kit::service<wb_http_service>(sender.host, WB_HTTP_SERVICE).abort(sender.host, found->second->fetch);
}

void destroy(wb_sender* self) { delete &poster(self); }

constexpr wb_sender_vt kPosterTable{&send, &cancel, &kit::no_extension, &destroy};

wb_sender* create(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kPosterTable;
  return reinterpret_cast<wb_sender*>(new Poster{host, {}});
}

void accept(wb_sender* self, wb_call call, const wb_job*) {
  const auto made = kit::outcome(WB_ACCEPTED);
  kit::of(self).host->complete(kit::of(self).host, call, &made);
}

constexpr wb_sender_vt kBlockingTable{&accept, &kit::no_cancel, &kit::no_extension, &kit::destroy};

wb_sender* create_blocking(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kBlockingTable;
  return kit::make(host);
}

constexpr wb_action kGood = kit::action("good", &create);
constexpr wb_action kBlocking = kit::action("good_blocking", &create_blocking, WB_BLOCKING);
constexpr const wb_action* kActions[] = {&kGood, &kBlocking};
constexpr wb_plugin kPlugin = kit::plugin("test.good", kActions, 2);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
