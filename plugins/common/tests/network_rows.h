// The rows of network errors that hold for every plugin whose attempt is one HTTP request.
#pragma once

#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace waybill::plugins::testing {

struct NetworkRow {
  wb_net_error error;
  wb_reach reach;
  const char* reason;
  wb_scope scope = WB_THIS_JOB;
};

inline constexpr NetworkRow kNetworkRows[] = {
    {WB_NET_REFUSED, WB_NOT_SENT, "refused_by_host"},
    {WB_NET_RESOLVE, WB_NOT_SENT, "resolve_failed", WB_WHOLE_TARGET},  // E14
    {WB_NET_CONNECT, WB_NOT_SENT, "connect_failed", WB_WHOLE_TARGET},
    {WB_NET_TLS, WB_NOT_SENT, "tls_failed", WB_WHOLE_TARGET},
    {WB_NET_TIMEOUT, WB_NOT_SENT, "timeout", WB_WHOLE_TARGET},
    {WB_NET_TIMEOUT, WB_MAYBE_SENT, "timeout"},
    {WB_NET_BROKEN, WB_MAYBE_SENT, "connection_broken"},
    {WB_NET_BROKEN, WB_ANSWERED, "connection_broken"},
    {WB_NET_CANCELLED, WB_NOT_SENT, "cancelled"},
    {WB_NET_CANCELLED, WB_MAYBE_SENT, "cancelled"},
    {999, WB_MAYBE_SENT, "connection_broken"},  // a class that a later host may have
};

inline void expect_network_errors_are_transient(testkit::FakeHost& host, testkit::FakeSender& sender, const testkit::Job& job) {
  for (const auto& row : kNetworkRows) {
    host.answer(testkit::Answer::failure(row.error, row.reach, "what the host\nsaw"));
    const auto o = sender.attempt(job);
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, row.reason) << o;
    EXPECT_EQ(o.reach, row.reach) << o;
    EXPECT_EQ(o.scope, row.scope) << o;
    EXPECT_EQ(o.code, 0) << o;
    EXPECT_EQ(o.retry_after_ms, -1) << o;
    EXPECT_EQ(o.detail, "what the host saw");
  }
}

inline void expect_cancel_aborts_and_completes(testkit::FakeHost& host, testkit::FakeSender& sender, const testkit::Job& job) {
  for (const auto reach : {WB_NOT_SENT, WB_MAYBE_SENT}) {
    host.answer(testkit::Answer::silence(reach));
    host.answer(testkit::Answer::silence(reach));
    const auto stays = sender.send(job);
    const auto goes = sender.send(job);
    sender.cancel(goes);
    EXPECT_FALSE(host.outcome(goes)) << "the fetch's own end completes the call";
    host.run_until_idle();
    ASSERT_TRUE(host.outcome(goes));
    EXPECT_EQ(host.outcome(goes)->verdict, WB_TRANSIENT);
    EXPECT_EQ(host.outcome(goes)->reason, "cancelled");
    EXPECT_EQ(host.outcome(goes)->reach, reach);
    EXPECT_FALSE(host.outcome(stays)) << "only the cancelled call ends";
    sender.cancel(stays);
    host.run_until_idle();
    EXPECT_TRUE(host.outcome(stays));
    EXPECT_TRUE(host.requests().back().aborted);
  }
}

// `timeout_ms` is the same setting everywhere.
inline void expect_timeout_setting(const wb_plugin* plugin, const char* type, testkit::Job job) {
  job.deadline_ms = 700'000;
  for (const auto& [settings, expected] :
       {std::pair{"{}", 0U}, std::pair{R"({"timeout_ms":250})", 250U}, std::pair{R"({"timeout_ms":600000})", 600'000U}}) {
    testkit::FakeHost host(plugin);
    const auto sender = host.make_sender(type, settings);
    host.answer(testkit::Answer::silence());
    const auto call = sender->send(job);
    EXPECT_EQ(host.requests().at(0).timeout_ms, expected);
    host.advance(std::chrono::milliseconds(expected == 0 ? job.deadline_ms : expected));
    ASSERT_TRUE(host.outcome(call));
    EXPECT_EQ(host.outcome(call)->reason, "timeout");
  }
  for (const auto* bad : {"", "garbage", "[]", "null", R"({"timeout_ms":"1"})", R"({"timeout_ms":0})", R"({"timeout_ms":-1})",
                          R"({"timeout_ms":1.5})", R"({"timeout_ms":600001})", R"({"timeout_ms":18446744073709551615})"}) {
    testkit::FakeHost host(plugin);
    EXPECT_EQ(host.make_sender(type, bad), nullptr) << bad;
    EXPECT_EQ(host.create_problems().size(), 1U) << bad;
  }
}

inline std::string nested(std::size_t levels) {
  return R"({"to":"a","message":"b","token":"t","title":"x","data":{"deep":)" + std::string(levels, '[') +
         std::string(levels, ']') + "}}";
}

}  // namespace waybill::plugins::testing
