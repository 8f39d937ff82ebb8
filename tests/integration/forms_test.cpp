// Web forms through HTTP on a running host: ordered actions into real mail, attachments, idempotency, reloads.
#include <gtest/gtest.h>

#include <regex>

#include "support/forms_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Forms : public FormsWorld {
 protected:
  // The mails that the server took for this recipient.
  std::vector<ParsedMail> mails_for(const std::string& recipient) const {
    std::vector<ParsedMail> mails;
    for (const auto& one : mail.received())
      if (std::find(one.recipients.begin(), one.recipients.end(), recipient) != one.recipients.end())
        mails.push_back(parse_mail(one.data));
    return mails;
  }
};

// F1 F6 F8 F9 F11
TEST_F(Forms, ThreeActionsRunInOrderAndTheDeferredOneFailsNothing) {
  const auto answer = hand_in(submission("s-1", "three"));
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.json(), (json{{"submissionId", "s-1"}, {"status", "processing"}}));
  const auto ended = wait_for_form("s-1");
  EXPECT_EQ(ended.at("status"), "routed");
  EXPECT_EQ(routing(ended), "accepted, accepted, deferred not_configured");
  EXPECT_EQ(ended.at("happyfoxStatus"), "deferred");
  EXPECT_EQ(ended.at("happyfoxTicketId"), nullptr);
  EXPECT_EQ(audit(ended), (Words{"email_sent", "email_sent", "submission_routed"}));
  EXPECT_TRUE(ended.at("completedAt").is_string());

  const auto mails = mail.received();
  ASSERT_EQ(mails.size(), 2u);
  EXPECT_EQ(mails[0].recipients, (Words{"a@x.test", "b@x.test"})) << "in their order";
  EXPECT_EQ(mails[1].recipients, Words{"raw@x.test"});
  const auto first = parse_mail(mails[0].data), second = parse_mail(mails[1].data);
  EXPECT_EQ(first.defects, Words{});
  EXPECT_EQ(first.subject, "Message from Zoë");
  ASSERT_EQ(first.parts.size(), 2u);
  EXPECT_EQ(first.parts[0].text, "Hello Zoë\n");
  EXPECT_EQ(first.parts[1].text, "<p>Hello Zoë</p>\n");
  EXPECT_EQ(second.subject, "Form The form three: submission s-1");
  EXPECT_NE(second.parts.at(0).text.find("details to follow"), std::string::npos);
}

// F6 F10 F11 F13 D3
TEST_F(Forms, OneRefusedRecipientFailsTheSubmissionWithTheOtherActionsDone) {
  mail.script().at("RCPT b@x.test", {{.say = "550 5.1.1 no such person"}});
  hand_in(submission("s-1", "three"));
  const auto ended = wait_for_form("s-1");
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(ended.at("reason"), "action_failed");
  EXPECT_EQ(routing(ended), "rejected invalid_recipient, accepted, deferred not_configured");
  EXPECT_EQ(audit(ended), (Words{"email_sent", "email_failed", "email_sent", "submission_route_failed"}));
  const auto recipients = [&](int row) { return ended.at("audit").at(row).at("metadata").at("recipients"); };
  EXPECT_EQ(recipients(0), (json{"a@x.test"})) << "email_sent";
  EXPECT_EQ(recipients(1), (json{"b@x.test"})) << "email_failed";
  EXPECT_EQ(recipients(2), (json{"raw@x.test"}));
  EXPECT_EQ(ended.at("audit").at(1).at("metadata").at("actionOrder"), 10);
  const auto& result = ended.at("deliveries").at(0).at("result");
  EXPECT_EQ(result.at("accepted"), (json{"a@x.test"})) << "the partial result is kept";
  EXPECT_EQ(result.at("refused").at(0).at("address"), "b@x.test");
  EXPECT_EQ(ended.at("deliveries").at(0).at("attempts"), 1) << "a permanent failure is not tried again";
  EXPECT_EQ(mails_for("a@x.test").size(), 1u);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.dead_letters WHERE reason = 'invalid_recipient' AND client_ref = 's-1'"),
            1);
  EXPECT_EQ(sql().text("SELECT message FROM waybill.alerts WHERE kind = 'dead_letter'"),
            "form s-1: three, action 10 (email_template) ended as invalid_recipient");
}

