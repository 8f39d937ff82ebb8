// The example `letter`: one letter a delivery, whatever becomes of its attempts. H3
#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace {
using namespace waybill::testkit;

class Letter : public testing::Test {
 protected:
  static Job job() {
    Job out;
    out.destination = R"({"url":"http://post.test/office/"})";
    out.payload = "Dear Ann,\nall is well.";
    return out;
  }
  FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<FakeSender> sender_ = host_.make_sender("letter");
};

TEST_F(Letter, IsPostedAsItWasComposed) {
  host_.set_unix_seconds(1'700'000'000);
  host_.answer("http://post.test/office/letters", Answer::http(201));
  const auto end = sender_->attempt(job());
  EXPECT_EQ(end.verdict, WB_ACCEPTED) << end;
  EXPECT_EQ(end.artifact_type, "text/plain");
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.header("Content-Type"), "text/plain");
  EXPECT_EQ(request.header("Idempotency-Key"), "key-1");
  EXPECT_EQ(request.body, end.artifact);
  EXPECT_EQ(request.body.rfind("Serial: ", 0), 0U);
  EXPECT_NE(request.body.find("\nWritten: 1700000000\n\nDear Ann,\nall is well."), std::string::npos);
}

TEST_F(Letter, IsTheSameInEveryAttempt) {
  for (const auto status : {503, 503, 200}) host_.answer(Answer::http(status));
  EXPECT_EQ(sender_->deliver(job(), 5).back().verdict, WB_ACCEPTED);
  ASSERT_EQ(host_.requests().size(), 3U);
  EXPECT_EQ(host_.requests()[1].body, host_.requests()[0].body);
  EXPECT_EQ(host_.requests()[2].body, host_.requests()[0].body);
}

TEST_F(Letter, OfAnotherDeliveryIsAnotherOne) { EXPECT_NE(sender_->compose(job()).artifact, sender_->compose(job()).artifact); }

TEST_F(Letter, WithoutTextIsRejectedBeforeAnythingIsSent) {
  auto empty = job();
  empty.payload.clear();
  const auto end = sender_->attempt(empty);
  EXPECT_EQ(end.verdict, WB_REJECTED) << end;
  EXPECT_EQ(end.reason, "empty_letter");
  EXPECT_EQ(end.reach, WB_NOT_SENT);
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(Letter, ThatIsRefusedEndsRejected) {
  host_.answer(Answer::http(422));
  EXPECT_EQ(sender_->attempt(job()).reason, "refused");
}

TEST_F(Letter, CancelAbortsTheRequestAndTheCallEnds) {
  host_.answer(Answer::silence());
  auto composed = job();
  composed.artifact = "Serial: 1";
  const auto call = sender_->send(composed);
  sender_->cancel(call);
  host_.run_until_idle();
  ASSERT_TRUE(host_.outcome(call));
  EXPECT_EQ(host_.outcome(call)->reason, "cancelled");
  EXPECT_TRUE(host_.requests().at(0).aborted);
}

TEST_F(Letter, NeedsAHostThatComposes) { EXPECT_EQ(wb_plugin_v1()->needs_minor, 1U); }

}  // namespace
