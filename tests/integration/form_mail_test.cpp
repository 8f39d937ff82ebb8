// What a form's file says about its mail, on a running host.
#include <gtest/gtest.h>

#include <map>

#include "support/forms_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class FormMail : public FormsWorld {
 protected:
  std::string refusal(const HttpResponse& response) {
    return std::to_string(response.status) + " " + response.json().at("error").at("message").get<std::string>();
  }
};

// D1
TEST_F(FormMail, AnAttachmentWithoutAKeyForLinksHoldsUpNobodyElsesMail) {
  setup.more.erase(setup.more.find("links: {key: links}"));
  setup.forms["other.yaml"] = form_file("other", {form_action(1, "email_raw", "other@x.test")});
  auto body = submission("with", "one");
  body["attachments"] = json::array({attachment("a-1")});
  EXPECT_EQ(hand_in(body).status, 201);
  EXPECT_EQ(scan("a-1", "clean").json().at("status"), "processing");
  json with;
  ASSERT_TRUE(eventually([&] {
    return (with = submission_of("with")).at("deliveries").at(0).at("attempts") > 0 || with.at("status") != "processing" ||
           sql().number("SELECT count(*) FROM waybill.target_outages") > 0;
  })) << with;
  EXPECT_EQ(hand_in(submission("without", "other")).status, 201);
  EXPECT_EQ(routing(wait_for_form("without")), "accepted");
  EXPECT_EQ(routing(wait_for_form("with")), "exhausted max_attempts") << "it fails alone";
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages"), 0) << "the sender of all forms does not cool down";
  EXPECT_EQ(sql().text("SELECT DISTINCT error FROM waybill.attempts WHERE outcome = 'error'"),
            "no_link_key: this host has no key to sign links to attachments with (links.key)");
}

// D1
TEST_F(FormMail, ACheckSaysWhichFormsMayHaveAttachmentsThatNobodyCanBeSentALinkTo) {
  EXPECT_EQ(installation().command({"check"}).err, "");
  const auto config = read_file(installation().config());
  auto without = config;
  without.erase(without.find("links: {key: links}"));
  write_file(installation().config(), without);
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.err.find("warning: "), std::string::npos) << checked.err;
  EXPECT_NE(checked.err.find("links.key: is not set"), std::string::npos) << checked.err;
  EXPECT_NE(checked.err.find("(forms: one, three)"), std::string::npos) << checked.err;
  installation().write_form("one.yaml", "attachments: false\n" + form_file("one", {form_action(1, "email_raw", "one@x.test")}));
  EXPECT_NE(installation().command({"check"}).err.find("(forms: three)"), std::string::npos);

  auto body = submission("s-1", "one");
  body["attachments"] = json::array({attachment("a-1")});
  EXPECT_EQ(refusal(hand_in(body)), R"(400 attachments: form "one" takes none)");
}

// D2
TEST_F(FormMail, WhatCouldOnlyFailLaterIsRefusedAndNothingIsStored) {
  auto body = submission("s-1", "one");
  for (const char* uri : {"gs://Bucket/a", "gs://10.0.0.1/a", "gs://user@bucket/a", "gs://goog-bucket/a", "gs://a..b/c",
                          "gs://bucket/a/../b", "gs://bucket/./a", "gs://ab/c"}) {
    auto one = attachment("a-1");
    one["objectUri"] = uri;
    body["attachments"] = json::array({one});
    EXPECT_TRUE(refusal(hand_in(body)).starts_with("400 attachments[0].objectUri must be gs://BUCKET/OBJECT")) << uri;
  }
  body = submission("s-1", "one");
  body["retentionExpiresAt"] = "2020-01-01T00:00:00Z";
  EXPECT_TRUE(refusal(hand_in(body)).starts_with("400 retentionExpiresAt is past: 2020-01-01T00:00:00.000000Z is not after "))
      << refusal(hand_in(body));
  const auto doubled = client().request("POST", "/v1/submissions",
                                        R"({"submissionId":"s-1","formId":"one","fields":{"to":{"email":"a","email":"b"}}})");
  EXPECT_TRUE(refusal(doubled).starts_with("400 fields: ")) << doubled.body;
  EXPECT_NE(doubled.body.find("email"), std::string::npos) << "the name that stands twice is told";
  EXPECT_EQ(sql().number("SELECT (SELECT count(*) FROM waybill.submissions) + (SELECT count(*) FROM waybill.ready)"), 0);

  installation().write_form(
      "bad.yaml", form_file("bad", {form_action(1, "email_raw", "a@x.test", "subject_template: \"From {{fields.name\"")}));
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_NE(checked.err.find("bad.yaml:4: actions[0].subject_template: a tag is not closed"), std::string::npos) << checked.err;
  const auto reloaded = client().request("POST", "/v1/admin/reload", "");
  EXPECT_EQ(reloaded.status, 422);
  EXPECT_NE(reloaded.body.find("actions[0].subject_template"), std::string::npos) << reloaded.body;
}

