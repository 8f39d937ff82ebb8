// Breaks one rule per target: the job's target names which.
#include <stdexcept>
#include <thread>

#include "kit.h"

namespace {

struct Open {
  const wb_host* host;
  wb_call call;
  int answers = 0;
};

void finish(const wb_host* host, wb_call call, const wb_outcome& made) { host->complete(host, call, &made); }
void accept(const wb_host* host, wb_call call) { finish(host, call, kit::outcome(WB_ACCEPTED)); }

wb_http_request get(std::string_view url) {
  wb_http_request request{};
  request.size = sizeof request;
  request.method = kit::str("GET");
  request.url = kit::str(url);
  return request;
}

// Says how its fetch ended.
void report_fetch(void* user, const wb_http_response* response) {
  auto* const open = static_cast<Open*>(user);
  auto made = kit::outcome(WB_TRANSIENT, response->reach, "fetched");
  made.code = response->error;
  finish(open->host, open->call, made);
  delete open;
}

void log_fetch(void* user, const wb_http_response* response) {
  auto* const open = static_cast<Open*>(user);
  open->host->log(open->host, {0}, WB_LOG_INFO, kit::str(response->error == WB_NET_CANCELLED ? "fetch_cancelled" : "fetch_other"),
                  nullptr, 0);
  delete open;
}

void fire_throw(void*) { throw 7; }

void log_timer(void* user) {
  const auto* const host = static_cast<const wb_host*>(user);
  host->log(host, {0}, WB_LOG_INFO, kit::str("timer_fired"), nullptr, 0);
}

void send(wb_sender* self, wb_call call, const wb_job* job) {
  const auto* const host = kit::of(self).host;
  const auto what = kit::view(job->target);
  const auto& http = kit::service<wb_http_service>(host, WB_HTTP_SERVICE);
  const auto& timer = kit::service<wb_timer_service>(host, WB_TIMER_SERVICE);
  auto made = kit::outcome(WB_ACCEPTED);
  if (what == "good") return finish(host, call, made);
  if (what == "throw_std") throw std::runtime_error("send");
  if (what == "throw_int") throw 7;
  if (what == "complete_then_throw") {
    accept(host, call);
    throw 7;
  }
  if (what == "twice") {
    accept(host, call);
    return finish(host, call, kit::outcome(WB_REJECTED, WB_ANSWERED, "invalid_request"));
  }
  if (what == "invented_call") {
    accept(host, {call.id + 1'000'000});
    return accept(host, call);
  }
  if (what == "never") return;
  if (what == "other_thread") {
    std::thread([host, call] { accept(host, call); }).detach();
    return;
  }
  if (what == "null_outcome") return static_cast<void>(host->complete(host, call, nullptr));
  if (what == "short_outcome") {
    made.size = 8;
    return finish(host, call, made);
  }
  if (what == "garbage_enums") {
    made.verdict = -559038737;
    made.reach = 99;
    made.scope = 0x7fffffff;
    made.retry_after_ms = -4711;
    return finish(host, call, made);
  }
  if (what == "undeclared_reason") return finish(host, call, kit::outcome(WB_REJECTED, WB_ANSWERED, "because"));
  if (what == "non_utf8") return finish(host, call, kit::outcome(WB_TRANSIENT, WB_ANSWERED, "a\xff\x01z"));
  if (what == "huge_reason") {
    const std::string huge(64 << 20, 'r');
    made = kit::outcome(WB_TRANSIENT, WB_ANSWERED, huge);
    made.detail = made.provider_ref = made.result = kit::str(huge);
    return finish(host, call, made);
  }
  if (what == "null_pointers") {
    made.reason = made.detail = made.provider_ref = made.result = {nullptr, ~std::size_t{0}};
    return finish(host, call, made);
  }
  if (what == "fetch_garbage") {
    wb_http_request request = get("http://127.0.0.1:1/");
    request.header_count = ~std::size_t{0};
    http.fetch(host, call, &request, &report_fetch, new Open{host, call});
    return;
  }
  if (what == "fetch_null") {
    http.fetch(host, call, nullptr, &report_fetch, new Open{host, call});
    return;
  }
  if (what == "fetch_after_end") {
    accept(host, call);
    const auto request = get("http://127.0.0.1:1/");
    http.fetch(host, call, &request, &log_fetch, new Open{host, call});
    return;
  }
  if (what == "fetch_left_open") {
    const auto request = get(kit::view(job->destination).substr(8, kit::view(job->destination).rfind('"') - 8));
    http.fetch(host, call, &request, &log_fetch, new Open{host, call});
    return accept(host, call);
  }
  if (what == "fetch_off_strand") {
    std::thread([&] {
      const auto request = get("http://127.0.0.1:1/");
      http.fetch(host, call, &request, &report_fetch, nullptr);
      timer.after(host, call, 0, &fire_throw, nullptr);
    }).join();
    return accept(host, call);
  }
  if (what == "timer_after_end") {
    accept(host, call);
    timer.after(host, call, 0, &fire_throw, nullptr);
    return;
  }
  if (what == "timer_left_open") {
    timer.after(host, call, 0, &log_timer, const_cast<wb_host*>(host));
    return accept(host, call);
  }
  if (what == "timer_throws") {
    timer.after(host, call, -5, &fire_throw, nullptr);
    return;
  }
  if (what == "log_garbage") {
    const wb_field fields[] = {{kit::str("k\xff"), kit::str("v\n")}, {{nullptr, 99}, {nullptr, 99}}};
    host->log(host, call, 1234, kit::str("text\x01"), fields, 2);
    host->log(host, call, WB_LOG_INFO, {nullptr, 5}, nullptr, 77);
    return accept(host, call);
  }
  throw std::logic_error("no such behaviour");
}

// Its target is not known here: whatever stayed silent is completed late, when the host cancels it, twice for good measure.
void cancel(wb_sender* self, wb_call call) {
  accept(kit::of(self).host, call);
  accept(kit::of(self).host, call);
}

constexpr wb_sender_vt kTable{&send, &cancel, &kit::no_extension, &kit::destroy};
constexpr wb_sender_vt kDeafTable{&send, &kit::no_cancel, &kit::no_extension, &kit::destroy};

wb_sender* create(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kTable;
  return kit::make(host);
}

wb_sender* create_deaf(const wb_host* host, wb_str, const wb_sender_vt** vt, wb_report, void*) {
  *vt = &kDeafTable;
  return kit::make(host);
}

constexpr wb_action kNaughty = kit::action("naughty", &create);
constexpr wb_action kDeaf = kit::action("naughty_deaf", &create_deaf);  // ignores cancel
constexpr const wb_action* kActions[] = {&kNaughty, &kDeaf};
constexpr wb_plugin kPlugin = kit::plugin("test.naughty", kActions, 2);

}  // namespace

const wb_plugin* wb_plugin_v1(void) noexcept { return &kPlugin; }
