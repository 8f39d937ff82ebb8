// What leaves the host, by the real program: certificates and keys of targets and senders, read at start and at reload; what
// `check` says of secrets in clear; and `egress.deny`, tried by every way out that tests/docs/ways_out_test.cpp lists.  S11 S12
#include <gtest/gtest.h>
#include <signal.h>

#include "support/fake_ses.h"
#include "support/forms_world.h"
#include "unit/services/scripted_relay.h"
#include "unit/services/tls_server.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

bool holds(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

class Outgoing : public FormsWorld {
 protected:
  Outgoing() { setup.retry = "{kind: fixed, delay: 50ms}"; }

  json hook(const std::string& name, const std::string& url, const json& more = json::object()) const {
    auto made = target(name, "webhook", url, "max_attempts", 2, {"gone"});
    made.update(more);
    return made;
  }
  std::filesystem::path pem(const std::string& name, const std::string& text) const {
    const auto path = files_.path() / name;
    write_file(path, text);
    return path;
  }
  void add_senders(const std::string& entries) {  // to the section that FormsWorld wrote
    const std::string section = "senders:\n";
    setup.more.insert(setup.more.find(section) + section.size(), entries);
  }
  CommandResult check() { return installation().command({"check"}); }
  json sent(const std::string& id, const std::string& to) {
    post_intent(client(), intent(id, to, {{"a", 1}}));
    return wait_for_end(client(), id);
  }
  std::string details(const std::string& id) {
    std::string all;
    for (const auto& text : attempt_words(client(), id, "error")) all += text + "\n";
    return all;
  }
  void reload(const std::string& word) {
    const auto before = host().log().size();
    host().signal(SIGHUP);
    ASSERT_TRUE(eventually([&] { return holds(host().log().substr(before), word); })) << host().log();
  }

  const TestAuthority authority_;

 private:
  TempFolder files_;
};

TEST_F(Outgoing, CheckNamesTheTargetWhoseSecretWouldGoOutInClear) {  // S11
  const json bearer{{"headers", {{"Authorization", "Bearer {secret:tickets}"}}}};
  setup.registry = registry_of({hook("good", "https://hook.test/", {{"destination", bearer}}),
                                hook("clear", "HTTP://hook.test/", {{"destination", bearer}})});
  auto result = check();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(holds(result.err, "registry/targets.json:")) << result.err;
  EXPECT_TRUE(holds(result.err, "targets[1].destination: target \"clear\": a {secret:NAME} does not go out in clear"))
      << result.err;
  EXPECT_FALSE(holds(result.err, "\"good\""));

  auto allowed = hook("clear", "http://hook.test/", {{"destination", bearer}, {"insecure", true}});
  installation().write_registry(registry_of({allowed}));
  result = check();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(holds(result.err, "targets[0].gatewayUrl: target \"clear\": insecure is true")) << result.err;
}

TEST_F(Outgoing, CheckWarnsOfALoginThatIsNotProtected) {  // S11
  const auto warnings = [&](const std::string& more) {
    setup.more = "senders: { email_raw: { from: a@x.test, relay: \"smtp://relay.test:25\"" + more +
                 " } }\nsecrets: { pw: { env: PATH } }\n";
    const Installation place(setup);
    const auto result = place.command({"check"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err;
  };
  setup.forms.clear();
  setup.templates.clear();
  const std::string login = ", user: me, password_secret: pw";
  EXPECT_EQ(warnings(login), "");
  EXPECT_EQ(warnings(login + ", tls: required"), "");
  EXPECT_EQ(warnings(", tls: never"), "") << "nobody logs in";
  EXPECT_TRUE(holds(warnings(login + ", tls: never"), "senders.email_raw.tls: tls is never: the password goes out in clear"));
  EXPECT_TRUE(holds(warnings(login + ", tls: if_offered"), "tls is if_offered: the password may go out in clear"));
  EXPECT_TRUE(holds(warnings(login + ", insecure: true"), "senders.email_raw.insecure: insecure is true: the password may"));
}

TEST_F(Outgoing, CheckRefusesPortsAndFilesThatCannotBe) {  // S12
  setup.registry = registry_of({hook("port", "http://hook.test:99999/"), hook("good", "http://hook.test:65535/")});
  relay_to("smtp://relay.test:99999");
  auto result = check();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(holds(result.err, "targets[0].gatewayUrl: target \"port\": its port must be from 1 to 65535")) << result.err;
  EXPECT_TRUE(holds(result.err, "senders.email_raw.relay: relay: the port must be from 1 to 65535")) << result.err;
  EXPECT_FALSE(holds(result.err, "\"good\""));

  relay_to("smtp://relay.test:25");
  add_senders("  webhook: {ca_file: nowhere.pem}\n");
  setup.registry = registry_of({hook("no key", "https://hook.test/", {{"client_certificate", "me.pem"}})});
  const Installation other(setup);
  write_file(other.folder() / "registry/me.pem", authority_.issue({}).pem());
  result = other.command({"check"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(holds(result.err, "senders.webhook.ca_file: file ")) << result.err;
  EXPECT_TRUE(holds(result.err, "nowhere.pem cannot be read: No such file")) << result.err;
  EXPECT_TRUE(holds(result.err, "targets[0].client_key: is no private key in PEM")) << "beside the registry: " << result.err;
}

TEST_F(Outgoing, ATargetsCertificatesAreReadAtStartAndAtReload) {  // S12 D8
  const TestAuthority later("the next authority");
  TlsServer server(authority_.issue({}), {.clients_of = authority_.certificate()});
  TlsServer moved(later.issue({}));
  const auto billing = authority_.issue({.common_name = "billing", .names = ""});
  const auto orders = authority_.issue({.common_name = "orders", .names = ""});
  const auto ca = pem("ca.pem", authority_.pem());
  const json known{{"ca_file", ca.string()},
                   {"client_certificate", pem("me.pem", billing.pem()).string()},
                   {"client_key", pem("me.key", billing.key_pem()).string()}};
  setup.registry = registry_of({hook("known", server.url(), known), hook("stranger", server.url(), {{"ca_file", ca.string()}}),
                                hook("trusting", server.url()), hook("moved", moved.url(), {{"ca_file", ca.string()}})});
  setup.more += "timeouts: {cooldown: 0ms, outage: 0ms}\n";
  EXPECT_EQ(sent("k1", "known").at("status"), "accepted") << details("k1");
  EXPECT_EQ(sent("s1", "stranger").at("status"), "exhausted");
  EXPECT_EQ(sent("t1", "trusting").at("status"), "exhausted");
  EXPECT_EQ(sent("m1", "moved").at("status"), "exhausted");
  EXPECT_TRUE(holds(details("t1"), "tls_failed")) << details("t1");
  EXPECT_EQ(server.requests(), 1);

  // Replaced in place, for another client and another authority; half written first.
  pem("me.pem", orders.pem());
  EXPECT_EQ(sent("k2", "known").at("status"), "accepted") << "nothing is read before it is told";
  reload("registry.refused");
  EXPECT_TRUE(holds(host().log(), "targets[0].client_key: is not the key of the certificate in file")) << host().log();
  EXPECT_EQ(sent("k3", "known").at("status"), "accepted") << "the old ones stay";
  pem("me.key", orders.key_pem());
  pem("ca.pem", authority_.pem() + later.pem());
  reload("registry.reloaded");
  EXPECT_EQ(sent("k4", "known").at("status"), "accepted");
  EXPECT_EQ(sent("m2", "moved").at("status"), "accepted") << details("m2");
  EXPECT_EQ(server.clients(), (std::set<std::string>{"billing", "orders"}));
}

TEST_F(Outgoing, WhatOpenSslIsConfiguredToAllowDoesNotCount) {  // S12
  const auto lenient = pem("openssl.cnf",
                           "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMinProtocol = TLSv1\n"
                           "CipherString = ALL:@SECLEVEL=0\n");
  TlsServer old(authority_.issue({}), {.least = TLS1_VERSION, .most = TLS1_1_VERSION});
  TlsServer usual(authority_.issue({}), {.most = TLS1_2_VERSION});
  const json ca{{"ca_file", pem("ca.pem", authority_.pem()).string()}};
  auto late = ca;
  late["tls_min"] = "1.3";
  setup.registry = registry_of({hook("old", old.url(), ca), hook("usual", usual.url(), ca), hook("late", usual.url(), late)});
  setup.more += "timeouts: {cooldown: 0ms, outage: 0ms}\n";
  ::setenv("OPENSSL_CONF", lenient.c_str(), 1);
  host();
  ::unsetenv("OPENSSL_CONF");
  EXPECT_EQ(sent("o1", "old").at("status"), "exhausted");
  EXPECT_EQ(old.handshakes(), 0);
  EXPECT_EQ(sent("u1", "usual").at("status"), "accepted") << details("u1");
  EXPECT_EQ(sent("l1", "late").at("status"), "exhausted");
  EXPECT_EQ(usual.requests(), 1);
}

TEST_F(Outgoing, AMailSendersAuthoritiesAreItsOwn) {  // S11 S12
  const TlsIdentity identity;
  ScriptedRelay relay({.offers = {"AUTH PLAIN"}, .tls = &identity});
  const auto entry = [&](const std::string& more) {
    return "{from: a@x.test, relay: \"" + relay.url() + "\", user: me, password_secret: pw" + more + "}";
  };
  const auto password = pem("pw", "hunter2");
  setup.more = "senders:\n  email_raw: " + entry(", ca_file: \"" + pem("ca.pem", identity.pem()).string() + "\"") +
               "\n  email_template: " + entry("") + "\nsecrets: {pw: {file: \"" + password.string() + "\"}}\n";
  setup.forms = {{"raw.yaml", form_file("raw", {form_action(1, "email_raw", "b@x.test")})},
                 {"self.yaml", form_file("self", {form_action(1, "email_template", "b@x.test")})}};
  EXPECT_EQ(hand_in(submission("s-1", "raw")).status, 201);
  finalize("s-1");
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted");
  EXPECT_EQ(relay.count("AUTH PLAIN |me|hunter2"), 1);
  EXPECT_EQ(hand_in(submission("s-2", "self")).status, 201);
  finalize("s-2");
  EXPECT_TRUE(eventually([&] {
    return sql().number("SELECT count(*) FROM waybill.attempts WHERE error LIKE '%tls_failed%'") > 0;
  })) << host().log();
  EXPECT_EQ(relay.count("AUTH"), 1) << "the same relay, without its authority";
}

// Each way out leads to a server that would answer, and that `egress.deny` names.
class Denied : public Outgoing {
 protected:
  Denied() {
    setup.plugins = {"email_template", "email_raw", "happyfox_template", "webhook", "ses"};
    setup.forms = {
        {"mail.yaml", form_file("mail", {form_action(1, "email_raw", "b@x.test")})},
        {"ticket.yaml", form_file("ticket", {form_action(1, "happyfox_template", "support", "happyfox_category: \"3\"")})}};
    setup.templates.clear();
    relay_to(relay.url());
    tickets_at(gateway.url());
    const auto secret = [&](const char* name, const std::string& text) {
      return ", " + std::string(name) + ": {file: \"" + pem(name, text).string() + "\"}";
    };
    const std::string secrets = "secrets: {";
    setup.more.insert(setup.more.find(secrets) + secrets.size(),
                      (secret("aws_key", FakeSes::account().key_id) + secret("aws_secret", FakeSes::account().secret_key) +
                       secret("master", "a master key, of more than 32 bytes") + ", ")
                          .substr(2));
    add_senders(
        "  ses: {region: eu-west-2, access_key_secret: aws_key, secret_key_secret: aws_secret, from: a@x.test, to: "
        "b@x.test, files_allowed_origins: [\"" +
        files.url() + "\"]}\n");
    setup.registry = registry_of({hook("hook", gateway.url()), hook("ops", gateway.url()),
                                  target("ses", "ses", ses.url(), "max_attempts", 2, {"invalid_payload"}),
                                  target("parcel", "parcel", gateway.url(), "max_attempts", 2, {"refused"})});
    const auto denied = [](const std::string& url) { return "\"127.0.0.1" + url.substr(url.rfind(':')) + "\""; };
    setup.more += "egress: {guard: off, allow: [\"127.0.0.1/32\"], deny: [" + denied(gateway.url()) + ", " + denied(relay.url()) +
                  ", " + denied(files.url()) + "]}\nalerts: {target: ops, quiet: 1s}\nnotify: {key: master, debounce: 0s}\n" +
                  "failure_check: {schedule: never, targets: [parcel]}\ntimeouts: {cooldown: 0ms, outage: 0ms}\n";
    installation().add_plugin(built_example("parcel"));
  }
  bool refused(const std::string& action_type, std::string_view more = {}) {
    return eventually([&] {
      const auto log = host().log();
      for (std::size_t at = 0; (at = log.find("egress.refused", at)) != std::string::npos; ++at) {
        const auto line = log.substr(at, log.find('\n', at) - at);
        if (holds(line, action_type) && holds(line, "denied") && holds(line, more)) return true;
      }
      return false;
    });
  }

  ScriptedRelay relay;
  FakeGateway files;
  FakeSes ses;
};

TEST_F(Denied, ByEveryWayOut) {  // S12
  EXPECT_EQ(sent("a request of a plugin", "hook").at("status"), "exhausted");
  EXPECT_TRUE(refused("webhook", "hook"));

  EXPECT_EQ(hand_in(submission("mail", "mail")).status, 201);
  finalize("mail");
  EXPECT_TRUE(refused("email_raw")) << "a mail";
  EXPECT_EQ(hand_in(submission("ticket", "ticket", {{"name", "Zo"}, {"email", "zo@x.test"}})).status, 201);
  finalize("ticket");
  EXPECT_TRUE(refused("happyfox_template")) << "a request to a sender's own URL";

  post_intent(
      client(),
      intent("attachment", "ses",
             {{"body", "x"},
              {"subject", "x"},
              {"metadata", {{"reference", "R"}}},
              {"reference", "R"},
              {"onComplete",
               {{"job", {{"queue", "Q"}}},
                {"attachments",
                 json::array({{{"key", "a"}, {"type", "file"}, {"title", "A"}, {"answer", files.url() + "/a.png"}}})}}}}));
  EXPECT_EQ(wait_for_end(client(), "attachment").at("status"), "exhausted");
  EXPECT_TRUE(refused("ses", files.url().substr(files.url().rfind(':')))) << "an attachment that is fetched";

  sql().execute("SET search_path TO waybill");
  sql().rows("SELECT raise_alert(1, 'dead_letter', 'target:x', 'what happened')");
  EXPECT_TRUE(refused("webhook", "ops")) << "an alert";

  const auto channel = client().request("POST", "/orgs/default/channels",
                                        json{{"name", "c"}, {"type", "webhook"}, {"config", {{"url", gateway.url()}}}}.dump());
  EXPECT_EQ(channel.status, 400) << "an organisation's channel: " << channel.body;

  const auto probe = installation().command({"provider", "probe", "parcel"});
  EXPECT_EQ(probe.exit_code, 1);
  EXPECT_TRUE(holds(probe.out, "not reachable") && holds(probe.out, "not allowed")) << "a probe: " << probe.out << probe.err;
  const auto failures = installation().command({"provider", "failures", "parcel"});
  EXPECT_TRUE(holds(failures.out + failures.err, "not allowed")) << "a query: " << failures.out << failures.err;
  installation().command({"failures", "check"});
  const auto digests = installation().command({"failures", "list", "--json"});
  EXPECT_TRUE(holds(digests.out, "not allowed")) << "a failure check: " << digests.out << digests.err;

  const auto online = installation().command({"check", "--online"});
  EXPECT_EQ(online.exit_code, 1);
  for (const auto* what : {"target hook ", "relay of email_raw "}) {
    const auto at = online.out.find(what);
    ASSERT_NE(at, std::string::npos) << online.out << online.err;
    EXPECT_TRUE(holds(online.out.substr(at, online.out.find('\n', at) - at), "not allowed")) << "a check: " << online.out;
  }

  EXPECT_EQ(gateway.received().size(), 0u);
  EXPECT_EQ(files.received().size(), 0u);
  EXPECT_EQ(relay.connections(), 0);
  EXPECT_EQ(ses.mails().size(), 0u);
  EXPECT_TRUE(host().running());
}

}  // namespace
}  // namespace waybill::testing
