// The plugin my_destination on a fake host: what it sends, and what it makes of every answer.
#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace {
using namespace waybill::testkit;

class MyDestinationTest : public testing::Test {
 protected:
  static Job job() {
    Job out;
    out.destination = R"({"url":"https://api.test/messages","channel":"ops"})";
    out.payload = R"({"text":"Hello"})";
    out.idempotency_key = "order-4711";
    return out;
  }
  Outcome attempt_with(Answer answer) {
    host_.answer(std::move(answer));
    return sender_->attempt(job());
  }

  FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<FakeSender> sender_ = host_.make_sender("my_destination");
};

TEST_F(MyDestinationTest, PostsThePayloadAsItIs) {
  EXPECT_EQ(attempt_with(Answer::http(202)).verdict, WB_ACCEPTED);
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "https://api.test/messages");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(request.header("X-Channel"), "ops");
  EXPECT_EQ(request.body, R"({"text":"Hello"})");
}

TEST_F(MyDestinationTest, NeedsNoChannel) {
  auto plain = job();
  plain.destination = R"({"url":"https://api.test/messages"})";
  host_.answer(Answer::http(200));
  EXPECT_EQ(sender_->attempt(plain).verdict, WB_ACCEPTED);
  EXPECT_FALSE(host_.requests().at(0).header("X-Channel"));
}

TEST_F(MyDestinationTest, EveryAttemptHasTheSameIdempotencyKey) {
  attempt_with(Answer::http(503));
  attempt_with(Answer::http(200));
  for (const auto& request : host_.requests()) EXPECT_EQ(request.header("Idempotency-Key"), "order-4711");
}

TEST_F(MyDestinationTest, EverySuccessIsAccepted) {
  for (const int status : {200, 201, 202, 204}) {
    const auto outcome = attempt_with(Answer::http(status));
    EXPECT_EQ(outcome.verdict, WB_ACCEPTED) << outcome;
    EXPECT_EQ(outcome.code, status);
  }
}

TEST_F(MyDestinationTest, ABusyReceiverIsTriedAgainWhenItSays) {
  for (const int status : {408, 425, 429, 500, 503}) {
    auto answer = Answer::http(status);
    answer.retry_after_ms = 7'000;
    const auto outcome = attempt_with(answer);
    EXPECT_EQ(outcome.verdict, WB_TRANSIENT) << outcome;
    EXPECT_EQ(outcome.scope, status == 429 || status == 503 ? WB_WHOLE_TARGET : WB_THIS_JOB) << outcome;
    EXPECT_EQ(outcome.retry_after_ms, 7'000) << outcome;
  }
}

TEST_F(MyDestinationTest, RefusedCredentialsRestTheWholeTarget) {
  for (const int status : {401, 403}) {
    const auto outcome = attempt_with(Answer::http(status));
    EXPECT_EQ(outcome.verdict, WB_TRANSIENT) << outcome;
    EXPECT_EQ(outcome.scope, WB_WHOLE_TARGET) << outcome;
  }
}

TEST_F(MyDestinationTest, AnythingElseThatTheReceiverRefusesIsRejected) {
  for (const auto& [status, reason] : {std::pair{400, "invalid_request"}, {404, "not_found"}, {422, "invalid_request"}}) {
    const auto outcome = attempt_with(Answer::http(status));
    EXPECT_EQ(outcome.verdict, WB_REJECTED) << outcome;
    EXPECT_EQ(outcome.reason, reason) << outcome;
    EXPECT_EQ(outcome.reach, WB_ANSWERED) << outcome;
  }
}

TEST_F(MyDestinationTest, ARedirectIsNotFollowed) { EXPECT_EQ(attempt_with(Answer::http(302)).verdict, WB_TRANSIENT); }

TEST_F(MyDestinationTest, ANetworkErrorIsTransientAndReachedAsFarAsTheHostSaw) {
  for (const auto& [error, reach] : {std::pair{WB_NET_CONNECT, WB_NOT_SENT}, {WB_NET_BROKEN, WB_MAYBE_SENT}}) {
    const auto outcome = attempt_with(Answer::failure(error, reach));
    EXPECT_EQ(outcome.verdict, WB_TRANSIENT) << outcome;
    EXPECT_EQ(outcome.reach, reach) << outcome;
  }
}

TEST_F(MyDestinationTest, TheOperatorSetsTheTimeout) {
  FakeHost host(wb_plugin_v1());
  const auto sender = host.make_sender("my_destination", R"({"timeout_ms":250})");
  host.answer(Answer::silence());
  const auto call = sender->send(job());
  host.advance(std::chrono::milliseconds(249));
  EXPECT_FALSE(host.outcome(call));
  host.advance(std::chrono::milliseconds(1));
  ASSERT_TRUE(host.outcome(call));
  EXPECT_EQ(host.outcome(call)->verdict, WB_TRANSIENT);
}

TEST_F(MyDestinationTest, ACancelledCallEndsAndTheOthersGoOn) {
  host_.answer(Answer::silence());
  host_.answer(Answer::silence());
  const auto stays = sender_->send(job());
  const auto goes = sender_->send(job());
  sender_->cancel(goes);
  host_.run_until_idle();
  EXPECT_TRUE(host_.outcome(goes));
  EXPECT_FALSE(host_.outcome(stays));
  sender_->cancel(stays);
  host_.run_until_idle();
  EXPECT_TRUE(host_.outcome(stays));
}

}  // namespace
