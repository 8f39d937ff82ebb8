// The test kit watches the rules of plugin.h: each breach fails the author's test, by name. H3 D9
#include <gtest/gtest-spi.h>

#include <thread>

#include "puppet.h"

namespace waybill::testkit {
namespace {
using std::chrono::milliseconds;

TEST_F(TestKit, CompletingTwiceFails) {
  puppet_.send = [this](wb_call call, const wb_job*) {
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
    puppet_.complete(call.id, outcome(WB_REJECTED, "declared"));
  };
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "was completed twice");
  EXPECT_EQ(puppet_.last, 1);
}

TEST_F(TestKit, CompletingAnUnknownCallFails) {
  puppet_.send = [this](wb_call call, const wb_job*) {
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
    puppet_.complete(call.id + 1000, outcome(WB_ACCEPTED, ""));
  };
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "there is no such call");
  EXPECT_EQ(puppet_.last, 1);
}

TEST_F(TestKit, ACallStillOpenAtTheEndFails) {
  sender_->send({});
  EXPECT_NONFATAL_FAILURE(sender_.reset(), "was never completed");
  EXPECT_TRUE(puppet_.destroyed);
}

TEST_F(TestKit, AttemptFailsWhenTheCallStaysOpen) {
  host_.patience(milliseconds(1));
  EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "has not ended");
  EXPECT_NONFATAL_FAILURE(sender_.reset(), "was never completed");
}

// D9
TEST_F(TestKit, CountersAreKeptAndTheirNamesAreWords) {
  const auto* service = static_cast<const wb_counter_service*>(puppet_.host->get_service(puppet_.host, str(WB_COUNTER_SERVICE)));
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(service->add(puppet_.host, str("segments"), 3), WB_COUNTER_OK);
  EXPECT_EQ(service->add(puppet_.host, str("segments"), 2), WB_COUNTER_OK);
  EXPECT_NONFATAL_FAILURE(service->add(puppet_.host, str("+4915112345678"), 1), "counter.add was given a name");
  EXPECT_EQ(host_.counters(), (std::map<std::string, std::uint64_t>{{"segments", 5}}));
  for (int i = 1; i < WB_MOST_COUNTERS; ++i) service->add(puppet_.host, str(("n" + std::to_string(i)).c_str()), 1);
  EXPECT_NONFATAL_FAILURE(service->add(puppet_.host, str("one_more"), 1), "more than 64 names");
  host_.remove_service(WB_COUNTER_SERVICE);
  EXPECT_EQ(puppet_.host->get_service(puppet_.host, str(WB_COUNTER_SERVICE)), nullptr);
}

TEST_F(TestKit, ASecretInAReasonADetailOrALogFails) {
  host_.secret("key", {"new-value", "old-value"});
  puppet_.send = [this](wb_call call, const wb_job*) {
    puppet_.complete(call.id, outcome(WB_TRANSIENT, "x", "has old-value in it"));
  };
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "detail gives the secret \"key\" away");
  puppet_.send = [this](wb_call call, const wb_job*) { puppet_.complete(call.id, outcome(WB_TRANSIENT, "new-value")); };
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "reason gives the secret \"key\" away");
  const wb_field field{str("k"), str("new-value")};
  EXPECT_NONFATAL_FAILURE(puppet_.host->log(puppet_.host, {0}, WB_LOG_INFO, str("t"), &field, 1), "log field gives the secret");
  EXPECT_NONFATAL_FAILURE(puppet_.host->log(puppet_.host, {0}, WB_LOG_INFO, str("old-value"), nullptr, 0),
                          "log event gives the secret");
}

