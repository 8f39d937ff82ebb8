// A plugin in bare C that does what the test tells it to, and the fixture of the test kit's own tests around it.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "waybill/testkit.hpp"

namespace waybill::testkit {

inline wb_str str(const char* text) { return {text, std::char_traits<char>::length(text)}; }

struct Puppet {
  const wb_host* host = nullptr;
  std::function<void(wb_call, const wb_job*)> send = [](wb_call, const wb_job*) {};
  std::function<void(wb_call)> cancel = [](wb_call) {};
  std::function<void(wb_call, const wb_job*)> compose, status, probe;  // set: the sender has this ability
  std::function<void(wb_call, const wb_job*, const wb_failure_query*)> list;
  std::vector<wb_http_response> responses;  // without what they borrow
  std::vector<std::string> bodies;
  std::function<void()> then = [] {};
  int fired = 0;
  bool destroyed = false;

  static Puppet& of(wb_sender* self) { return *reinterpret_cast<Puppet*>(self); }
  void complete(std::uint64_t call, wb_outcome outcome) { last = host->complete(host, {call}, &outcome); }
  std::uint64_t fetch(wb_call call, const char* url, std::vector<wb_header> headers = {}, std::uint32_t timeout_ms = 0,
                      std::uint32_t most = 0) {
    const auto* http = static_cast<const wb_http_service*>(host->get_service(host, str(WB_HTTP_SERVICE)));
    const wb_http_request request{sizeof request, timeout_ms,     most,           str("POST"),
                                  str(url),       headers.data(), headers.size(), str("body")};
    return http->fetch(host, call, &request, &done, this);
  }
  void abort(std::uint64_t fetch) {
    static_cast<const wb_http_service*>(host->get_service(host, str(WB_HTTP_SERVICE)))->abort(host, fetch);
  }
  const wb_timer_service* timer() { return static_cast<const wb_timer_service*>(host->get_service(host, str(WB_TIMER_SERVICE))); }
  void after(wb_call call, std::int64_t ms) {
    timer()->after(
        host, call, ms, [](void* self) { ++static_cast<Puppet*>(self)->fired; }, this);
  }
  static void done(void* user, const wb_http_response* response) {
    auto& self = *static_cast<Puppet*>(user);
    self.responses.push_back(*response);
    self.bodies.emplace_back(response->body.ptr ? std::string(response->body.ptr, response->body.len) : std::string());
    self.then();
  }
  std::int32_t last = -1;
};

inline Puppet* puppet = nullptr;  // what create makes a sender of; one a test

inline wb_outcome outcome(wb_verdict verdict, const char* reason, const char* detail = "") {
  return {sizeof(wb_outcome), verdict, WB_ANSWERED, WB_THIS_JOB, 0, -1, str(reason), str(detail), {}, {}};
}

inline constexpr wb_compose kCompose = {
    [](wb_sender* self, wb_call call, const wb_job* job) { Puppet::of(self).compose(call, job); }};
inline constexpr wb_status kStatus = {
    [](wb_sender* self, wb_call call, const wb_job* job) { Puppet::of(self).status(call, job); }};
inline constexpr wb_probe kProbe = {[](wb_sender* self, wb_call call, const wb_job* job) { Puppet::of(self).probe(call, job); }};
inline constexpr wb_failures kFailures = {[](wb_sender* self, wb_call call, const wb_job* job, const wb_failure_query* query) {
  Puppet::of(self).list(call, job, query);
}};
inline constexpr wb_sender_vt kTable = {
    [](wb_sender* self, wb_call call, const wb_job* job) { Puppet::of(self).send(call, job); },
    [](wb_sender* self, wb_call call) { Puppet::of(self).cancel(call); },
    [](wb_sender* self, wb_str id) -> const void* {
      const auto& puppet_ = Puppet::of(self);
      const auto is = [&](const char* name) { return std::string(id.ptr, id.len) == name; };
      if (puppet_.compose && is(WB_COMPOSE_EXTENSION)) return &kCompose;
      if (puppet_.status && is(WB_STATUS_EXTENSION)) return &kStatus;
      if (puppet_.probe && is(WB_PROBE_EXTENSION)) return &kProbe;
      if (puppet_.list && is(WB_FAILURES_EXTENSION)) return &kFailures;
      return nullptr;
    },
    [](wb_sender* self) { Puppet::of(self).destroyed = true; },
};
inline constexpr wb_reason kReasons[] = {{{"declared", 8}, 0, 0}};
inline wb_sender* create(const wb_host* host, wb_str settings, const wb_sender_vt** vt, wb_report, void*) {
  if (settings.len == 0) return nullptr;
  puppet->host = host;
  *vt = &kTable;
  return reinterpret_cast<wb_sender*>(puppet);
}
inline int unsteady = 0;
inline constexpr wb_action kAction = {sizeof(wb_action),
                                      0,
                                      1,
                                      {"puppet", 6},
                                      {},
                                      {},
                                      kReasons,
                                      [](wb_str, wb_report, void*) { return std::int32_t{1}; },
                                      [](wb_str, wb_report report, void* user) {
                                        if (unsteady++ % 2 == 0) return std::int32_t{0};
                                        report(user, {}, str("odd"));
                                        return std::int32_t{1};
                                      },
                                      &create,
                                      {}};
constexpr wb_action blocking_twin() {
  auto twin = kAction;
  twin.flags = WB_BLOCKING;
  twin.type = {"blocking_puppet", 15};
  return twin;
}
inline constexpr wb_action kBlockingAction = blocking_twin();
inline constexpr const wb_action* kActions[] = {&kAction, &kBlockingAction};
inline constexpr wb_plugin kPlugin = {sizeof(wb_plugin), 0, 0, {"puppet", 6}, {"1", 1}, 2, kActions};

class TestKit : public testing::Test {
 protected:
  ~TestKit() override { puppet = nullptr; }
  void accept_on_answer(wb_call call) {
    puppet_.then = [this, call] { puppet_.complete(call.id, outcome(WB_ACCEPTED, "")); };
  }
  Puppet puppet_;
  FakeHost host_{&kPlugin};
  std::unique_ptr<FakeSender> sender_ = (puppet = &puppet_, host_.make_sender("puppet"));
};

}  // namespace waybill::testkit
