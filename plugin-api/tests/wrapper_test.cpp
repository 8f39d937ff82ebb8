// The C++ wrapper on the fake host: nothing that a plugin throws gets out, and every fact gets across.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "waybill/plugin.hpp"
#include "waybill/testkit.hpp"

namespace {
namespace wp = waybill::plugin;
using namespace waybill::testkit;
using std::chrono::milliseconds;

// Throws where the payload says, an exception of the kind that the settings say.
class Thrower final : public wp::Sender {
 public:
  Thrower(wp::Host host, std::string_view settings) : http_(host.http()), timer_(host.timer()), kind_(settings) {
    if (settings == "create std") raise("std");
    if (settings == "create int") raise("int");
  }
  void send(Call call, Job job) override {
    const auto where = job.payload();
    if (where == "send") raise(kind_);
    if (where == "complete and throw") {
      call.complete(wp::Outcome::accepted());
      raise(kind_);
    }
    if (where == "null callback") http_.fetch(call, request(), nullptr);
    if (where == "fetch") http_.fetch(call, request(), [this](const wp::Response&) { raise(kind_); });
    if (where == "timer") own_ = timer_.after(call, milliseconds(10), [this] { raise(kind_); });
    if (where == "drops its own timer")
      own_ = timer_.after(call, milliseconds(10), [this, call] {
        own_ = wp::Timer();
        call.complete(wp::Outcome::accepted());
      });
    if (where == "loses its timer") {
      {
        const auto lost = timer_.after(call, milliseconds(1), [this] { raise(kind_); });
      }
      own_ = timer_.after(call, milliseconds(2), [call] { call.complete(wp::Outcome::accepted()); });
    }
  }
  void cancel(Call) override { raise(kind_); }
  const void* extension(std::string_view id) override {
    if (id == "throws") raise(kind_);
    return id == "known" ? this : nullptr;
  }

 private:
  static void raise(std::string_view kind) {
    if (kind.find("int") != std::string_view::npos) throw 7;
    throw std::runtime_error("thrown on purpose");
  }
  static wp::Request request() {
    wp::Request out;
    out.url = "http://thrower.test/";
    return out;
  }
  wp::Http http_;
  wp::Timers timer_;
  std::string kind_;
  wp::Timer own_;
};

void check_settings(std::string_view json, wp::Report& report) {
  if (json == "throw") throw std::runtime_error("the check broke");
  if (json == "throw int") throw 7;
  if (json != "{}") report("/a", "no such thing"), report("/b", "nor this");
}

class Idle final : public wp::Sender {
 public:
  Idle(wp::Host, std::string_view) {}
  void send(Call call, Job) override { call.complete(wp::Outcome::accepted()); }
  void cancel(Call) override {}
};

constexpr auto kThrower = wp::action<Thrower>("thrower").settings_schema("{}").validate_settings<check_settings>();
constexpr auto kIdle = wp::action<Idle>("idle").blocking().validate_destination<check_settings>();
constexpr wb_plugin kPlugin = wp::detail::describe<kThrower, kIdle>("two", "1.2");

Job job(std::string payload) {
  Job out;
  out.payload = std::move(payload);
  return out;
}

struct Kind {
  const char* settings;
  const char* detail;
};
class WhateverIsThrown : public testing::TestWithParam<Kind> {  // H5
 protected:
  void expect_plugin_error(const Outcome& o) {
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reach, WB_MAYBE_SENT) << o;
    EXPECT_EQ(o.scope, WB_THIS_JOB) << o;
    EXPECT_EQ(o.retry_after_ms, -1) << o;
    EXPECT_EQ(o.reason, "plugin_error");
    EXPECT_EQ(o.detail, GetParam().detail);
  }
  FakeHost host_{&kPlugin};
};

TEST_P(WhateverIsThrown, InSendCompletesTheCall) {
  auto sender = host_.make_sender("thrower", GetParam().settings);
  expect_plugin_error(sender->attempt(job("send")));
}

TEST_P(WhateverIsThrown, InAFetchCallbackCompletesTheCall) {
  auto sender = host_.make_sender("thrower", GetParam().settings);
  host_.answer(Answer::http(200));
  expect_plugin_error(sender->attempt(job("fetch")));
}