TEST_F(TestKit, GarbageInAnOutcomeFails) {
  wb_outcome garbage = outcome(WB_ACCEPTED, "");
  puppet_.send = [&](wb_call call, const wb_job*) { puppet_.complete(call.id, garbage); };
  garbage.verdict = 17;
  garbage.reason = str("r");
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "no such verdict");
  garbage = outcome(WB_ACCEPTED, "");
  garbage.reach = 0;
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "no such reach");
  garbage = outcome(WB_ACCEPTED, "");
  garbage.scope = 9;
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "no such scope");
  garbage = outcome(WB_TRANSIENT, "");
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "needs a reason");
  garbage = outcome(WB_REJECTED, "undeclared");
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "does not declare");
  garbage = outcome(WB_TRANSIENT, "r", "two\nlines");
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "more than one line");
  garbage = outcome(WB_TRANSIENT, "r", "\xff");
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "is not UTF-8");
  garbage = outcome(WB_ACCEPTED, "");
  garbage.size = 8;
  EXPECT_NONFATAL_FAILURE(sender_->send({}), "null or too short");
}

TEST_F(TestKit, AFetchIsAnsweredOnceAndOnlyLater) {
  host_.answer(Answer::http(201, "yes"));
  puppet_.send = [this](wb_call call, const wb_job*) {
    accept_on_answer(call);
    puppet_.fetch(call, "http://a.test/");
    EXPECT_TRUE(puppet_.responses.empty()) << "never before fetch returns";
  };
  sender_->attempt({});
  host_.advance(std::chrono::hours(1));
  ASSERT_EQ(puppet_.responses.size(), 1U);
  EXPECT_EQ(puppet_.responses[0].status, 201);
  EXPECT_EQ(puppet_.responses[0].reach, WB_ANSWERED);
  EXPECT_EQ(puppet_.bodies[0], "yes");
  EXPECT_EQ(host_.open_fetches(), 0U);
}

TEST_F(TestKit, AFetchWithoutAScriptedAnswerFails) {
  puppet_.send = [this](wb_call call, const wb_job*) {
    accept_on_answer(call);
    puppet_.fetch(call, "http://a.test/");
  };
  EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "no answer is scripted for POST http://a.test/");
}

TEST_F(TestKit, AFetchForACallThatIsNotOpenFailsAndIsCancelled) {
  puppet_.send = [this](wb_call call, const wb_job*) {
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
    puppet_.fetch(call, "http://a.test/");
  };
  EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "which is not open");
  ASSERT_EQ(puppet_.responses.size(), 1U);
  EXPECT_EQ(puppet_.responses[0].error, WB_NET_CANCELLED);
}

TEST_F(TestKit, ACallThatEndsCancelsItsFetchesAndTimers) {
  host_.answer(Answer::silence(WB_NOT_SENT));
  puppet_.send = [this](wb_call call, const wb_job*) {
    puppet_.fetch(call, "http://a.test/");
    puppet_.after(call, 1);
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
  };
  sender_->attempt({});
  ASSERT_EQ(puppet_.responses.size(), 1U);
  EXPECT_EQ(puppet_.responses[0].error, WB_NET_CANCELLED);
  EXPECT_EQ(puppet_.responses[0].reach, WB_NOT_SENT);
  host_.advance(milliseconds(10));
  EXPECT_EQ(puppet_.fired, 0);
}

TEST_F(TestKit, AnAbortedFetchIsStillAnsweredOnce) {
  host_.answer(Answer::silence());
  std::uint64_t fetch = 0;
  puppet_.send = [&](wb_call call, const wb_job*) {
    accept_on_answer(call);
    fetch = puppet_.fetch(call, "http://a.test/");
  };
  puppet_.cancel = [&](wb_call) {
    puppet_.abort(fetch);
    puppet_.abort(fetch);
    puppet_.abort(fetch + 1000);
    EXPECT_TRUE(puppet_.responses.empty());
  };
  const auto call = sender_->send({});
  sender_->cancel(call);
  host_.run_until_idle();
  sender_->cancel(call);  // ended: the plugin is not asked
  ASSERT_EQ(puppet_.responses.size(), 1U);
  EXPECT_EQ(puppet_.responses[0].error, WB_NET_CANCELLED);
  EXPECT_TRUE(host_.requests().at(0).aborted);
}

