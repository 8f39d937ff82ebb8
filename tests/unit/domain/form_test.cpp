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

FormAction confirmation() { return {.order = 1, .action_type = "letter", .destination_field = "email"}; }
FormAction by_department() {
  return {.order = 2,
          .action_type = "letter",
          .lookup = RecipientLookup{.field = "department", .addresses = {{"it", "it@x.test"}, {"sales", "sales@x.test"}}}};
}

TEST(FormActions, HandTheirPluginWhatTheySay) {  // D4
  EXPECT_EQ(json::parse(destination_json(confirmation())), (json{{"destination_field", "email"}}));
  auto action = by_department();
  action.lookup->otherwise = "all@x.test";
  action.from = "f@x.test";
  action.reply_to_field = "email";
  action.cc = "c@x.test";
  EXPECT_EQ(json::parse(destination_json(action)), (json{{"cc", "c@x.test"},
                                                         {"from", "f@x.test"},
                                                         {"reply_to_field", "email"},
                                                         {"destination_lookup",
                                                          {{"field", "department"},
                                                           {"addresses", {{"it", "it@x.test"}, {"sales", "sales@x.test"}}},
                                                           {"default", "all@x.test"}}}}));
  EXPECT_EQ(destination_of(destination_json(confirmation())), "");
  EXPECT_EQ(with_destination(destination_json(action), "other@x.test"),
            R"({"cc":"c@x.test","destination":"other@x.test","from":"f@x.test","reply_to_field":"email"})")
      << "who corrects the recipient means it";
}

TEST(Forms, ACorrectedRecipientGetsNoLinksThatTheFirstOneWasNotToGet) {  // T28
  EXPECT_EQ(with_destination(destination_json(confirmation()), "b@x.test"),
            R"({"attachment_links":false,"destination":"b@x.test"})");
  auto open = confirmation();
  open.attachment_links = true;
  EXPECT_EQ(with_destination(destination_json(open), "b@x.test"), R"({"attachment_links":true,"destination":"b@x.test"})");
}

TEST(Forms, TellOfATermThatIsNew) {  // D4
  Form form{.id = "contact", .actions = {{.order = 1, .action_type = "letter", .destination = "a"}}};
  EXPECT_EQ(further_terms(form), "");
  form.takes_attachments = false;
  form.actions.push_back(confirmation());
  form.fields_schema = *FieldsSchema::compile(R"({"type":"object"})");
  const auto terms = json::parse(further_terms(form));
  EXPECT_EQ(terms.at("attachments"), false);
  EXPECT_EQ(terms.at("actions"), (json{{"1", {{"destination_field", "email"}}}}));
  EXPECT_EQ(terms.at("fields_schema"), R"({"type":"object"})");
}

TEST(Forms, TakeASubmissionThatHasWhatTheirMailNeeds) {  // D4
  const auto fault = [](const FormAction& action, const json& fields) {
    return fault_in_submission({.id = "contact", .actions = {action}}, fields.dump(), 0);
  };
  EXPECT_EQ(fault(confirmation(), {{"email", "ann@example.org"}}), "");
  const std::string wrong = "fields.email must be one plain address, such as ann@example.org: ";
  EXPECT_EQ(fault(confirmation(), json::object()), wrong + "it is empty");
  EXPECT_EQ(fault(confirmation(), {{"email", 7}}), wrong + "it is empty");
  EXPECT_EQ(fault(confirmation(), {{"email", "a@x.test, b@x.test"}}), wrong + "it has more in it than an address");
  EXPECT_EQ(fault(confirmation(), {{"email", "a@x.test\r\nBcc: b@x.test"}}), wrong + "it has a control character");

  const FormAction answers{.order = 1, .action_type = "letter", .destination = "a@x.test", .reply_to_field = "email"};
  for (const json& fine : {json::object(), json{{"email", ""}}, json{{"email", nullptr}}, json{{"email", "a@x.test"}}})
    EXPECT_EQ(fault(answers, fine), "") << fine;
  EXPECT_EQ(fault(answers, {{"email", "nobody"}}), wrong + "it is not of the form name@domain");

  EXPECT_EQ(fault(by_department(), {{"department", "it"}}), "");
  EXPECT_EQ(fault(by_department(), {{"department", "IT"}}), R"(fields.department must be one of "it", "sales")");
  EXPECT_EQ(fault(by_department(), json::object()), R"(fields.department must be one of "it", "sales")");
  auto any = by_department();
  any.lookup->otherwise = "all@x.test";
  EXPECT_EQ(fault(any, {{"department", "marketing"}}), "");
}

TEST(Forms, MayTakeNoAttachmentsAndOnlyFieldsOfTheirSchema) {  // D4
  Form form{.id = "contact", .takes_attachments = false, .fields_schema = *FieldsSchema::compile(R"({"required":["name"]})")};
  EXPECT_EQ(fault_in_submission(form, R"({"name":"Ann"})", 0), "");
  EXPECT_EQ(fault_in_submission(form, R"({"name":"Ann"})", 1), R"(attachments: form "contact" takes none)");
  EXPECT_EQ(fault_in_submission(form, "{}", 0), "fields.name: is missing");
}

}  // namespace
}  // namespace waybill
