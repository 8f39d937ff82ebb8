// A sender that keeps the rules, for plugins that break a single one: each overrides one function. It posts the payload to the
// destination's url: 2xx is accepted, other 4xx are rejected, the rest is transient. What cannot be reached is to blame itself.
#pragma once

#include <unordered_map>

#include "kit.h"

namespace kit {

inline std::string url_in(std::string_view destination) {
  const auto begin = destination.find("http");
  if (begin == std::string_view::npos) return {};
  return std::string(destination.substr(begin, destination.find('"', begin) - begin));
}

class Poster {
 public:
  explicit Poster(const wb_host* host) : host_(host) {}
  virtual ~Poster() = default;

  virtual void send(wb_call call, const wb_job* job) { post(call, job); }
  virtual void cancel(wb_call call) {
    if (const auto found = open_.find(call.id); found != open_.end()) http().abort(host_, found->second);
  }
  virtual const void* extension(std::string_view) { return nullptr; }
  virtual void answered(wb_call call, const wb_http_response& response) { complete(call, judge(response)); }
  virtual wb_outcome judge(const wb_http_response& response) {
    auto made = outcome(WB_TRANSIENT, response.reach, response.error != WB_NET_OK ? "network" : "status");
    const bool tried = response.error != WB_NET_OK && response.error != WB_NET_REFUSED && response.error != WB_NET_CANCELLED;
    if (tried && response.reach == WB_NOT_SENT) made.scope = WB_WHOLE_TARGET;
    if (response.status / 100 == 2) made = outcome(WB_ACCEPTED, response.reach);
    if (response.status / 100 == 4) made = outcome(WB_REJECTED, response.reach, "invalid_request");
    made.code = response.status;
    made.retry_after_ms = response.retry_after_ms;
    return made;
  }

 protected:
  void complete(wb_call call, const wb_outcome& made) { host_->complete(host_, call, &made); }
  const wb_http_service& http() const { return service<wb_http_service>(host_, WB_HTTP_SERVICE); }
  const wb_timer_service& timer() const { return service<wb_timer_service>(host_, WB_TIMER_SERVICE); }
  void post(wb_call call, const wb_job* job, std::string_view name = "X-Key", std::string_view value = "1") {
    const auto url = url_in(view(job->destination));
    const wb_header headers[] = {{str("Idempotency-Key"), job->idempotency_key}, {str(name), str(value)}};
    wb_http_request request{};
    request.size = sizeof request;
    request.method = str("POST");
    request.url = str(url);
    request.headers = headers;
    request.header_count = 2;
    request.body = job->payload;
    open_[call.id] = http().fetch(host_, call, &request, &done, new Pending{this, call});
  }
  std::unordered_map<std::uint64_t, std::uint64_t>& open_calls() { return open_; }

  const wb_host* const host_;

  struct Pending {
    Poster* poster;
    wb_call call;
  };
  static void done(void* user, const wb_http_response* response) {
    const auto pending = *static_cast<Pending*>(user);
    delete static_cast<Pending*>(user);
    pending.poster->open_.erase(pending.call.id);
    pending.poster->answered(pending.call, *response);
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> open_;  // fetches by call
};

inline Poster& poster(wb_sender* self) { return *reinterpret_cast<Poster*>(self); }

inline constexpr wb_sender_vt kPosterTable = {
    [](wb_sender* self, wb_call call, const wb_job* job) { poster(self).send(call, job); },
    [](wb_sender* self, wb_call call) { poster(self).cancel(call); },
    [](wb_sender* self, wb_str id) { return poster(self).extension(view(id)); },
    [](wb_sender* self) { delete &poster(self); },
};

template <class Sender>
wb_sender* create(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kPosterTable;
  return reinterpret_cast<wb_sender*>(static_cast<Poster*>(new Sender(host)));
}

}  // namespace kit

// The rest of a plugin with one action type, from a wb_action.
#define KIT_PLUGIN_OF(ACTION, TYPE)                                  \
  namespace {                                                        \
  constexpr wb_action kAction = ACTION;                              \
  constexpr const wb_action* kActions[] = {&kAction};                \
  constexpr wb_plugin kPlugin = kit::plugin("test." TYPE, kActions); \
  }                                                                  \
  const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }  \
  static_assert(true, "takes the semicolon")

// The same from the class of its senders.
#define KIT_PLUGIN(SENDER, TYPE) KIT_PLUGIN_OF(kit::action(TYPE, &kit::create<SENDER>), TYPE)
