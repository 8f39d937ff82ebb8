// The plugins govuk_notify and ses on a running host, against services that check tokens, signatures and schemas. J3, J5
#include <gtest/gtest.h>

#include <set>

#include "support/fake_notify.h"
#include "support/fake_ses.h"
#include "support/parsed_mail.h"
#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

// Of a staged job, as the source's queue has it.
json notify_send(const std::string& reference) {
  return {{"options",
           {{"reference", reference},
            {"personalisation", {{"post", "British Embassy Rome"}, {"country", "Italy"}, {"firstName", "test"}}},
            {"metadata", {{"reference", reference}}},
            {"template", FakeNotify::kTemplate},
            {"emailAddress", "pye@example.org"}}}};
}

class NotifyAndSes : public World {
 protected:
  NotifyAndSes() {
    setup.plugins = {"govuk_notify", "ses"};
    write_file(keys_.path() / "notify", FakeNotify::api_key() + "\n");
    write_file(keys_.path() / "aws_key", FakeSes::account().key_id);
    write_file(keys_.path() / "aws_secret", FakeSes::account().secret_key);
    auto notify_target =
        target("casebook.notify", "govuk_notify", notify.url(), "max_attempts", 3, {"invalid_payload", "bad_request"});
    auto ses_target = target("casebook.ses", "ses", ses.url(), "max_attempts", 3,
                             {"invalid_payload", "attachment_not_allowed", "attachment_too_large", "bad_request"});
    setup.registry = registry_of({notify_target, ses_target});
    allow_files_from(files.url());
  }
  void allow_files_from(const std::string& origin) {
    const auto file = [&](const char* name, const char* more = "") {
      return "{file: \"" + (keys_.path() / name).string() + "\"" + more + "}";
    };
    setup.more = "secrets: {notify: " + file("notify", ", last: 36") + ", aws_key: " + file("aws_key") +
                 ", aws_secret: " + file("aws_secret") + "}\nsenders:\n  govuk_notify: {service_id: " + FakeNotify::kService +
                 ", key_secret: notify}\n  ses: {region: eu-west-2, access_key_secret: aws_key, secret_key_secret: aws_secret, "
                 "from: \"Getting Married Abroad Service <pye@example.org>\", to: team@example.org, files_allowed_origins: [\"" +
                 origin + "\"]}\ntimeouts: {cooldown: 200ms}\n";
  }
  json ses_send(const std::string& url) const {
    return {{"body", "\n<p>Dear British Embassy Rome, Use them to create a new case.</p>"},
            {"subject", "cni application, British Embassy Rome – PF3N8EGP9L"},
            {"metadata", {{"reference", "PF3N8EGP9L"}}},
            {"reference", "PF3N8EGP9L"},
            {"onComplete",
             {{"job", {{"queue", "NOTIFY_SEND"}}},
              {"attachments",
               json::array({{{"key", "ukPassportFile"}, {"type", "file"}, {"title", "UK passport"}, {"answer", url}}})}}}};
  }
  json delivered(const std::string& id, const std::string& to, const json& payload) {
    post_intent(client(), intent(id, to, payload));
    return wait_for_end(client(), id);
  }
  void serve(FakeGateway& server, const std::string& bytes, const std::string& type = "image/png") {
    server.by_default({.body = bytes, .type = type});
  }
  CommandResult ask(Words arguments) {
    arguments.insert(arguments.begin(), "provider");
    return installation().command(std::move(arguments));
  }

  FakeNotify notify;
  FakeSes ses;
  FakeGateway files;

 private:
  TempFolder keys_;
};