TEST_P(WhateverIsThrown, InATimerCallbackCompletesTheCall) {
  auto sender = host_.make_sender("thrower", GetParam().settings);
  const auto call = sender->send(job("timer"));
  host_.advance(milliseconds(10));
  ASSERT_TRUE(host_.outcome(call));
  expect_plugin_error(*host_.outcome(call));
}

TEST_P(WhateverIsThrown, InCancelCompletesTheCall) {
  auto sender = host_.make_sender("thrower", GetParam().settings);
  const auto call = sender->send(job("timer"));
  sender->cancel(call);
  ASSERT_TRUE(host_.outcome(call));
  expect_plugin_error(*host_.outcome(call));
  EXPECT_EQ(host_.open_timers(), 0U);
}

TEST_P(WhateverIsThrown, InGetExtensionMeansNone) {
  auto sender = host_.make_sender("thrower", GetParam().settings);
  EXPECT_EQ(sender->extension("throws"), nullptr);
  EXPECT_EQ(sender->extension("unknown"), nullptr);
  EXPECT_NE(sender->extension("known"), nullptr);
}

TEST_P(WhateverIsThrown, InCreateIsReportedAndRefusesTheSender) {
  EXPECT_EQ(host_.make_sender("thrower", std::string("create ") + GetParam().settings), nullptr);
  EXPECT_EQ(host_.create_problems(), (std::vector<Problem>{{"", GetParam().detail}}));
}

INSTANTIATE_TEST_SUITE_P(Kinds, WhateverIsThrown,
                         testing::Values(Kind{"std", "thrown on purpose"}, Kind{"int", "an exception that is no std::exception"}),
                         [](const auto& kind) { return std::string(kind.param.settings); });

TEST(Wrapper, AMissingCallbackIsThePluginsError) {  // H5
  FakeHost host(&kPlugin);
  auto sender = host.make_sender("thrower");
  host.answer(Answer::http(200));
  EXPECT_EQ(sender->attempt(job("null callback")).reason, "plugin_error");
}

TEST(Wrapper, ThrowingAfterCompletingIsADoubleCompletion) {  // H5
  FakeHost host(&kPlugin);
  auto sender = host.make_sender("thrower");
  Outcome first;
  EXPECT_NONFATAL_FAILURE(first = sender->attempt(job("complete and throw")), "was completed twice");
  EXPECT_EQ(first.verdict, WB_ACCEPTED) << "the first one counts";
}

TEST(Wrapper, ATimerCallbackMayDropItsOwnTimer) {
  FakeHost host(&kPlugin);
  auto sender = host.make_sender("thrower");
  const auto call = sender->send(job("drops its own timer"));
  host.advance(milliseconds(10));
  ASSERT_TRUE(host.outcome(call));
  EXPECT_EQ(host.outcome(call)->verdict, WB_ACCEPTED);
}

TEST(Wrapper, ADroppedTimerNeverFires) {
  FakeHost host(&kPlugin);
  auto sender = host.make_sender("thrower");
  const auto call = sender->send(job("loses its timer"));
  EXPECT_EQ(host.open_timers(), 1U);
  host.advance(milliseconds(10));
  ASSERT_TRUE(host.outcome(call));
  EXPECT_EQ(host.outcome(call)->verdict, WB_ACCEPTED);
}

TEST(Wrapper, ATimerMayOutliveItsCall) {
  FakeHost host(&kPlugin);
  auto sender = host.make_sender("thrower");
  const auto call = sender->send(job("timer"));
  sender->cancel(call);  // throws, which ends the call, while the sender still holds the timer
  host.advance(milliseconds(100));
  EXPECT_EQ(host.outcome(call)->reason, "plugin_error");
}

TEST(Wrapper, AHostWithoutANeededServiceGetsAReport) {  // H1
  for (const auto* id : {WB_HTTP_SERVICE, WB_TIMER_SERVICE}) {
    FakeHost host(&kPlugin);
    host.remove_service(id);
    EXPECT_EQ(host.make_sender("thrower"), nullptr);
    EXPECT_EQ(host.create_problems(), (std::vector<Problem>{{"", std::string("this host has no service ") + id}}));
  }
}