TEST_F(TestKit, TimeoutsComeFromTheRequestOrTheCall) {
  host_.answer(Answer::silence());
  host_.answer(Answer::silence());
  std::uint32_t timeout = 500;
  puppet_.send = [&](wb_call call, const wb_job*) {
    accept_on_answer(call);
    puppet_.fetch(call, "http://a.test/", {}, timeout);
  };
  Job job;
  job.deadline_ms = 800;
  for (const auto expected : {milliseconds(500), milliseconds(800)}) {
    puppet_.responses.clear();
    sender_->send(job);
    host_.advance(expected - milliseconds(1));
    EXPECT_TRUE(puppet_.responses.empty());
    host_.advance(milliseconds(1));
    ASSERT_EQ(puppet_.responses.size(), 1U);
    EXPECT_EQ(puppet_.responses[0].error, WB_NET_TIMEOUT);
    EXPECT_EQ(puppet_.responses[0].reach, WB_MAYBE_SENT);
    timeout = 0;
  }
}

TEST_F(TestKit, AnAnswerThatWouldComeTooLateIsATimeout) {
  auto late = Answer::http(200);
  late.after = milliseconds(900);
  host_.answer(late);
  puppet_.send = [&](wb_call call, const wb_job*) {
    accept_on_answer(call);
    puppet_.fetch(call, "http://a.test/", {}, 500);
  };
  sender_->send({});
  host_.advance(milliseconds(500));
  ASSERT_EQ(puppet_.responses.size(), 1U);
  EXPECT_EQ(puppet_.responses[0].error, WB_NET_TIMEOUT);
  EXPECT_EQ(puppet_.responses[0].status, 0);
}

TEST_F(TestKit, AnswersAreTakenInOrderAndByUrlFirst) {
  host_.answer(Answer::http(201));
  host_.answer("http://b.test/", Answer::http(202));
  host_.answer(Answer::http(203));
  auto late = Answer::http(204);
  late.after = milliseconds(50);
  host_.answer(late);
  puppet_.send = [&](wb_call call, const wb_job*) {
    for (const auto* url : {"http://a.test/", "http://b.test/", "http://a.test/", "http://a.test/"}) puppet_.fetch(call, url);
    puppet_.after(call, 20);
  };
  const auto call = sender_->send({});
  host_.run_until_idle();
  ASSERT_EQ(puppet_.responses.size(), 3U);
  EXPECT_EQ(puppet_.responses[0].status, 201);
  EXPECT_EQ(puppet_.responses[1].status, 202);
  EXPECT_EQ(puppet_.responses[2].status, 203);
  host_.advance(milliseconds(49));
  EXPECT_EQ(puppet_.fired, 1);
  EXPECT_EQ(puppet_.responses.size(), 3U);
  host_.advance(milliseconds(1));
  EXPECT_EQ(puppet_.responses.size(), 4U);
  puppet_.complete(static_cast<std::uint64_t>(call), outcome(WB_ACCEPTED, ""));
}

TEST_F(TestKit, BodiesAreCutAsAsked) {
  host_.answer(Answer::http(200, std::string(5000, 'x')));
  host_.answer(Answer::http(200, "abc"));
  puppet_.send = [&](wb_call call, const wb_job*) {
    puppet_.fetch(call, "http://a.test/");
    puppet_.fetch(call, "http://a.test/", {}, 0, 2);
  };
  const auto call = sender_->send({});
  host_.run_until_idle();
  EXPECT_EQ(puppet_.bodies.at(0).size(), 4096U);
  EXPECT_EQ(puppet_.responses.at(0).truncated, 1U);
  EXPECT_EQ(puppet_.bodies.at(1), "ab");
  puppet_.complete(static_cast<std::uint64_t>(call), outcome(WB_ACCEPTED, ""));
}