// J3: what our plugin is tested on is what the official package takes for GOV.UK Notify.
TEST(FakeNotifyItself, ServesTheOfficialClient) {
  const TempFolder folder;
  for (const auto* file : {"package.json", "package-lock.json", "client.mjs"})
    std::filesystem::copy_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "tests/integration/notify_client" / file,
                               folder.path() / file);
  const auto npm = run(
      {.arguments = {"/bin/sh", "-c", "npm ci --ignore-scripts --no-audit --no-fund --loglevel=error"}, .folder = folder.path()});
  if (npm.exit_code != 0) {
    ASSERT_FALSE(must_run()) << "npm cannot install the package notifications-node-client: " << npm.err;
    GTEST_SKIP() << "npm cannot install the package notifications-node-client";
  }
  FakeNotify notify;
  for (int i = 0; i < 600; ++i) notify.add("OLD-" + std::to_string(i), "permanent-failure");
  const auto client = run({.arguments = {"/bin/sh", "-c", "exec node client.mjs \"$0\" \"$1\" \"$2\"", notify.url(),
                                         FakeNotify::api_key(), FakeNotify::kTemplate},
                           .environment = {{"NO_PROXY", "127.0.0.1"}, {"no_proxy", "127.0.0.1"}},
                           .folder = folder.path()});
  ASSERT_EQ(client.exit_code, 0) << client.err;
  const auto got = json::parse(client.out);
  EXPECT_EQ(got.at("sent").at("reference"), "PF3N8EGP9L");
  EXPECT_EQ(got.at("found").at("id"), got.at("sent").at("id"));
  EXPECT_EQ(got.at("found").at("status"), "sending");
  EXPECT_EQ(got.at("pages"), (json{250, 250, 100, 0}));
  EXPECT_EQ(got.at("byReference"), 1);
  const auto refusal = [&](const char* name) {
    const auto& one = got.at(name);
    return one.is_array()
               ? one[0].dump() + " " + one[1].at("error").get<std::string>() + " " + one[1].at("message").get<std::string>()
               : "none";
  };
  EXPECT_EQ(refusal("badAddress"), "400 ValidationError email_address Not a valid email address");
  EXPECT_EQ(refusal("noPersonalisation"), "400 BadRequestError Missing personalisation: firstName");
  EXPECT_EQ(refusal("badTemplate"), "400 ValidationError template_id is not a valid UUID");
  EXPECT_EQ(refusal("badKey"), "403 AuthError Invalid token: API key not found");
  EXPECT_EQ(refusal("skewed"), "403 AuthError Error: Your system clock must be accurate to within 30 seconds");
  EXPECT_EQ(refusal("gone"), "404 NoResultFound No result found");
}

TEST_F(NotifyAndSes, AnEmailGoesThroughNotifyWithTheWholeApiKeyInOneFile) {  // J3
  const auto ended = delivered("n1", "casebook.notify", notify_send("PF3N8EGP9L"));
  EXPECT_EQ(ended.at("status"), "accepted") << ended;
  const auto all = notify.notifications();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].at("reference"), "PF3N8EGP9L");
  EXPECT_EQ(all[0].at("email_address"), "pye@example.org");
  EXPECT_EQ(sql().text("SELECT provider_ref FROM waybill.attempts"), all[0].at("id"));
  const auto status = ask({"status", "n1"});
  EXPECT_NE(status.out.find("under way"), std::string::npos) << status.out << status.err;
  EXPECT_EQ(host().log().find(FakeNotify::kKey), std::string::npos);
}

TEST_F(NotifyAndSes, WhatNotifyRefusesIsRejectedAndWhatItCannotTakeNowIsTriedAgain) {  // J3
  auto bad = notify_send("R-1");
  bad["options"]["emailAddress"] = "nobody";
  EXPECT_EQ(delivered("n1", "casebook.notify", bad).at("status"), "rejected");
  notify.fail_next(500, "Exception", "Internal server error", 2);
  EXPECT_EQ(delivered("n2", "casebook.notify", notify_send("R-2")).at("status"), "accepted");
  EXPECT_EQ(attempt_words(client(), "n2"), (Words{"error", "error", "accepted"}));
  notify.fail_next(403, "AuthError", "Error: Your system clock must be accurate to within 30 seconds");
  EXPECT_EQ(delivered("n3", "casebook.notify", notify_send("R-3")).at("status"), "accepted");
  EXPECT_EQ(attempt_words(client(), "n3"), Words{"accepted"}) << "one more token, in the same attempt";
  EXPECT_EQ(notify.notifications().size(), 2u);
}

TEST_F(NotifyAndSes, EveryPageOfFailuresIsRead) {  // J5
  for (int i = 0; i < 601; ++i) notify.add("P-" + std::to_string(i), "permanent-failure");
  for (int i = 0; i < 250; ++i) notify.add("T-" + std::to_string(i), "temporary-failure");
  notify.add("X-1", "technical-failure");
  notify.add("D-1", "delivered");
  const auto asked = ask({"failures", "casebook.notify", "--json"});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  const auto list = json::parse(asked.out);
  const auto& failures = list.is_array() ? list : list.at("failures");
  std::map<std::string, std::set<std::string>> references;
  for (const auto& one : failures) references[one.at("reason")].insert(one.at("idempotencyKey").get<std::string>());
  EXPECT_EQ(references["permanent-failure"].size(), 601u);
  EXPECT_EQ(references["temporary-failure"].size(), 250u);
  EXPECT_EQ(references["technical-failure"], std::set<std::string>{"X-1"});
  EXPECT_EQ(failures.size(), 852u);
}

