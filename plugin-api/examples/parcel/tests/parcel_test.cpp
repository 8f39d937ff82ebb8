// The example `parcel`: sent once, asked about later, and never lost to an answer that makes no sense. H3
#include <gtest/gtest.h>

#include "waybill/testkit.hpp"

namespace {
using namespace waybill::testkit;

constexpr const char* kFailures = "http://carrier.test/api/parcels?state=failed&since=1700000000";

class Parcel : public testing::Test {
 protected:
  static Job job(std::string ref = {}) {
    Job out;
    out.destination = R"({"url":"http://carrier.test/api"})";
    out.payload = R"({"to":"Ann"})";
    out.provider_ref = std::move(ref);
    return out;
  }
  Outcome sent(Answer answer) {
    host_.answer(std::move(answer));
    return sender_->attempt(job());
  }
  Outcome status(Answer answer) {
    host_.answer(std::move(answer));
    return sender_->status(job("p-7"));
  }
  FailureList failures() { return sender_->failures(job(), 1'700'000'000); }

  FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<FakeSender> sender_ = host_.make_sender("parcel");
};

TEST_F(Parcel, IsPostedUnderItsKeyAndKnownByTheCarriersId) {
  const auto end = sent(Answer::http(201, R"({"id":"p-7"})"));
  EXPECT_EQ(end.verdict, WB_ACCEPTED) << end;
  EXPECT_EQ(end.provider_ref, "p-7");
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "http://carrier.test/api/parcels");
  EXPECT_EQ(request.header("Idempotency-Key"), "key-1");
  EXPECT_EQ(request.body, R"({"to":"Ann"})");
}

TEST_F(Parcel, IsAcceptedWithoutAnIdToo) {
  for (const auto* body : {"", "{}", "[]", "null", R"({"id":7})", "\xff", R"({"id":null})"}) {
    const auto end = sent(Answer::http(200, body));
    EXPECT_EQ(end.verdict, WB_ACCEPTED) << body;
    EXPECT_EQ(end.provider_ref, "") << body;
  }
  EXPECT_EQ(sent(Answer::http(200, R"({"id":"a\nb"})")).provider_ref, "a b");
}

TEST_F(Parcel, IsRefusedOrTriedAgainByTheStatus) {
  EXPECT_EQ(sent(Answer::http(422)).reason, "refused");
  EXPECT_EQ(sent(Answer::http(503)).verdict, WB_TRANSIENT);
  EXPECT_EQ(sent(Answer::http(401)).scope, WB_WHOLE_TARGET);
  EXPECT_EQ(sent(Answer::failure(WB_NET_CONNECT, WB_NOT_SENT)).reach, WB_NOT_SENT);
}

TEST_F(Parcel, HasAStatus) {
  EXPECT_EQ(status(Answer::http(200, R"({"state":"delivered"})")).verdict, WB_ACCEPTED);
  EXPECT_EQ(status(Answer::http(200, R"({"state":"under_way"})")).verdict, WB_DEFERRED);
  const auto lost = status(Answer::http(200, R"({"state":"failed","reason":"no such house"})"));
  EXPECT_EQ(lost.verdict, WB_REJECTED);
  EXPECT_EQ(lost.reason, "undeliverable");
  EXPECT_EQ(lost.detail, "no such house");
  EXPECT_EQ(host_.requests().at(0).method, "GET");
  EXPECT_EQ(host_.requests().at(0).url, "http://carrier.test/api/parcels/p-7");
}

TEST_F(Parcel, HasNoNewStatusFromAnAnswerThatTellsNone) {
  for (const auto status_code : {404, 400, 302, 201, 500, 429, 401})
    EXPECT_EQ(status(Answer::http(status_code, R"({"state":"failed"})")).verdict, WB_TRANSIENT) << status_code;
  for (const auto* body : {"", "[]", "{}", R"({"state":"eaten"})", R"({"state":1})", "\xff"})
    EXPECT_EQ(status(Answer::http(200, body)).reason, "invalid_answer") << body;
  EXPECT_EQ(status(Answer::failure(WB_NET_TIMEOUT, WB_MAYBE_SENT)).reason, "timeout");
}

TEST_F(Parcel, IsAskedForByWhateverNameTheCarrierGave) {
  host_.answer("http://carrier.test/api/parcels/a%2Fb%3Fc%20%C3%A9", Answer::http(200, R"({"state":"delivered"})"));
  EXPECT_EQ(sender_->status(job("a/b?c \xc3\xa9")).verdict, WB_ACCEPTED);
}

TEST_F(Parcel, WithoutAnIdCannotBeAskedAbout) {
  const auto end = sender_->status(job());
  EXPECT_EQ(end.reason, "no_reference") << end;
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(Parcel, TheCarrierCanBeProbed) {
  host_.answer("http://carrier.test/api/health", Answer::http(200));
  EXPECT_EQ(sender_->probe(job()).verdict, WB_ACCEPTED);
  host_.answer(Answer::http(401));
  EXPECT_EQ(sender_->probe(job()).reason, "unauthorized");
  host_.answer(Answer::failure(WB_NET_RESOLVE, WB_NOT_SENT));
  EXPECT_EQ(sender_->probe(job()).reason, "resolve_failed");
  EXPECT_EQ(host_.requests().at(0).body, "");
}

TEST_F(Parcel, FailuresAreReadPageByPage) {
  host_.answer(kFailures, Answer::http(200, R"({"next":"p 2","failures":[
    {"id":"p-1","key":"key-1","reason":"refused_at_door","detail":"nobody\nthere","failed_at":1700000001},{"id":"p-2"}]})"));
  host_.answer(std::string(kFailures) + "&page=p%202", Answer::http(200, R"({"failures":[{"id":"p-3"}]})"));
  const auto list = failures();
  ASSERT_EQ(list.failures.size(), 3U);
  EXPECT_EQ(list.failures[0].provider_ref, "p-1");
  EXPECT_EQ(list.failures[0].idempotency_key, "key-1");
  EXPECT_EQ(list.failures[0].reason, "refused_at_door");
  EXPECT_EQ(list.failures[0].detail, "nobody there");
  EXPECT_EQ(list.failures[0].failed_at, 1'700'000'001);
  EXPECT_EQ(list.failures[1].reason, "undeliverable") << "the carrier gave none";
  EXPECT_EQ(list.failures[2].provider_ref, "p-3");
  EXPECT_EQ(list.outcomes.back().verdict, WB_ACCEPTED);
}

TEST_F(Parcel, FailuresThatMakeNoSenseAreLeftOut) {
  host_.answer(Answer::http(200, R"({"failures":[7,{},{"id":7},{"id":"p-1","failed_at":"today"}],"next":""})"));
  const auto list = failures();
  ASSERT_EQ(list.failures.size(), 1U);
  EXPECT_EQ(list.failures[0].failed_at, 0);
}

TEST_F(Parcel, AListThatCannotBeReadIsNoList) {
  for (auto answer : {Answer::http(200, "{}"), Answer::http(200, R"({"failures":{}})"), Answer::http(404), Answer::http(503),
                      Answer::http(200, std::string(2'000'000, ' ')), Answer::failure(WB_NET_BROKEN, WB_MAYBE_SENT)}) {
    host_.answer(std::move(answer));
    const auto list = failures();
    EXPECT_TRUE(list.failures.empty());
    EXPECT_EQ(list.outcomes.at(0).verdict, WB_TRANSIENT) << list.outcomes.at(0);
  }
}

TEST_F(Parcel, EveryQuestionCanBeCancelled) {
  for (const auto asked : {CallKind::send, CallKind::status, CallKind::probe, CallKind::failures}) {
    host_.answer(Answer::silence());
    const auto call = sender_->begin(asked, job("p-7"));
    sender_->cancel(call);
    host_.run_until_idle();
    ASSERT_TRUE(host_.outcome(call));
    EXPECT_EQ(host_.outcome(call)->reason, "cancelled");
  }
}

}  // namespace
