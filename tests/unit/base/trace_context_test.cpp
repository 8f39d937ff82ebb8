// What is taken of traceparent and tracestate, by the W3C's recommendation. O3
#include "base/trace_context.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace waybill {
namespace {

const std::string kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, AGoodTraceparentIsTakenAndWrittenTheSame) {
  const auto trace = trace_of(kParent, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(trace->parent_id, "00f067aa0ba902b7");
  EXPECT_TRUE(trace->is_sampled);
  EXPECT_EQ(trace->state, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  EXPECT_EQ(traceparent_of(*trace), kParent);
}

TEST(TraceContext, OnlyTheFlagOfSamplingCounts) {
  auto text = kParent;
  for (const auto& [flags, is_sampled] : {std::pair("00", false), {"01", true}, {"02", false}, {"ff", true}, {"08", false}}) {
    text.replace(53, 2, flags);
    ASSERT_TRUE(trace_of(text, "")) << flags;
    EXPECT_EQ(trace_of(text, "")->is_sampled, is_sampled) << flags;
  }
}

TEST(TraceContext, WhatIsNoTraceparentIsIgnored) {
  for (const std::string text :
       {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067aa0ba902b7-01", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", "00-4bf92f3577b34da6a3ce929d0e0e47-6-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nX: y",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what"})
    EXPECT_FALSE(trace_of(text, "a=b")) << text;
}

TEST(TraceContext, ALaterVersionIsReadAsThisOne) {
  const auto trace = trace_of("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-has", "");
  ASSERT_TRUE(trace);
  EXPECT_EQ(traceparent_of(*trace), kParent);
}

TEST(TraceContext, ABadTracestateIsLeftOutAndTheTraceStays) {
  const std::string long_value(257, 'v');
  std::string many, large;
  for (int i = 0; i < 33; ++i) many += (i ? ",k" : "k") + std::to_string(i) + "=v";
  for (int i = 0; i < 4; ++i) large += (i ? ",k" : "k") + std::to_string(i) + "=" + std::string(200, 'v');
  for (const std::string state : {"a", "=b", "a=", "a=b=c", "A=b", "a=b,a=c", "a=\x01", "a=\xc3\xbc", "@a=b", "a@b@c=d"})
    EXPECT_EQ(trace_of(kParent, state)->state, "") << state;
  for (const auto& state : {"a=" + long_value, many, large}) EXPECT_EQ(trace_of(kParent, state)->state, "") << state;
  for (const auto& state :
       std::vector<std::string>{"a=b", "a=b , c=d", "a=b,,c=d", "tenant@system=x y", "0a_-*/=!~", "a=" + std::string(256, 'v')})
    EXPECT_EQ(trace_of(kParent, state)->state, state);
}

TEST(TraceContext, WhatIsStoredIsReadAgain) {
  for (const auto* state : {"", "a=b", "a=b , c=d"}) {
    const auto trace = trace_of(kParent, state);
    const auto again = trace_from(stored_trace(*trace));
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *trace);
    EXPECT_LE(stored_trace(*trace).size(), kTraceparentBytes + 1 + kMaxTracestateBytes);
  }
  EXPECT_FALSE(trace_from("damaged"));
}

TEST(TraceContext, AnAttemptsSpanIsTheSameForWhoeverAsksAndNobodyElses) {
  const auto trace = trace_of(kParent, ""), other = trace_of("00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-01", "");
  std::set<std::string> all;
  for (int delivery = 1; delivery <= 50; ++delivery)
    for (std::uint32_t attempt = 1; attempt <= 20; ++attempt)
      for (const auto& one : {trace, other}) {
        const auto id = attempt_span_of(*one, DeliveryId{delivery * 1024}, attempt);
        EXPECT_EQ(id.size(), 16u);
        EXPECT_EQ(id, attempt_span_of(*one, DeliveryId{delivery * 1024}, attempt));
        all.insert(id);
      }
  EXPECT_EQ(all.size(), 2000u);
}

TEST(TraceContext, NewIdsAreValid) {
  const auto text = "00-" + new_trace_id() + "-" + new_span_id() + "-01";
  EXPECT_TRUE(trace_of(text, "")) << text;
  EXPECT_NE(new_trace_id(), new_trace_id());
}

}  // namespace
}  // namespace waybill