// F10
TEST_F(Forms, ATransientFailureIsTriedFiveTimesAndHoldsUpNoOtherAction) {
  mail.script().at("RCPT a@x.test", {{.say = "450 4.2.1 busy"}});
  mail.script().at("RCPT b@x.test", {{.say = "450 4.2.1 busy"}});
  hand_in(submission("s-1", "three"));
  const auto ended = wait_for_form("s-1");
  EXPECT_EQ(routing(ended), "exhausted max_attempts, accepted, deferred not_configured");
  EXPECT_EQ(ended.at("deliveries").at(0).at("attempts"), 5);
  EXPECT_EQ(mail.script().count("RCPT a@x.test"), 5u);
  EXPECT_EQ(mails_for("raw@x.test").size(), 1u) << "it did not wait for the others' retries to end";
}

// F7 F10 D3
TEST_F(Forms, AGreylistedRecipientGetsItLaterAndTheOtherOnce) {
  mail.script().at("RCPT b@x.test", {{.say = "451 4.7.1 greylisted"}, {.say = "451 4.7.1 greylisted"}, {}});
  hand_in(submission("s-1", "three"));
  const auto ended = wait_for_form("s-1");
  EXPECT_EQ(routing(ended), "accepted, accepted, deferred not_configured");
  const auto& history = ended.at("deliveries").at(0).at("history");
  ASSERT_EQ(history.size(), 3u) << history;
  EXPECT_EQ(history[0].at("outcomeStatus"), "error");
  EXPECT_EQ(history[0].at("error"), "some_recipients_later: b@x.test: 451 4.7.1 greylisted");
  EXPECT_EQ(history[0].at("code"), 451);
  EXPECT_EQ(history[0].at("mayHaveBeenSent"), false);
  EXPECT_EQ(history[2].at("outcomeStatus"), "accepted");
  EXPECT_EQ(history[2].at("attemptNumber"), 3);
  EXPECT_EQ(history[2].at("providerRef"), ended.at("deliveries").at(0).at("providerRef"));
  const auto first = mails_for("a@x.test"), second = mails_for("b@x.test");
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].message_id, second[0].message_id);
}

// F3 F8
TEST_F(Forms, AttachmentsAreSentAsSignedLinksOnceAllAreClean) {
  auto body = submission("s-1", "three");
  body["attachments"] = json::array({attachment("a-1"), attachment("a-2")});
  EXPECT_EQ(hand_in(body).json().at("status"), "received");
  EXPECT_EQ(scan("a-1", "clean").json(), (json{{"submissionId", "s-1"}, {"status", "received"}}));
  EXPECT_EQ(mail.received().size(), 0u);
  EXPECT_EQ(scan("a-2", "clean").json().at("status"), "processing");
  const auto ended = wait_for_form("s-1");
  EXPECT_EQ(ended.at("status"), "routed") << ended.dump();
  EXPECT_EQ(ended.at("attachments").at(1).at("clamavStatus"), "clean");
  const auto text = mails_for("a@x.test").at(0).parts.at(0).text;
  for (const char* name : {"a-1", "a-2"}) {
    const std::regex link("https://storage.googleapis.com/bucket/uploads/" + std::string(name) +
                          "\\?\\S*X-Goog-Signature=[0-9a-f]+");
    EXPECT_TRUE(std::regex_search(text, link)) << text;
  }
}

// F8
TEST_F(Forms, LinksEndWithTheRetention) {
  auto body = submission("s-1", "three");
  body["attachments"] = json::array({attachment("a-1")});
  body["retentionExpiresAt"] =
      sql().text("SELECT to_char((now() + interval '1 hour') AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')");
  hand_in(body);
  scan("a-1", "clean");
  wait_for_form("s-1");
  const auto text = mails_for("a@x.test").at(0).parts.at(0).text;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("X-Goog-Expires=([0-9]+)"))) << text;
  EXPECT_LE(std::stoi(found[1]), 3600);
}

// F3 F13
TEST_F(Forms, AnInfectedAttachmentSendsNothingFailsAndAlerts) {
  auto body = submission("s-1", "three");
  body["attachments"] = json::array({attachment("a-1"), attachment("a-2")});
  hand_in(body);
  scan("a-1", "clean");
  EXPECT_EQ(scan("a-2", "infected").json().at("status"), "failed");
  const auto ended = submission_of("s-1");
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(ended.at("reason"), "infected_attachment");
  EXPECT_EQ(routing(ended), "cancelled, cancelled, cancelled");
  EXPECT_EQ(audit(ended), Words{"submission_route_failed"});
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'infected_attachment'"), 1);
  hand_in(submission("s-2", "one"));  // one that comes after it is through: nothing of the first was on its way
  wait_for_form("s-2");
  EXPECT_EQ(mail.received().size(), 1u);
}

