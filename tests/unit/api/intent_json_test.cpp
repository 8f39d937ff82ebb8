// Intents on the wire: the source's names, only the fields that belong to a state, and never the contract.  M1 M3 M10
#include "api/intent_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json_answer.h"

namespace waybill {
namespace {

using nlohmann::json;

SubmissionView view(const std::string& state, const std::string& reason = {}) {
  return {.id = {1024},
          .org = kDefaultOrg,
          .client_ref = "order-\"1\"",
          .target = "sms.primary",
          .state = state,
          .reason = reason,
          .created = {1'769'851'800'123'456},
          .completed = state == "pending" ? std::nullopt : std::optional(Timestamp{1'769'851'801'000'000})};
}

TEST(IntentJson, APendingIntentHasNoEnd) {  // M1 M10
  EXPECT_EQ(json::parse(intent_json(view("pending"))), (json{{"intentId", "order-\"1\""},
                                                             {"submissionTarget", "sms.primary"},
                                                             {"createdAt", "2026-01-31T09:30:00.123456Z"},
                                                             {"status", "pending"}}));
}

TEST(IntentJson, EachEndHasItsOwnField) {  // M1
  auto timed = view("pending");
  timed.terms = terms_of(
      {.not_before = Timestamp{1'700'000'000'000'000}, .expires = Timestamp{1'700'000'001'000'000}, .producer = "role shop"});
  const auto said = json::parse(intent_json(timed));  // Q4 Q7
  EXPECT_EQ(said["notBefore"], "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(said["expiresAt"], "2023-11-14T22:13:21.000000Z");
  EXPECT_EQ(said["submittedBy"], "role shop");
  const auto accepted = json::parse(intent_json(view("accepted")));
  EXPECT_EQ(accepted["completedAt"], "2026-01-31T09:30:01.000000Z");
  EXPECT_EQ(accepted.size(), 5u);
  const auto rejected = json::parse(intent_json(view("rejected", "invalid_request")));
  EXPECT_EQ(rejected["rejectedReason"], "invalid_request");
  EXPECT_FALSE(rejected.contains("exhaustedReason"));
  const auto exhausted = json::parse(intent_json(view("exhausted", "one_shot")));
  EXPECT_EQ(exhausted["exhaustedReason"], "one_shot");
  EXPECT_FALSE(exhausted.contains("rejectedReason"));
}

TEST(IntentJson, TheHistoryHasEveryFieldOfEveryAttempt) {  // M3 D3
  const HistoryView history{.submission = view("accepted"),
                            .attempts = {{1, {1'000'000}, Timestamp{2'000'000}, "error", "", "http_503: busy"},
                                         {2, {3'000'000}, std::nullopt, "unknown", "", "host 9 was lost", false},
                                         {3, {4'000'000}, Timestamp{5'000'000}, "accepted", "", "", true, 202, "gw-7", true},
                                         {4, {6'000'000}, Timestamp{7'000'000}, "error", "", "reset", true, 0, "", true}}};
  const auto said = json::parse(history_json(history));
  EXPECT_EQ(said["intent"], json::parse(intent_json(history.submission)));
  ASSERT_EQ(said["attempts"].size(), 4u);
  EXPECT_EQ(said["attempts"][0], (json{{"attemptNumber", 1},
                                       {"startedAt", "1970-01-01T00:00:01.000000Z"},
                                       {"finishedAt", "1970-01-01T00:00:02.000000Z"},
                                       {"outcomeStatus", "error"},
                                       {"outcomeReason", nullptr},
                                       {"error", "http_503: busy"},
                                       {"counts", true},
                                       {"code", nullptr},
                                       {"providerRef", nullptr},
                                       {"mayHaveBeenSent", nullptr}}))
      << "of a host that did not record what it may have sent";
  EXPECT_EQ(said["attempts"][1]["mayHaveBeenSent"], true) << "nobody saw its end";
  EXPECT_EQ(said["attempts"][2]["mayHaveBeenSent"], false) << "it has been sent";
  EXPECT_EQ(said["attempts"][2]["providerRef"], "gw-7");
  EXPECT_EQ(said["attempts"][2]["code"], 202);
  EXPECT_EQ(said["attempts"][3]["mayHaveBeenSent"], true);
  EXPECT_EQ(said["attempts"][1]["counts"], false);  // E14
  EXPECT_TRUE(said["attempts"][1]["finishedAt"].is_null());
  EXPECT_EQ(said["attempts"][2]["attemptNumber"], 3);
  EXPECT_TRUE(said["attempts"][2]["error"].is_null());
}

TEST(IntentJson, AnIntentWithoutAttemptsHasAnEmptyList) {  // M3
  EXPECT_EQ(json::parse(history_json({view("pending"), {}}))["attempts"], json::array());
}

TEST(IntentJson, TextThatIsNoUtf8DoesNotBreakTheAnswer) {
  auto odd = view("rejected", "bad \xff bytes");
  EXPECT_TRUE(json::parse(intent_json(odd), nullptr, false).is_object());
}

TEST(IntentJson, WritesStringsAsTheLibraryDoes) {  // M1
  for (int byte = 0; byte < 256; ++byte)
    for (const auto& text : {std::string(1, static_cast<char>(byte)), "a" + std::string(1, static_cast<char>(byte)) + "b"}) {
      std::string written = "[";
      append_json_string(written, text);
      EXPECT_EQ(written, "[" + dump(Json(text))) << byte;
    }
  std::string written;
  append_json_string(written, "Zoë 😀 \"quoted\"");
  append_json_string(written, "");
  EXPECT_EQ(written, R"("Zoë 😀 \"quoted\"""")");
}

}  // namespace
}  // namespace waybill