TEST_F(TestKit, WhatAHostMustRefuseIsRefusedAndStillAnswered) {
  host_.secret("known", {"s3cret"});
  puppet_.send = [&](wb_call call, const wb_job*) {
    for (const auto* url : {"", "ftp://a.test/", "a.test", "http://", "http:///x", "http://a.test/ b"}) puppet_.fetch(call, url);
    puppet_.fetch(call, "http://a.test/", {{str("X-A"), str("{secret:unknown}")}});
    puppet_.fetch(call, "http://a.test/", {{str("X-A"), str("{secret:known")}});
    puppet_.fetch(call, "http://a.test/", {{str("X A"), str("v")}});
    puppet_.fetch(call, "http://a.test/", {{str("X-A"), str("a\r\nb: c")}});
  };
  const auto call = sender_->send({});
  host_.run_until_idle();
  EXPECT_EQ(puppet_.responses.size(), 10U);
  for (const auto& response : puppet_.responses) {
    EXPECT_EQ(response.error, WB_NET_REFUSED);
    EXPECT_EQ(response.reach, WB_NOT_SENT);
  }
  puppet_.complete(static_cast<std::uint64_t>(call), outcome(WB_ACCEPTED, ""));
}

TEST_F(TestKit, ARequestThatNoHostCouldReadFailsAndIsRefused) {
  wb_http_request request{};
  request.method = str("POST");
  request.url = str("http://a.test/");
  const auto send = [&](const wb_http_request* given) {
    puppet_.send = [this, given](wb_call call, const wb_job*) {
      accept_on_answer(call);
      const auto* http = static_cast<const wb_http_service*>(puppet_.host->get_service(puppet_.host, str(WB_HTTP_SERVICE)));
      http->fetch(puppet_.host, call, given, &Puppet::done, &puppet_);
    };
    sender_->attempt({});
  };
  EXPECT_NONFATAL_FAILURE(send(&request), "a request that is too short: is `size` set?");
  EXPECT_NONFATAL_FAILURE(send(nullptr), "a request that is null");
  request.size = sizeof request;
  request.header_count = 1;
  EXPECT_NONFATAL_FAILURE(send(&request), "a request whose headers are null");
  ASSERT_EQ(puppet_.responses.size(), 3U);
  for (const auto& response : puppet_.responses) EXPECT_EQ(response.error, WB_NET_REFUSED);
}

TEST_F(TestKit, ATimerWithoutAFunctionFails) {
  puppet_.send = [this](wb_call call, const wb_job*) {
    EXPECT_NONFATAL_FAILURE(puppet_.timer()->after(puppet_.host, call, 0, nullptr, nullptr), "given no function");
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
  };
  EXPECT_EQ(sender_->attempt({}).verdict, WB_ACCEPTED);
}

TEST_F(TestKit, HeadersAreFilledInWithTheNewestSecret) {
  host_.secret("known", {"new", "old"});
  host_.answer(Answer::http(200));
  puppet_.send = [&](wb_call call, const wb_job*) {
    accept_on_answer(call);
    puppet_.fetch(call, "http://a.test/", {{str("X-A"), str("Bearer {secret:known}, {secret:known}!")}});
  };
  sender_->attempt({});
  EXPECT_EQ(host_.requests().at(0).header("x-a"), "Bearer {secret:known}, {secret:known}!");
  EXPECT_EQ(host_.requests().at(0).filled_header("x-a"), "Bearer new, new!");
}

TEST_F(TestKit, ClocksMoveOnlyByHand) {
  const auto* timer = puppet_.timer();
  const auto before = timer->monotonic_ms(puppet_.host);
  host_.set_unix_seconds(1614265330);
  host_.run_until_idle();
  EXPECT_EQ(timer->monotonic_ms(puppet_.host), before);
  EXPECT_EQ(timer->unix_seconds(puppet_.host), 1614265330);
  host_.advance(milliseconds(2500));
  EXPECT_EQ(timer->monotonic_ms(puppet_.host), before + 2500);
  EXPECT_EQ(timer->unix_seconds(puppet_.host), 1614265332);
}

