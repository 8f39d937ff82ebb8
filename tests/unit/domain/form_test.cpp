// What of a form's submission is stored, and what its plugins are told.  F6 F8 F9
#include "domain/form.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "domain/job.h"

namespace waybill {
namespace {

using nlohmann::json;

Contract contract() {
  return contract_of({.id = "contact", .name = R"(Contact "us" \ now)"}, {.order = 2, .action_type = "letter"}, nullptr);
}

TEST(FormContract, NamesItsFormAndSurvivesTheDatabase) {  // F6
  const auto read = contract_from_json(to_json(contract()));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, contract());
  EXPECT_EQ(read->form_id, "contact");
  EXPECT_EQ(read->target, "contact/2");
}

TEST(FormContract, RestsWithItsSenderAndATargetByItself) {  // F9
  EXPECT_EQ(contract().cooldown_key(), "sender:letter");
  EXPECT_EQ((Contract{.target = "sms.primary", .action_type = "sms"}.cooldown_key()), "sms.primary");
}

TEST(FormContext, HoldsTheFormTheTimesAndAllThatWasHandedIn) {  // F8
  const auto payload = form_payload(R"({"name":"Zoë \"x\""})", R"([{"attachmentId":"a-1"}])", {1'800'000'000'000'000});
  const auto context = json::parse(context_of({1}, "form", R"(s "1" \)", contract(), {1'700'000'000'000'000}, payload));
  EXPECT_EQ(context.at("org"), 1);
  EXPECT_EQ(context.at("kind"), "form");
  EXPECT_EQ(context.at("reference"), R"(s "1" \)");
  EXPECT_EQ(context.at("form"), (json{{"id", "contact"}, {"name", R"(Contact "us" \ now)"}}));
  EXPECT_EQ(context.at("createdAt"), "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(context.at("retentionExpiresAt"), "2027-01-15T08:00:00.000000Z");
  EXPECT_EQ(context.at("fields"), (json{{"name", "Zoë \"x\""}}));
  EXPECT_EQ(context.at("attachments"), (json::array({{{"attachmentId", "a-1"}}})));
}

TEST(FormContext, OfAnIntentHoldsNothingOfItsPayload) {
  const auto context = json::parse(context_of({7}, "intent", "i-1", {.target = "t"}, {}, R"({"to":"+49"})"));
  EXPECT_EQ(context, (json{{"org", 7}, {"kind", "intent"}, {"reference", "i-1"}}));
}

TEST(FormPayload, TakesOtherFieldsAndKeepsTheRest) {  // F10
  const auto payload = form_payload(R"({"email":"wrong"})", R"([{"attachmentId":"a-1"}])", {1'800'000'000'000'000});
  const auto mended = with_fields(payload, R"({"email":"right@example.org"})");
  ASSERT_TRUE(mended) << mended.error().what;
  auto expected = json::parse(payload);
  expected["fields"]["email"] = "right@example.org";
  EXPECT_EQ(json::parse(*mended), expected);
  EXPECT_EQ(fields_of(*mended), R"({"email":"right@example.org"})");
  EXPECT_FALSE(with_fields("damaged", "{}"));
  EXPECT_FALSE(fields_of("{}"));
}

}  // namespace
}  // namespace waybill
