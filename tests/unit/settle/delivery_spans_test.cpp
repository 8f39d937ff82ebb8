// The spans that a settlement makes. O3
#include "settle/delivery_spans.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

class DeliverySpans : public ::testing::Test {
 protected:
  Finished finished(Finished::How how, std::uint32_t attempts_before) {
    Finished one;
    one.job.delivery = {7};
    one.job.history.attempt_count = attempts_before;
    one.job.created = {1'000};
    one.job.claimed_at = {2'000};
    one.job.contract =
        std::make_shared<const Contract>(Contract{.target = "relay", .action_type = "email_raw", .form_id = "contact"});
    one.job.client_ref = "ref";
    one.job.trace = trace;
    one.how = how;
    one.started_at = {3'000};
    one.finished_at = {4'000};
    return one;
  }
  std::vector<Span> spans_of(const Finished& one, const Settlement& settlement) {
    record_spans(tracer, one, settlement, {5'000});
    return tracer.take(10);
  }

  const Trace trace = trace_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "");
  DatabaseClock clock;
  Metrics metrics;
  Tracer tracer{true, 1, clock, metrics};
  const AttemptRecord failed{.number = 3,
                             .started = {3'000},
                             .finished = Timestamp{4'000},
                             .outcome = "error",
                             .reason = "greylisted",
                             .error = {},
                             .code = 451,
                             .provider_ref = {}};
};

TEST_F(DeliverySpans, ALaterAttemptHasNoWaitAndARelaysCodeIsNoneOfHttp) {
  const auto spans = spans_of(finished(Finished::How::attempted, 2), {.status = Status::due, .attempt = failed});
  ASSERT_EQ(spans.size(), 2u);
  const auto& attempt = spans[0];
  EXPECT_EQ(attempt.name, "attempt");
  EXPECT_EQ(attempt.span_id, attempt_span_of(*trace, {7}, 3)) << "as its destination was told";
  EXPECT_EQ(attempt.error, "greylisted");
  const auto has = [&](std::string_view key) {
    return std::any_of(attempt.attributes.begin(), attempt.attributes.end(), [&](const auto& one) { return one.first == key; });
  };
  EXPECT_TRUE(has("waybill.code"));
  EXPECT_FALSE(has("http.response.status_code"));
  EXPECT_EQ(std::get<std::string>(attempt.attributes[1].second), "form:contact");
  EXPECT_EQ(spans[1].parent_id, attempt.span_id);
}

TEST_F(DeliverySpans, WhatIsGivenBackStillWaits) {
  EXPECT_TRUE(spans_of(finished(Finished::How::unattempted, 0), {.status = Status::due}).empty());
}

TEST_F(DeliverySpans, WhatExpiredWithoutAnAttemptTellsItsEnd) {
  const auto spans = spans_of(finished(Finished::How::expired, 0), {.status = Status::exhausted});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].name, "wait");
  EXPECT_EQ(spans[0].start.micros, 1'000);
  EXPECT_EQ(spans[0].end.micros, 2'000);
  EXPECT_EQ(spans[1].name, "settle");
  EXPECT_EQ(spans[1].parent_id, trace->parent_id);
  EXPECT_EQ(spans[1].end.micros, 5'000);
}

TEST_F(DeliverySpans, WithoutATraceThatIsSampledThereAreNone) {
  auto one = finished(Finished::How::attempted, 0);
  one.job.trace = trace_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "");
  EXPECT_TRUE(spans_of(one, {.status = Status::accepted}).empty());
}

}  // namespace
}  // namespace waybill