TEST_F(TestKit, ACheckThatMiscountsOrWaversFails) {
  EXPECT_NONFATAL_FAILURE(
      {
        testing::ScopedTrace trace(__FILE__, __LINE__, "both runs miscount");
        EXPECT_EQ(host_.validate_destination("puppet", "{}").size(), 0U);
      },
      "must give the same answer");
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD,
                                                       &results);
    host_.validate_settings("puppet", "{}");
  }
  ASSERT_EQ(results.size(), 2);
  EXPECT_NE(std::string(results.GetTestPartResult(0).message()).find("must return the number"), std::string::npos);
}

TEST_F(TestKit, ARefusalWithoutAReportFails) {
  std::unique_ptr<FakeSender> none;
  EXPECT_NONFATAL_FAILURE(none = host_.make_sender("puppet", ""), "without telling why");
  EXPECT_EQ(none, nullptr);
  EXPECT_NONFATAL_FAILURE(none = host_.make_sender("other"), "no action type other");
}

TEST_F(TestKit, WhatBelongsToTheStrandFailsFromAnotherThread) {
  const auto* timer = static_cast<const wb_timer_service*>(puppet_.host->get_service(puppet_.host, str(WB_TIMER_SERVICE)));
  puppet_.send = [&](wb_call call, const wb_job*) {
    std::thread([&] { timer->after(puppet_.host, call, 0, nullptr, nullptr); }).join();
    puppet_.complete(call.id, outcome(WB_ACCEPTED, ""));
  };
  EXPECT_NONFATAL_FAILURE_ON_ALL_THREADS(sender_->send({}), "came from another thread");
}

TEST_F(TestKit, ACompletionFromAnotherThreadCounts) {
  std::thread other;
  puppet_.send = [&](wb_call call, const wb_job*) {
    other = std::thread([this, call] { puppet_.complete(call.id, outcome(WB_ACCEPTED, "")); });
  };
  EXPECT_EQ(sender_->attempt({}).verdict, WB_ACCEPTED);
  other.join();
}

TEST_F(TestKit, AServiceCanBeMissing) {
  host_.remove_service(WB_SIGN_SERVICE);
  EXPECT_EQ(puppet_.host->get_service(puppet_.host, str(WB_SIGN_SERVICE)), nullptr);
  EXPECT_EQ(puppet_.host->get_service(puppet_.host, str("waybill.fax/1")), nullptr);
}

TEST_F(TestKit, SignsWithEverySecretOfTheNameAndKnowsNoOther) {
  // RFC 4231, test case 2.
  host_.secret("jefe", {"Jefe", "another"});
  const auto* sign = static_cast<const wb_sign_service*>(puppet_.host->get_service(puppet_.host, str(WB_SIGN_SERVICE)));
  std::vector<std::string> macs;
  const auto sink = [](void* user, const std::uint8_t* mac, std::size_t size) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(reinterpret_cast<const char*>(mac), size);
  };
  const wb_str parts[] = {str("what do ya want "), str("for nothing?")};
  EXPECT_EQ(sign->hmac_sha256(puppet_.host, str("jefe"), parts, 2, sink, &macs), WB_SIGN_OK);
  ASSERT_EQ(macs.size(), 2U);
  EXPECT_EQ(macs[0].substr(0, 4), "\x5b\xdc\xc1\x46");
  EXPECT_EQ(macs[0].size(), 32U);
  EXPECT_NE(macs[0], macs[1]);
  EXPECT_EQ(sign->hmac_sha256(puppet_.host, str("nobody"), parts, 2, sink, &macs), WB_SIGN_UNKNOWN_SECRET);
  EXPECT_EQ(macs.size(), 2U);
}

}  // namespace
}  // namespace waybill::testkit