// F4
TEST_F(Forms, AreIdempotentAndTellContradictions) {
  auto body = submission("s-1", "one");
  body["finalize"] = false;
  EXPECT_EQ(hand_in(body).status, 201);
  EXPECT_EQ(hand_in(body).status, 200);
  EXPECT_EQ(submission_of("s-1").at("status"), "received");
  const auto other = hand_in(submission("s-1", "one", {{"name", "somebody else"}}));
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.json().at("error").at("code"), "idempotency_conflict");
  EXPECT_EQ(hand_in(submission("s-1", "three")).status, 409);
  EXPECT_EQ(finalize("s-1").status, 202);
  EXPECT_EQ(finalize("s-1").status, 202);
  wait_for_form("s-1");
  EXPECT_EQ(hand_in(body).json().at("status"), "routed");
  EXPECT_EQ(finalize("s-1").json().at("status"), "routed");
  EXPECT_EQ(mail.received().size(), 1u);
}

// F4
TEST_F(Forms, RefuseWhatIsWrongAndNameIt) {
  const auto refusal = [&](const HttpResponse& response) {
    return std::to_string(response.status) + " " + response.json().at("error").at("message").get<std::string>();
  };
  EXPECT_EQ(refusal(hand_in(submission("s-1", "nowhere"))), "400 unknown formId \"nowhere\"");
  auto body = submission("s-1", "one");
  body["attachments"] = json::array({attachment("a-1"), {{"attachmentId", "a-2"}}});
  EXPECT_EQ(refusal(hand_in(body)), "400 attachments[1].name is missing");
  EXPECT_EQ(refusal(finalize("nobody")), "404 there is no submission \"nobody\"");
  EXPECT_EQ(refusal(scan("nothing", "clean")), "404 there is no attachment \"nothing\"");
  EXPECT_EQ(refusal(scan("nothing", "fine")), "400 clamavStatus must be clean or infected");
  EXPECT_EQ(refusal(client().get("/v1/submissions/nobody")), "404 there is no submission \"nobody\"");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 0);
}

// F4
TEST_F(Forms, AnAttachmentOfAnotherSubmissionIsRefused) {
  auto body = submission("s-1", "one");
  body["attachments"] = json::array({attachment("a-1")});
  hand_in(body);
  body["submissionId"] = "s-2";
  const auto taken = hand_in(body);
  EXPECT_EQ(taken.status, 409);
  EXPECT_EQ(taken.json().at("error").at("message"), "attachmentId \"a-1\" belongs to another submission");
  scan("a-1", "infected");
  EXPECT_EQ(scan("a-1", "clean").status, 409);
}

// F2 F11
TEST_F(Forms, AReloadTakesFormsUpAndABadFileLeavesTheOldOnes) {
  const auto reload = [&] { return client().request("POST", "/v1/admin/reload", ""); };
  EXPECT_EQ(hand_in(submission("s-1", "one")).status, 201);
  installation().write_form("two.yaml", form_file("two", {form_action(1, "email_raw", "two@x.test")}));
  installation().write_form("one.yaml", form_file("one", {form_action(1, "email_raw", "new@x.test")}));
  const auto taken = reload();
  EXPECT_EQ(taken.status, 200) << taken.body;
  EXPECT_EQ(taken.json().at("added"), (json{"two"}));
  EXPECT_EQ(taken.json().at("changed"), (json{"one"}));
  hand_in(submission("s-2", "two"));
  hand_in(submission("s-3", "one"));
  for (const char* id : {"s-1", "s-2", "s-3"}) wait_for_form(id);
  EXPECT_EQ(mails_for("one@x.test").size(), 1u);
  EXPECT_EQ(mails_for("new@x.test").size(), 1u);

  installation().write_form("two.yaml", "form_id: two\nname: Two\nactions:\n  - {action_order: 1, action_type: email_raw}\n");
  const auto refused = reload();
  EXPECT_EQ(refused.status, 422) << refused.body;
  const json problem = refused.json().at("error").at("problems").at(0);
  EXPECT_TRUE(problem.at("file").get<std::string>().ends_with("two.yaml")) << problem;
  EXPECT_EQ(problem.at("line"), 4);
  EXPECT_EQ(problem.at("field"), "actions[0].destination");
  EXPECT_EQ(hand_in(submission("s-4", "two")).status, 201) << "the old one is in use";
  EXPECT_EQ(routing(wait_for_form("s-4")), "accepted");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.audit_log WHERE action = 'admin_reload_yaml' AND trigger = 'reload'"), 1);
  EXPECT_EQ(sql().text("SELECT destination FROM waybill.form_actions WHERE form_id = 'one'"), "new@x.test");
}

