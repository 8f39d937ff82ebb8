// Whatever a plugin says of an attempt, the host keeps something sound.  H5 M8
#include "senders/outcome_check.h"

#include <gtest/gtest.h>
#include <waybill/plugin.h>

#include "base/utf8.h"
#include "plugin_protocol/plugin_text.h"

namespace waybill {
namespace {

const ActionType& type() {
  static const ActionType type{"sample", false, {{"invalid_request", true, false}}};
  return type;
}

wb_outcome said(wb_verdict verdict, std::string_view reason = {}) {
  wb_outcome outcome{};
  outcome.size = sizeof outcome;
  outcome.verdict = verdict;
  outcome.reach = WB_ANSWERED;
  outcome.scope = WB_THIS_JOB;
  outcome.retry_after_ms = -1;
  outcome.reason = borrow(reason);
  return outcome;
}

TEST(OutcomeCheck, ASoundOutcomePassesUnchanged) {
  auto outcome = said(WB_REJECTED, "invalid_request");
  outcome.scope = WB_WHOLE_TARGET;
  outcome.code = 422;
  outcome.retry_after_ms = 1500;
  outcome.detail = borrow("the gateway said no");
  outcome.provider_ref = borrow("ref-1");
  outcome.result = borrow(R"({"score": 80})");
  const auto checked = check_outcome(&outcome, type());
  EXPECT_EQ(checked.fault, "");
  EXPECT_EQ(checked.outcome, (Outcome{Verdict::rejected, Reach::answered, Scope::whole_target, 422, Millis(1500),
                                      "invalid_request", "the gateway said no", "ref-1", R"({"score":80})"}));
}

// S4: as it is written, unless the database could not keep it
TEST(OutcomeCheck, NumbersOfAResultAreKeptAsTheyAreWritten) {
  auto outcome = said(WB_ACCEPTED);
  for (const std::string result : {R"({"a":[100.00,1.10,18446744073709551616,1e-05,1E5,-0,0.0,5e-324]})", "1.50"}) {
    outcome.result = borrow(result);
    EXPECT_EQ(check_outcome(&outcome, type()).outcome.result, result);
  }
  const std::vector<std::string> unstorable{"1e-99999",           "-2e-400", "0e99999", "1e400", "0." + std::string(20'000, '1'),
                                            std::string(400, '9')};
  for (const auto& number : unstorable) {
    const auto result = R"({"a":[)" + number + "]}";
    outcome.result = borrow(result);
    const auto checked = check_outcome(&outcome, type());
    EXPECT_EQ(checked.fault, "invalid_result") << number.substr(0, 50);
    EXPECT_EQ(checked.outcome.result, "");
    EXPECT_EQ(checked.outcome.verdict, Verdict::accepted);
  }
  outcome.result = borrow(std::string_view("{}\0{}", 5));
  EXPECT_EQ(check_outcome(&outcome, type()).fault, "invalid_result");
}

TEST(OutcomeCheck, UnknownNumbersCountAsTheHeaderSays) {
  auto outcome = said(77);
  outcome.reach = -1;
  outcome.scope = 9;
  const auto checked = check_outcome(&outcome, type());
  EXPECT_EQ(checked.outcome.verdict, Verdict::transient);
  EXPECT_EQ(checked.outcome.reach, Reach::maybe_sent);
  EXPECT_EQ(checked.outcome.scope, Scope::this_job);
  EXPECT_EQ(checked.outcome.retry_after, std::nullopt);
  EXPECT_EQ(checked.fault, "invalid_verdict");
}

TEST(OutcomeCheck, AnUndeclaredReasonNeverEndsADelivery) {
  for (const auto* reason : {"", "because", "Invalid_Request"}) {
    const auto outcome = said(WB_REJECTED, reason);
    const auto checked = check_outcome(&outcome, type());
    EXPECT_EQ(checked.outcome.verdict, Verdict::transient);
    EXPECT_EQ(checked.outcome.reason, "undeclared_reason");
    EXPECT_NE(checked.outcome.detail.find('"' + std::string(reason) + '"'), std::string::npos);
    EXPECT_EQ(checked.fault, "undeclared_reason");
  }
}

TEST(OutcomeCheck, NoneAtAllOrAShortOneIsTransientAndMayHaveBeenSent) {
  auto outcome = said(WB_ACCEPTED);
  outcome.size = offsetof(wb_outcome, artifact_type) - 8;
  for (const wb_outcome* given : {static_cast<const wb_outcome*>(nullptr), static_cast<const wb_outcome*>(&outcome)}) {
    const auto checked = check_outcome(given, type());
    EXPECT_EQ(checked.outcome.verdict, Verdict::transient);
    EXPECT_EQ(checked.outcome.reach, Reach::maybe_sent);
    EXPECT_EQ(checked.outcome.reason, "invalid_outcome");
  }
}

TEST(OutcomeCheck, OneOfAnOlderMinorIsSoundAndHasNoArtefact) {  // H1
  auto outcome = said(WB_ACCEPTED);
  outcome.artifact = borrow("not there yet");
  outcome.size = offsetof(wb_outcome, artifact_type);
  const auto checked = check_outcome(&outcome, type());
  EXPECT_EQ(checked.outcome.verdict, Verdict::accepted);
  EXPECT_EQ(checked.fault, "");
  EXPECT_EQ(check_outcome(&outcome, type(), CallKind::compose).fault, "no_artifact");
}

TEST(OutcomeCheck, TextsAreCutAndCleaned) {
  auto outcome = said(WB_TRANSIENT);
  const std::string huge(1 << 20, 'x');
  outcome.reason = outcome.detail = outcome.provider_ref = borrow(huge);
  outcome.retry_after_ms = INT64_MAX;
  auto checked = check_outcome(&outcome, type());
  EXPECT_EQ(checked.outcome.reason.size(), 64u);
  EXPECT_EQ(checked.outcome.detail.size(), 1000u);
  EXPECT_EQ(checked.outcome.provider_ref.size(), 255u);
  EXPECT_EQ(checked.outcome.retry_after, Millis(86'400'000));
  outcome.reason = outcome.detail = outcome.provider_ref = {nullptr, ~std::size_t{0}};
  outcome.result = {nullptr, 1};
  checked = check_outcome(&outcome, type());
  EXPECT_EQ(checked.outcome.reason + checked.outcome.detail + checked.outcome.provider_ref + checked.outcome.result, "");
}

TEST(OutcomeCheck, AResultThatTheDatabaseWouldNotTakeIsDropped) {
  const auto deep = std::string(10'000, '[') + std::string(10'000, ']');
  const auto long_text = "\"" + std::string((1 << 20) + 1, 'x') + "\"";
  for (const std::string& result :
       {std::string("{"), std::string("nonsense"), std::string("\"\xff\""), std::string(R"("\u0000")"), std::string("1e999"),
        std::string(R"("\ud800")"), deep, long_text}) {
    auto outcome = said(WB_ACCEPTED);
    outcome.result = borrow(result);
    const auto checked = check_outcome(&outcome, type());
    EXPECT_EQ(checked.outcome.result, "") << result.substr(0, 20);
    EXPECT_EQ(checked.outcome.verdict, Verdict::accepted);
    EXPECT_EQ(checked.fault, "invalid_result");
  }
}

TEST(PluginText, BrokenUtf8AndControlCharactersAreReplaced) {
  EXPECT_EQ(clean_text("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80", 100),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(clean_text(std::string_view("a\0b\nc\x7f", 6), 100), "a b c ");
  EXPECT_EQ(clean_text("\xC2\x85", 100), " ");
  for (const auto* broken : {"\xff", "\xC0\xAF", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\x80"}) {
    EXPECT_FALSE(is_valid_utf8(broken));
    EXPECT_TRUE(is_valid_utf8(clean_text(broken, 100)));
  }
  EXPECT_EQ(clean_text("\xE2\x82\xAC\xE2\x82\xAC", 5), "\xE2\x82\xAC");  // cut between characters
  EXPECT_EQ(clean_text("abc", 0), "");
}

}  // namespace
}  // namespace waybill