constexpr const char* kContact = R"(form_id: contact
name: Contact us
fields_schema:
  type: object
  required: [name, email, department]
  additionalProperties: false
  properties:
    name: {type: string, maxLength: 100}
    email: {type: string}
    department: {type: string}
    message: {type: string}
actions:
  - action_order: 1
    action_type: email_raw
    destination_lookup: {field: department, addresses: {it: "it@x.test", sales: "sales@x.test, more@x.test"}}
    from: Contact form <contact@x.test>
    reply_to_field: email
    cc: boss@x.test
    bcc: archive@x.test
    subject_template: "{{fields.name}} writes"
  - action_order: 2
    action_type: email_template
    template_id: hello
    destination_field: email
    reply_to: desk@x.test
)";

class ContactForm : public FormMail {
 protected:
  ContactForm() { setup.forms["contact.yaml"] = kContact; }

  static json contact(const std::string& id, const json& changes = json::object()) {
    json fields{{"name", "Zoe"}, {"email", "zoe@y.test"}, {"department", "sales"}, {"message", "Hello"}};
    fields.update(changes);
    return submission(id, "contact", fields);
  }
};

// D4
TEST_F(ContactForm, IsMailedAsItsFileSays) {
  EXPECT_EQ(hand_in(contact("s-1")).status, 201);
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, accepted");
  const auto mails = mail.received();
  ASSERT_EQ(mails.size(), 2u);
  EXPECT_EQ(mails[0].from, "contact@x.test");
  EXPECT_EQ(mails[0].recipients, (Words{"sales@x.test", "more@x.test", "boss@x.test", "archive@x.test"}));
  const auto first = parse_mail(mails[0].data), second = parse_mail(mails[1].data);
  EXPECT_EQ(first.defects, Words{});
  EXPECT_EQ(first.from, "contact@x.test");
  EXPECT_EQ(first.to, (Words{"sales@x.test", "more@x.test"}));
  EXPECT_EQ(first.header("Cc"), "boss@x.test");
  EXPECT_EQ(first.header("Reply-To"), "zoe@y.test");
  EXPECT_EQ(first.subject, "Zoe writes");
  EXPECT_EQ(mails[0].data.find("archive"), std::string::npos) << "a Bcc is nobody's business";
  EXPECT_EQ(mails[1].recipients, Words{"zoe@y.test"}) << "the submitter's confirmation";
  EXPECT_EQ(mails[1].from, "forms@x.test") << "the settings' sender";
  EXPECT_EQ(second.header("Reply-To"), "desk@x.test");
}

// D4
TEST_F(ContactForm, RefusesFieldsByNameAndStoresNothingOfThem) {
  EXPECT_EQ(refusal(hand_in(submission("s-1", "contact", {{"name", "Zoe"}, {"department", "it"}}))),
            "400 fields.email: is missing");
  EXPECT_TRUE(refusal(hand_in(contact("s-1", {{"name", 7}}))).starts_with("400 fields.name: "));
  EXPECT_NE(refusal(hand_in(contact("s-1", {{"colour", "red"}}))).find("colour"), std::string::npos);
  EXPECT_EQ(refusal(hand_in(contact("s-1", {{"department", "nobody"}}))),
            R"(400 fields.department must be one of "it", "sales")");
  for (const char* hostile : {"zoe@y.test, eve@y.test", "zoe@y.test\r\nBcc: eve@y.test", "zoe@y.test\nX: y", "Zoe <zoe@y.test>",
                              "zoe@y.test;eve@y.test", "zoe", "", " zoe@y.test", "zoe@y.test\x7f", "z\xc3\xb6@y.test"})
    EXPECT_TRUE(refusal(hand_in(contact("s-1", {{"email", hostile}}))).starts_with("400 fields.email must be one plain address"))
        << hostile;
  EXPECT_EQ(sql().number("SELECT (SELECT count(*) FROM waybill.submissions) + (SELECT count(*) FROM waybill.ready)"), 0);
  EXPECT_EQ(mail.received().size(), 0u);
}

// D4: what came in under the old form is sent as that form said, and is still itself
TEST_F(ContactForm, KeepsForASubmissionWhatItsFormSaidThen) {
  auto body = contact("s-1");
  body["finalize"] = false;
  EXPECT_EQ(hand_in(body).status, 201);
  std::string changed = kContact;
  changed.replace(changed.find("sales@x.test, more@x.test"), 25, "new@x.test");
  changed.replace(changed.find("contact@x.test"), 14, "other@x.test");
  changed.replace(changed.find("maxLength: 100"), 14, "maxLength: 2");
  installation().write_form("contact.yaml", changed);
  EXPECT_EQ(client().request("POST", "/v1/admin/reload", "").json().at("changed"), (json{"contact"}));
  EXPECT_EQ(hand_in(contact("s-2")).status, 400) << "the new schema holds for what comes in now";
  EXPECT_EQ(hand_in(body).status, 200) << "the one from before is still itself";
  EXPECT_EQ(hand_in(contact("s-3", {{"name", "Al"}})).status, 201);
  EXPECT_EQ(finalize("s-1").status, 202);
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, accepted");
  EXPECT_EQ(routing(wait_for_form("s-3")), "accepted, accepted");
  std::map<std::string, ReceivedMail> by;
  for (const auto& one : mail.received())
    if (one.recipients.size() > 1) by[parse_mail(one.data).header("X-Submission")] = one;
  EXPECT_EQ(by["s-1"].recipients.at(0), "sales@x.test");
  EXPECT_EQ(by["s-1"].from, "contact@x.test");
  EXPECT_EQ(by["s-3"].recipients.at(0), "new@x.test");
  EXPECT_EQ(by["s-3"].from, "other@x.test");
}