TEST(Wrapper, ChecksCountWhatTheyReportAndNeverThrow) {  // H1, H5
  FakeHost host(&kPlugin);
  EXPECT_TRUE(host.validate_settings("thrower", "{}").empty());
  EXPECT_EQ(host.validate_settings("thrower", "x"), (std::vector<Problem>{{"/a", "no such thing"}, {"/b", "nor this"}}));
  EXPECT_EQ(host.validate_settings("thrower", "throw"), (std::vector<Problem>{{"", "the check broke"}}));
  EXPECT_EQ(host.validate_settings("thrower", "throw int").size(), 1U);
  EXPECT_EQ(host.validate_destination("idle", "x").size(), 2U);
  EXPECT_TRUE(host.validate_destination("thrower", "x").empty()) << "it has no such check";
}

TEST(Wrapper, TheDescriptorSaysWhatWasBuilt) {  // H1
  EXPECT_EQ(kPlugin.size, sizeof(wb_plugin));
  EXPECT_EQ(kPlugin.abi_minor, static_cast<std::uint32_t>(WB_ABI_MINOR));
  EXPECT_EQ(kPlugin.needs_minor, 0U);
  EXPECT_EQ(wp::view(kPlugin.id), "two");
  EXPECT_EQ(wp::view(kPlugin.version), "1.2");
  ASSERT_EQ(kPlugin.action_count, 2U);
  EXPECT_EQ(wp::view(kPlugin.actions[0]->type), "thrower");
  EXPECT_EQ(kPlugin.actions[0]->flags, 0U);
  EXPECT_EQ(wp::view(kPlugin.actions[1]->type), "idle");
  EXPECT_EQ(kPlugin.actions[1]->flags, static_cast<std::uint32_t>(WB_BLOCKING));
  EXPECT_EQ(kPlugin.actions[1]->validate_settings, nullptr);

  const auto* sample = wb_plugin_v1();
  EXPECT_EQ(sample, wb_plugin_v1());
  ASSERT_EQ(sample->action_count, 1U);
  const auto& action = *sample->actions[0];
  EXPECT_EQ(action.size, sizeof(wb_action));
  ASSERT_EQ(action.reason_count, 2U);
  EXPECT_EQ(wp::view(action.reasons[0].name), "invalid_request");
  EXPECT_EQ(action.reasons[0].flags, static_cast<std::uint32_t>(WB_REASON_PERMANENT));
  EXPECT_EQ(action.reasons[1].flags, static_cast<std::uint32_t>(WB_REASON_DUPLICATE));
  EXPECT_EQ(wp::view(action.destination_schema), R"({"type":"object"})");
  EXPECT_EQ(action.settings_schema.len, 0U);
  EXPECT_EQ(wp::view(action.payload_schema), R"({"type":"object"})");
}

// D9: counting is no reason to refuse an older host.
TEST(Wrapper, CountsWhereTheHostDoes) {
  const wb_host* host = nullptr;
  EXPECT_FALSE(wp::Counters(host, nullptr).add("segments"));
}

TEST(Wrapper, EveryFactOfAnOutcomeGetsAcross) {
  auto outcome = wp::Outcome::rejected("r").reach(wp::Reach::maybe_sent).scope(wp::Scope::whole_target).code(418);
  outcome.retry_after(milliseconds(1500)).detail("d").provider_ref("p").result("{}");
  const auto raw = outcome.raw();
  EXPECT_EQ(raw.size, sizeof raw);
  EXPECT_EQ(raw.verdict, WB_REJECTED);
  EXPECT_EQ(raw.reach, WB_MAYBE_SENT);
  EXPECT_EQ(raw.scope, WB_WHOLE_TARGET);
  EXPECT_EQ(raw.code, 418);
  EXPECT_EQ(raw.retry_after_ms, 1500);
  EXPECT_EQ(wp::view(raw.reason), "r");
  EXPECT_EQ(wp::view(raw.detail), "d");
  EXPECT_EQ(wp::view(raw.provider_ref), "p");
  EXPECT_EQ(wp::view(raw.result), "{}");
}

TEST(Wrapper, FactoriesStartFromTheUsualReach) {
  EXPECT_EQ(wp::Outcome::accepted().raw().reach, WB_ANSWERED);
  EXPECT_EQ(wp::Outcome::rejected("r").raw().reach, WB_ANSWERED);
  EXPECT_EQ(wp::Outcome::transient("t").raw().reach, WB_MAYBE_SENT);
  EXPECT_EQ(wp::Outcome::deferred("d").raw().reach, WB_NOT_SENT);
  EXPECT_EQ(wp::Outcome::transient("t").raw().retry_after_ms, -1);
}