// F2 F6
TEST_F(Forms, ASubmissionKeepsTheActionsItCameInWith) {
  auto body = submission("s-1", "one");
  body["finalize"] = false;
  hand_in(body);
  std::filesystem::remove(installation().folder() / "registry/forms/one.yaml");
  EXPECT_EQ(client().request("POST", "/v1/admin/reload", "").json().at("removed"), (json{"one"}));
  EXPECT_EQ(hand_in(body).status, 200) << "it is still itself";
  EXPECT_EQ(hand_in(submission("s-2", "one")).status, 400);
  finalize("s-1");
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted");
  EXPECT_EQ(mails_for("one@x.test").size(), 1u);
}

// F2
TEST_F(Forms, ACheckFindsASenderWithoutTheSettingsThatItNeeds) {
  setup.more = "";
  const auto checked = installation().command({"check"});
  EXPECT_EQ(checked.exit_code, 1);
  for (const char* type : {"email_raw", "email_template"})
    EXPECT_NE(checked.err.find("senders." + std::string(type)), std::string::npos) << checked.err;
}

// F6 F12
TEST_F(Forms, AnActionWhosePluginIsMissingHoldsUpTheOthersForItsTurnOnly) {
  setup.plugins = {"email_raw", "happyfox_template", "webhook"};
  setup.more.replace(setup.more.find("  email_template:"), setup.more.find("  email_raw:") - setup.more.find("  email_template:"),
                     "");
  hand_in(submission("s-1", "three"));
  json now;
  EXPECT_TRUE(eventually([&] { return routing(now = submission_of("s-1")) == "pending, accepted, deferred not_configured"; }))
      << now;
  EXPECT_EQ(now.at("status"), "processing");
  EXPECT_EQ(mails_for("raw@x.test").size(), 1u);
}

// F1
TEST_F(Forms, WhatIsNotKeptAnyMoreIsErased) {
  hand_in(submission("s-1", "three"));
  wait_for_form("s-1");
  hand_in(submission("s-2", "one"));
  wait_for_form("s-2");
  sql().execute(
      "UPDATE waybill.form_submissions f SET retention_expires_at = now() FROM waybill.submissions s WHERE s.id = "
      "f.submission_id AND client_ref = 's-1'");
  json purged;
  ASSERT_TRUE(eventually([&] { return (purged = submission_of("s-1")).at("status") == "purged"; })) << purged;
  EXPECT_EQ(audit(purged), (Words{"email_sent", "email_sent", "submission_routed", "submission_purged"}));
  for (const auto& delivery : purged.at("deliveries")) EXPECT_EQ(delivery.at("result"), nullptr);
  EXPECT_EQ(purged.dump().find("@x.test"), std::string::npos) << purged;  // D3
  EXPECT_EQ(sql().number("SELECT count(body) FROM waybill.submissions"), 1);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.artifacts"), 1);
  EXPECT_EQ(finalize("s-1").status, 409);
  EXPECT_EQ(submission_of("s-2").at("status"), "routed");
}

// F4
TEST_F(Forms, AreMembersBusinessAndReloadsAreOperators) {
  setup.auth = "tokens";
  const auto token = [&](const char* role) {
    const auto made = installation().command({"token", "create", "--name", role, "--role", role});
    return made.out.substr(0, made.out.find('\n'));
  };
  const auto member = token("member"), admin = token("admin"), keeper = token("operator");
  const auto status = [&](const char* method, const char* path, const std::string& body, const std::string& bearer) {
    return client().request(method, path, body, {{"Authorization", "Bearer " + bearer}}).status;
  };
  EXPECT_EQ(hand_in(submission("s-1", "one")).status, 401);
  EXPECT_EQ(status("POST", "/v1/submissions", submission("s-1", "one").dump(), member), 201);
  EXPECT_EQ(status("GET", "/v1/submissions/s-1", "", member), 200);
  EXPECT_EQ(status("POST", "/v1/admin/reload", "", member), 403);
  EXPECT_EQ(status("POST", "/v1/admin/reload", "", admin), 403);
  EXPECT_EQ(status("POST", "/v1/admin/reload", "", keeper), 200);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.audit_log WHERE action = 'admin_reload_yaml' AND actor = 'operator' AND "
                         "actor_type = 'admin'"),
            1);
}

}  // namespace
}  // namespace waybill::testing