// D4
TEST_F(ContactForm, ACorrectedRecipientTakesThePlaceOfTheField) {
  mail.script().at("RCPT zoe@y.test", {{.say = "550 5.1.1 no such person"}});
  hand_in(contact("s-1"));
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, rejected invalid_recipient");
  const std::string letter = client().get("/v1/dead?reference=s-1").json().at("deadLetters").at(0).at("id");
  const auto edited = installation().command({"dead", "edit", letter, "--destination", "zoe@z.test"});
  EXPECT_EQ(edited.exit_code, 0) << edited.err;
  EXPECT_EQ(installation().command({"dead", "replay", letter}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return mail.received().size() == 2; }));
  EXPECT_EQ(mail.received().back().recipients, Words{"zoe@z.test"});
}

// D4
TEST_F(ContactForm, APreviewPrintsEachMessageAndSendsNone) {
  const auto file = installation().folder() / "f.json";
  const auto preview = [&](const std::string& fields, const std::vector<std::string>& more = {}) {
    write_file(file, fields);
    std::vector<std::string> arguments{"form", "preview", "contact", "--fields", file.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return installation().command(arguments);
  };
  const auto good = contact("s").at("fields").dump();
  const auto shown = preview(good);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* words :
       {"action 1 (email_raw)", "From: \"Contact form\" <contact@x.test>", "To: sales@x.test, more@x.test", "Cc: boss@x.test",
        "Reply-To: zoe@y.test", "Subject: Zoe writes", "action 2 (email_template)", "To: zoe@y.test", "<p>Hello Zoe</p>"})
    EXPECT_NE(shown.out.find(words), std::string::npos) << words << "\n" << shown.out;
  const auto told = json::parse(preview(good, {"--json"}).out);
  EXPECT_EQ(told.at("actions").size(), 2u);
  EXPECT_NE(told.at("actions").at(0).at("sent").at(0).at("text").get<std::string>().find("Subject: Zoe writes"),
            std::string::npos);

  const auto broken = preview("{\n\"name\": \"Zoe\",\n\"email\" \"x\"}");
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_NE(broken.err.find("f.json:3"), std::string::npos) << broken.err;
  const auto refused = preview(R"({"name":"Zoe"})");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("the form does not take this submission: fields.department: is missing"), std::string::npos)
      << refused.err;
  EXPECT_NE(installation().command({"form", "preview", "nobody", "--fields", file.string()}).err.find("no form \"nobody\""),
            std::string::npos);
  EXPECT_NE(installation().command({"form", "preview", "contact", "--fields", "none.json"}).err.find("none.json: cannot be read"),
            std::string::npos);
  EXPECT_EQ(mail.received().size(), 0u);
}

// D4
TEST_F(ContactForm, ASimulationRunsEachActionAgainstAStandIn) {
  setup.forms["all.yaml"] = form_file("all", {form_action(1, "email_raw", "one@x.test"),
                                              form_action(2, "happyfox_template", "support", "happyfox_category: \"3\"")});
  tickets_at("http://127.0.0.1:9");
  const auto file = installation().folder() / "f.json", attachments = installation().folder() / "a.json";
  write_file(file, contact("s").at("fields").dump());
  write_file(attachments, json::array({attachment("a-1")}).dump());
  const auto run = installation().command({"form", "simulate", "contact", "--fields", file.string()});
  EXPECT_EQ(run.exit_code, 0) << run.err << run.out;
  for (const char* words :
       {"action 1 (email_raw): accepted", "mail to sales@x.test, more@x.test, boss@x.test, archive@x.test from contact@x.test",
        "action 2 (email_template): accepted", "mail to zoe@y.test from forms@x.test"})
    EXPECT_NE(run.out.find(words), std::string::npos) << words << "\n" << run.out;
  const auto tickets = installation().command(
      {"form", "simulate", "all", "--fields", file.string(), "--attachments", attachments.string(), "--json"});
  EXPECT_EQ(tickets.exit_code, 0) << tickets.err << tickets.out;
  const auto told = json::parse(tickets.out).at("actions");
  EXPECT_EQ(told.at(1).at("verdict"), "accepted") << told;
  EXPECT_EQ(told.at(1).at("sent").at(0).at("what"), "POST http://127.0.0.1:9/api/1.1/json/tickets/");
  EXPECT_EQ(mail.received().size(), 0u) << "nothing left the machine";
}

}  // namespace
}  // namespace waybill::testing