TEST(SamplePlugin, SendsWhatItWasGiven) {
  FakeHost host(wb_plugin_v1());
  host.secret("key", {"new", "old"});
  auto sender = host.make_sender("sample");
  host.answer(Answer::http(200));
  const auto o = sender->attempt(job("hello"));
  EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
  ASSERT_EQ(host.requests().size(), 1U);
  const auto& request = host.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "http://sample.test/");
  EXPECT_EQ(request.body, "hello");
  EXPECT_EQ(request.header("x-macs"), "2");
  EXPECT_EQ(request.header("X-Key"), "{secret:key}");
  EXPECT_EQ(request.filled_header("X-Key"), "new");
  EXPECT_EQ(request.timeout_ms, 5000U);
  ASSERT_EQ(host.logs().size(), 1U);
  EXPECT_EQ(host.logs()[0].fields.at(0).second, "target-1");
}

TEST(SamplePlugin, HasSecretsFilledInSignsWithKeysAndReadsWhatItMay) {  // D8
  FakeHost host(wb_plugin_v1());
  host.secret("key", {"a\"b"});
  host.secret("redis", {"new", "old"});
  host.allow_secret("redis");
  host.oauth2_client("crm", "t0ken");
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> pem(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(pem.get(), &data);
  host.secret("signer", {std::string(data, static_cast<std::size_t>(size))});
  auto sender = host.make_sender("sample");
  host.answer(Answer::http(200));
  EXPECT_EQ(sender->attempt(job("secrets")).verdict, WB_ACCEPTED);
  const auto& request = host.requests().at(0);
  EXPECT_EQ(request.body, R"({"k":""})");
  EXPECT_EQ(request.filled_body, R"({"k":"a\"b"})");
  EXPECT_EQ(request.filled_url, "https://sample.test/a\"b");
  EXPECT_EQ(request.filled_header("Authorization"), "Bearer t0ken");
  const auto token = request.header("X-Jwt").value_or("");
  EXPECT_EQ(token.substr(0, token.rfind('.')),
            wp::base64url(R"({"typ":"JWT","alg":"RS256","kid":"id1"})") + '.' + wp::base64url(R"({"iss":"me"})"));
  EXPECT_EQ(token.size() - token.rfind('.') - 1, 342U);  // 256 bytes
  EXPECT_EQ(request.header("X-No-Jwt"), "none");
  EXPECT_EQ(request.header("X-Value"), "new");
  EXPECT_EQ(request.header("X-Other"), "none");
  EXPECT_EQ(host.forgotten_tokens(), std::vector<std::string>{"crm"});
}

TEST(Base64Url, IsThatOfTheStandardWithoutPadding) {  // RFC 4648, 10 and 5
  for (const auto& [bytes, text] :
       {std::pair{"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"}, {"\xfb\xff", "-_8"}})
    EXPECT_EQ(wp::base64url(bytes), text);
}

TEST(SamplePlugin, PassesRetryAfterOn) {
  FakeHost host(wb_plugin_v1());
  host.secret("key", {"a-longer-value"});
  auto sender = host.make_sender("sample");
  auto busy = Answer::http(503);
  busy.retry_after_ms = 7000;
  host.answer(busy);
  const auto o = sender->attempt(job("hello"));
  EXPECT_EQ(o.retry_after_ms, 7000) << o;
  EXPECT_EQ(o.code, 503);
}

TEST(SamplePlugin, IsRefusedWithBadSettings) {
  FakeHost host(wb_plugin_v1());
  EXPECT_EQ(host.make_sender("sample", "bad"), nullptr);
  EXPECT_EQ(host.create_problems().at(0).message, "these settings are bad");
}

TEST(SamplePlugin, WaitsOnTheHostsClock) {
  FakeHost host(wb_plugin_v1());
  auto sender = host.make_sender("sample");
  const auto call = sender->send(job("wait"));
  host.advance(milliseconds(1999));
  EXPECT_FALSE(host.outcome(call));
  host.advance(milliseconds(1));
  ASSERT_TRUE(host.outcome(call));
  EXPECT_EQ(host.outcome(call)->reason, "waited");
}

}  // namespace