TEST_F(NotifyAndSes, AMailWithItsAttachmentGoesThroughSesAndNothingOfTheFileStays) {  // J3
  const std::string bytes = "\x89PNG\r\n\x1a\n" + std::string(2'000'000, 'P');
  serve(files, bytes);
  const auto ended = delivered("s1", "casebook.ses", ses_send(files.url() + "/v1/files/511ffde6.png"));
  EXPECT_EQ(ended.at("status"), "accepted") << ended;
  EXPECT_EQ(ses.refusals(), Words{}) << "each signature is computed anew from what arrived";
  ASSERT_EQ(ses.mails().size(), 1u);
  const auto sent = ses.mails()[0];
  EXPECT_EQ(sent.from, "pye@example.org");
  EXPECT_EQ(sent.recipients, Words{"team@example.org"});
  const auto mail = parse_mail(sent.data);
  EXPECT_EQ(mail.defects, Words{});
  EXPECT_EQ(mail.subject, "cni application, British Embassy Rome – PF3N8EGP9L");
  ASSERT_EQ(mail.parts.size(), 2u);
  EXPECT_EQ(mail.parts[0].content_type, "text/html");
  EXPECT_NE(mail.parts[0].text.find("Dear British Embassy Rome"), std::string::npos);
  EXPECT_EQ(mail.parts[1].content_type, "image/png");
  EXPECT_GT(sent.data.size(), bytes.size() * 4 / 3);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.artifacts"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions WHERE octet_length(body) > 100000"), 0);
  const auto fetched = files.received();
  ASSERT_EQ(fetched.size(), 1u);
  EXPECT_EQ(header_value(fetched[0].head, "Authorization"), std::nullopt) << "no credentials go there";
  EXPECT_EQ(host().log().find(FakeSes::account().secret_key), std::string::npos);
}

TEST_F(NotifyAndSes, AFileFromAnotherOriginIsNeverFetched) {  // J3
  FakeGateway elsewhere;
  const auto ended = delivered("s1", "casebook.ses", ses_send(elsewhere.url() + "/v1/files/511ffde6.png"));
  EXPECT_EQ(ended.at("status"), "rejected") << ended;
  EXPECT_EQ(attempt_words(client(), "s1", "outcomeReason"), Words{"attachment_not_allowed"});
  files.by_default({.status = 302, .headers = "Location: " + elsewhere.url() + "/x.png\r\n"});
  post_intent(client(), intent("s2", "casebook.ses", ses_send(files.url() + "/a.png")));
  ASSERT_EQ(wait_for_end(client(), "s2").at("status"), "exhausted");
  EXPECT_EQ(elsewhere.count(), 0u);
  EXPECT_EQ(ses.mails().size(), 0u);
}

TEST_F(NotifyAndSes, AnOutageOfTheFileServerUsesUpNoAttempts) {  // J3
  FakeGateway server(FakeGateway::Door::shut);
  serve(server, "png");
  allow_files_from(server.url());
  post_intent(client(), intent("s1", "casebook.ses", ses_send(server.url() + "/a.png")));
  ASSERT_TRUE(eventually([&] { return attempt_words(client(), "s1").size() >= 4; })) << "more than the three that it has";
  EXPECT_EQ(ses.mails().size(), 0u);
  server.open();
  EXPECT_EQ(wait_for_end(client(), "s1").at("status"), "accepted");
  EXPECT_EQ(ses.mails().size(), 1u);
}

TEST_F(NotifyAndSes, AHostThatIsKilledWhileItFetchesSendsOnce) {  // J3
  serve(files, "png");
  files.script("/a.png", {Reply::hang(), {.body = "png", .type = "image/png"}});
  post_intent(client(), intent("s1", "casebook.ses", ses_send(files.url() + "/a.png")));
  ASSERT_TRUE(files.wait_for_count("/a.png", 1));
  host().kill_hard();
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "s1").at("status"), "accepted");
  EXPECT_EQ(attempt_words(client(), "s1"), (Words{"unknown", "accepted"}));
  EXPECT_EQ(ses.mails().size(), 1u);
  EXPECT_EQ(files.count("/a.png"), 2u) << "fetched again, for nothing was kept";
}

TEST_F(NotifyAndSes, APausedAccountIsAnOutageOfTheTarget) {  // J3
  for (int i = 0; i < 4; ++i) ses.fail_next(400, "SendingPausedException", "Sending is paused");
  auto plain = ses_send("");
  EXPECT_EQ(delivered("s1", "casebook.ses", plain).at("status"), "accepted");
  const auto errors = attempt_words(client(), "s1", "error");
  ASSERT_EQ(errors.size(), 5u) << "more than the three that it has";
  EXPECT_NE(errors[0].find("sending_paused"), std::string::npos) << errors[0];
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE counts"), 1);
}

