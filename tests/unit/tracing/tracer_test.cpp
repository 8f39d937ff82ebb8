// Which submissions get a trace and spans, and how much room spans have. O3
#include "tracing/tracer.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

const auto kSampled = trace_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b");
const auto kUnsampled = trace_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "");

class TracerTest : public ::testing::Test {
 protected:
  Tracer tracer(bool is_on, double ratio) { return {is_on, ratio, clock, metrics}; }
  Span span(const std::string& reference = "r") {
    return {.trace_id = kSampled->trace_id,
            .span_id = new_span_id(),
            .parent_id = {},
            .name = reference == "r" ? "wait" : "settle",
            .start = {1},
            .end = {2}};
  }

  DatabaseClock clock;
  Metrics metrics;
};

TEST_F(TracerTest, WithoutACollectorATraceIsPassedOnAndNoneIsMade) {
  auto off = tracer(false, 1);
  EXPECT_EQ(*trace_of(off.take_in(kSampled)), *kSampled);
  EXPECT_FALSE(off.take_in(nullptr));
  EXPECT_FALSE(off.records(kSampled));
  EXPECT_EQ(*trace_of(take_in(nullptr, kSampled)), *kSampled) << "without a tracer as well";
  EXPECT_FALSE(take_in(nullptr, nullptr));
  off.stored(off.take_in(kSampled), {.kind = "intent", .reference = "r", .target = "t"});
  EXPECT_EQ(off.waiting(), 0u);
}

TEST_F(TracerTest, TheCallersDecisionHolds) {
  auto none = tracer(true, 0);
  const auto taking = none.take_in(kSampled);
  ASSERT_TRUE(taking);
  EXPECT_TRUE(taking->is_recorded);
  EXPECT_EQ(taking->trace->trace_id, kSampled->trace_id);
  EXPECT_EQ(taking->trace->state, "a=b");
  EXPECT_EQ(taking->caller_span, kSampled->parent_id);
  EXPECT_NE(taking->trace->parent_id, kSampled->parent_id) << "what follows is the child of the intake";
  auto all = tracer(true, 1);
  EXPECT_EQ(*trace_of(all.take_in(kUnsampled)), *kUnsampled);
  EXPECT_FALSE(all.records(kUnsampled));
}

TEST_F(TracerTest, TheRatioIsForThoseWithoutATrace) {
  EXPECT_FALSE(tracer(true, 0).take_in(nullptr));
  const auto taking = tracer(true, 1).take_in(nullptr);
  ASSERT_TRUE(taking);
  EXPECT_TRUE(taking->is_recorded);
  EXPECT_EQ(taking->caller_span, "") << "a root";
  EXPECT_TRUE(trace_from(stored_trace(*taking->trace)));
  auto some = tracer(true, 0.25);
  int count = 0;
  for (int i = 0; i < 4000; ++i) count += some.take_in(nullptr) ? 1 : 0;
  EXPECT_NEAR(count, 1000, 200);
}

TEST_F(TracerTest, AnIntakesSpanHoldsTheMomentAtWhichItWasStored) {
  auto on = tracer(true, 1);
  const auto taking = on.take_in(kSampled);
  for (const auto offset : {-3'000'000, 0, 3'000'000}) {  // clocks are never quite alike
    const Timestamp created{clock.time_at(clock.now()).micros + offset};
    on.stored(taking, {.kind = "intent", .reference = "r", .target = "t", .created = created});
    const auto spans = on.take(10);
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_LE(spans[0].start.micros, created.micros);
    EXPECT_GE(spans[0].end.micros, created.micros);
    EXPECT_EQ(spans[0].span_id, taking->trace->parent_id);
    EXPECT_EQ(spans[0].parent_id, kSampled->parent_id);
  }
}

TEST_F(TracerTest, SpansHaveBoundedRoomAndTheRestIsCounted) {
  auto on = tracer(true, 1);
  for (std::size_t i = 0; i < Tracer::kMaxWaiting + 5; ++i) on.record(span());
  EXPECT_EQ(on.waiting(), Tracer::kMaxWaiting);
  EXPECT_NE(metrics.text().find("waybill_trace_spans_total{result=\"queue_full\"} 5"), std::string::npos);
  EXPECT_EQ(on.take(100).size(), 100u);
  on.record(span());
  EXPECT_EQ(on.waiting(), Tracer::kMaxWaiting - 99);
}

}  // namespace
}  // namespace waybill