// T8: what the workers could not handle stays in pg-boss, and --dry-run says so.
TEST_F(NotifyAndSes, ADrainRefusesWhatThePluginsCouldNotSend) {
  setup.registry = registry_of({target("notify.send", "govuk_notify", notify.url(), "max_attempts", 3, {"invalid_payload"}),
                                target("ses.send", "ses", ses.url(), "max_attempts", 3, {"invalid_payload"})});
  for (const char* name : {"ses_send.json", "notify_send.json"})
    setup.pipelines[name] = read_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "registry/staged-jobs/pipelines" / name);
  sql().execute(
      "CREATE SCHEMA boss; CREATE TABLE boss.job (id uuid, name text, data jsonb, state text, start_after timestamptz, "
      "created_on timestamptz, completed_on timestamptz, output jsonb)");
  int number = 0;
  const auto add = [&](const std::string& queue, const json& data) {
    const auto id = "00000000-0000-4000-8000-0000000000" + std::to_string(10 + number++);
    sql().execute("INSERT INTO boss.job VALUES ('" + id + "', '" + queue + "', '" + data.dump() +
                  "', 'created', now() - interval '1 minute', now())");
    return id;
  };
  const json mail{{"template", FakeNotify::kTemplate},
                  {"emailAddress", "a@example.org"},
                  {"options", {{"personalisation", {{"post", "Rome"}}}, {"reference", "B-1"}}}};
  const auto without = [](json object, const char* name) {
    object.erase(name);
    return object;
  };
  const auto followed_by = [](const json& job) {
    return json{{"subject", "cni"}, {"body", "<p>x</p>"}, {"onComplete", {{"queue", "NOTIFY_SEND"}, {"job", job}}}};
  };
  auto nested = mail;
  nested["onComplete"] = {{"queue", "NOTIFY_SEND"}, {"job", mail}};
  const std::vector<std::string> good{add("NOTIFY_SEND", mail), add("NOTIFY_SEND", notify_send("B-2")),
                                      add("SES_SEND", followed_by(mail))};
  const std::vector<std::string> bad{
      add("NOTIFY_SEND", without(mail, "template")), add("NOTIFY_SEND", nullptr), add("SES_SEND", {{"subject", "cni"}}),
      add("SES_SEND", followed_by(without(mail, "template"))), add("SES_SEND", followed_by(nested))};
  const auto drain = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"drain", "--from-pgboss", "boss", "--batch", "2"});
    return installation().command(std::move(more));
  };
  const auto untouched = [&] { return sql().number("SELECT count(*) FROM boss.job WHERE state = 'created'"); };
  const auto dry = drain({"--map", "NOTIFY_SEND=notify_send", "--map", "SES_SEND=ses_send", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 3);
  for (const auto& id : bad) EXPECT_NE(dry.err.find(" " + id + ": "), std::string::npos) << dry.err;
  EXPECT_NE(dry.err.find("would be refused: "), std::string::npos) << dry.err;
  for (const auto& id : good) EXPECT_EQ(dry.err.find(id), std::string::npos) << dry.err;
  EXPECT_NE(dry.out.find("SES_SEND: 1 would be handed in for ses_send"), std::string::npos) << dry.out;
  EXPECT_EQ(untouched(), 8);

  const auto to_target = drain({"--map", "NOTIFY_SEND=notify.send", "--map", "SES_SEND=ses.send"});
  EXPECT_EQ(to_target.exit_code, 3);
  EXPECT_NE(to_target.err.find(bad[0] + ": payload of notify.send: "), std::string::npos) << to_target.err;
  EXPECT_EQ(untouched(), 6) << to_target.err;
  sql().execute("UPDATE boss.job SET state = 'created'; DELETE FROM boss.job WHERE id IN ('" + good[0] + "', '" + good[1] + "')");
  const auto to_pipelines = drain({"--map", "NOTIFY_SEND=notify_send", "--map", "SES_SEND=ses_send"});
  EXPECT_EQ(to_pipelines.exit_code, 3);
  EXPECT_NE(to_pipelines.err.find(bad[3] + ": onComplete: payload of notify.send: "), std::string::npos) << to_pipelines.err;
  EXPECT_NE(to_pipelines.err.find(bad[4] + ": onComplete: pipeline notify_send begins nothing for its onComplete"),
            std::string::npos)
      << to_pipelines.err;
  for (const auto& id : bad)
    EXPECT_EQ(sql().text("SELECT state FROM boss.job WHERE id = '" + id + "'"), "created") << to_pipelines.err;
  EXPECT_EQ(sql().text("SELECT state FROM boss.job WHERE id = '" + good[2] + "'"), "completed");
}

}  // namespace
}  // namespace waybill::testing
