// `waybill doctor` at a living installation: a healthy one has no finding, and each trouble of hosts, work, files and secrets is
// told with what to do.  O4
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <regex>
#include <set>
#include <sstream>

#include "support/bad_plugins.h"
#include "support/doctor_world.h"
#include "support/notify_world.h"
#include "unit/http/certificates.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Doctor : public DoctorWorld {
 protected:
  // A host that is there and does nothing but what the test writes.
  void pretend_host(SqlClient& session, const std::string& name, const json& facts) {
    session.execute("SET search_path TO waybill");
    session.execute("INSERT INTO hosts (host_id, name, knows) OVERRIDING SYSTEM VALUE VALUES (900, '" + name +
                    "', 55);"
                    "INSERT INTO host_facts (host_id, told_at, facts) VALUES (900, now() + interval '10 seconds', '" +
                    facts.dump() + "')");
    session.rows("SELECT pg_advisory_lock(hashtext('waybill:waybill'), 900)");
  }
};

// The checks that the page explains: the first column of its tables.
std::set<std::string> checks_of_page() {
  static const std::regex kRow("^\\| `([^`]+)` \\| [^|]*\\| [^|]*\\| ");
  std::set<std::string> all;
  std::istringstream page(read_file(std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "docs/operations/doctor.md"));
  for (std::string line; std::getline(page, line);)
    if (std::smatch found; std::regex_search(line, found, kRow)) all.insert(found[1]);
  return all;
}

TEST_F(Doctor, FindsNothingAtAHealthyInstallation) {  // O4
  start_host();
  const auto calm = visit();
  EXPECT_EQ(calm.found(), std::vector<std::string>{}) << calm.text;
  EXPECT_EQ(calm.exit_code, 0);
  EXPECT_EQ(checks_of_page(), calm.checks()) << "docs/operations/doctor.md";
  EXPECT_TRUE(has(calm.said("host versions"), "all hosts run ")) << calm.text;
  EXPECT_FALSE(has(calm.said("host versions"), "an earlier version")) << "the host says its version";
  const auto people = installation().command({"doctor"});
  EXPECT_EQ(people.exit_code, 0);
  EXPECT_TRUE(has(people.out, " checks without a finding")) << people.out;
  EXPECT_FALSE(has(people.out, "problems\n") || has(people.out, "warnings\n")) << people.out;
  EXPECT_TRUE(has(installation().command({"doctor", "--verbose"}).out, "fine\n"));
}

TEST_F(Doctor, SaysThatNoHostRunsAndWhatWaits) {  // O4
  setup.retry = "{kind: fixed, delay: 1h}";
  gateway.by_default(Reply::reject("provider_failure"));
  ASSERT_EQ(post_intent(client(), sms_intent("waits", "sms.attempts"), 30).status, 200);
  give_up_host();
  sql().execute("UPDATE waybill.ready SET due_at = now() - interval '3 minutes'");
  auto found = visit();
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_EQ(found.level("hosts"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("hosts"), "no host runs")) << found.text;
  EXPECT_EQ(found.level("oldest due", "sms"), "warning") << found.text;
  sql().execute("UPDATE waybill.ready SET due_at = now() - interval '16 minutes'");
  found = visit();
  EXPECT_EQ(found.level("oldest due", "sms"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("oldest due"), "16 min")) << found.text;
  const auto people = installation().command({"doctor"}).out;
  EXPECT_TRUE(people.starts_with("problems\n  ")) << people;
  EXPECT_TRUE(has(people, "    -> start one: `waybill serve`")) << people;
}

TEST_F(Doctor, NamesAHostThatIsStopped) {  // O4
  start_host();
  host().signal(SIGSTOP);
  const AtEnd goes_on([&] { host().signal(SIGCONT); });
  ASSERT_TRUE(becomes("hosts", "problem"));
  EXPECT_TRUE(has(visit().said("hosts"), ":" + std::to_string(host().pid()) + " has said nothing for "));
}

TEST_F(Doctor, NamesHostsThatDiffer) {  // O4
  start_host();
  SqlClient other(setup.database_url);
  pretend_host(other, "box:1",
               {{"version", "0.9.0"},
                {"clockAheadSeconds", -75},
                {"draining", true},
                {"actionTypes", {"sms"}},
                {"plugins", {{"sms", {{"plugin", "sms 0.1.0"}, {"notIsolated", {"signals to others"}}}}}},
                {"off", {{"sms", "it was switched off"}}}});
  const auto found = visit();
  EXPECT_TRUE(has(found.said("host versions"), "0.9.0 (schema 55): box:1")) << found.text;
  EXPECT_TRUE(has(found.said("host versions"), "different plugins for sms")) << found.text;
  EXPECT_EQ(found.level("host clocks", "box:1"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("host clocks"), "75 s behind")) << found.text;
  EXPECT_EQ(found.level("hosts", "box:1"), "warning") << found.text;
  EXPECT_EQ(found.level("action types", "sms"), "warning") << "the other host has it";
  EXPECT_TRUE(has(found.said("plugin isolation"), "signals to others")) << found.text;
  EXPECT_EQ(found.exit_code, 1) << "a clock that is off by more than a minute is a problem";
  other.execute("UPDATE host_facts SET facts = '{\"claimsNothing\": \"the schema is too new\"}' WHERE host_id = 900");
  EXPECT_EQ(visit().level("hosts", "box:1"), "problem");
}

TEST_F(Doctor, NamesARegistryThatHostsDoNotRunBy) {  // O4
  start_host();
  auto targets = standard_targets(gateway.url());
  targets.push_back(target("sms.more", "sms", gateway.url(), "one_shot", 0, {"invalid_request"}));
  installation().write_registry(registry_of(targets));
  const auto found = visit();
  EXPECT_EQ(found.level("hosts' registries"), "warning") << found.text;
  EXPECT_EQ(found.exit_code, 3) << found.text;
}

TEST_F(Doctor, TellsWhatWaitsForPeople) {  // O4
  start_host();
  sql().execute("SET search_path TO waybill");
  sql().execute(
      "INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, "
      "died_at) "
      "SELECT 0, n, 1, n, 'form', 'r-' || n, 'contact', 1, 'email_raw', 'rejected', now() - n * interval '1 hour' FROM "
      "generate_series(1, 3) n");
  sql().execute("INSERT INTO alerts (org_id, incident, kind, message) VALUES (1, 'stuck:x', 'stuck', 'nothing moves')");
  sql().execute(
      "INSERT INTO target_outages (org_id, target, until, reason, since) VALUES "
      "(1, 'sms.once', now() + interval '1 hour', 'HTTP 503', now() - interval '10 minutes'), "
      "(1, 'hook.once', now() + interval '1 hour', 'refused', now() - interval '2 days'), "
      "(1, 'channel:1', now() + interval '1 hour', 'refused', now() - interval '3 days')");
  sql().execute(
      "INSERT INTO cut_off_hosts SELECT host_id, now(), 'sms.once' FROM hosts; "
      "INSERT INTO host_findings (org_id, target, host_id, since, until, reason) "
      "SELECT 1, 'sms.brief', host_id, now(), now() + interval '1 hour', 'no route' FROM hosts");
  sql().execute(
      "INSERT INTO api_tokens (org_id, name, role, hash, expires_at) VALUES (1, 'old', 'member', 'x', now() + interval '5 days 1 "
      "minute'), "
      "(1, 'young', 'member', 'y', now() + interval '50 days')");
  const auto found = visit();
  EXPECT_EQ(found.level("dead letters"), "warning");
  EXPECT_TRUE(has(found.said("dead letters"), "3 wait for somebody; the oldest died 3 h ago")) << found.text;
  EXPECT_TRUE(has(found.said("alerts"), "kind stuck, the newest ")) << found.text;
  EXPECT_TRUE(has(found.said("alerts"), "docs/operations/runbook.md#stuck")) << found.text;
  EXPECT_EQ(found.level("outages", "default:sms.once"), "warning") << found.text;
  EXPECT_EQ(found.level("outages", "default:hook.once"), "problem") << "longer than timeouts.outage";
  EXPECT_TRUE(has(found.said("outages"), "sms.once of organisation default is in an outage for 10 min: HTTP 503; 0 wait"))
      << found.text;
  EXPECT_EQ(found.level("channels"), "note") << found.text;
  EXPECT_EQ(found.level("host reach"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("host reach"), "alone cannot reach sms.brief")) << found.text;
  EXPECT_EQ(found.said("tokens").find("young"), std::string::npos);
  EXPECT_TRUE(has(found.said("tokens"), "token \"old\" of organisation default ends in 5 d")) << found.text;
}

TEST_F(Doctor, CountsWhatWaitsForATarget) {  // O4
  setup.retry = "{kind: fixed, delay: 1h}";
  gateway.by_default(Reply::reject("provider_failure"));
  for (const auto* id : {"a", "b"}) ASSERT_EQ(post_intent(client(), sms_intent(id, "sms.attempts"), 30).status, 200);
  sql().execute(
      "INSERT INTO waybill.target_outages (org_id, target, until, reason) VALUES (1, 'sms.attempts', now() + interval '1 hour', "
      "'HTTP 503')");
  EXPECT_TRUE(eventually([&] { return has(visit().said("outages"), "; 2 wait"); })) << visit().text;
}

TEST_F(Doctor, TellsOfARateThatAnOperatorGave) {  // O4 O5
  start_host();
  EXPECT_EQ(visit().level("rates"), "ok");
  ASSERT_EQ(installation().command({"waiting", "rate", "--target", "sms.once", "--per-minute", "7"}).exit_code, 0);
  const auto found = visit();
  EXPECT_EQ(found.level("rates", "default:sms.once"), "note") << found.text;
  EXPECT_TRUE(has(found.said("rates"), "sms.once of organisation default has a rate of 7/m, given by ")) << found.text;
}

TEST_F(Doctor, NamesFilesThatAStartWouldRefuse) {  // O4
  const auto secret = installation().folder() / "token";
  write_file(secret, "value");
  setup.more =
      "secrets:\n  relay: { file: ./token }\n  gateway: { env: NOBODY_HAS_SET_THIS }\n  gone: { file: ./no-such-file }\n";
  give_up_host();
  write_file(installation().config(), read_file(installation().config()) + setup.more);
  ASSERT_EQ(chmod(secret.c_str(), 0644), 0);
  installation().add_plugin(bad_plugin("wrong_major"));
  installation().write_registry(registry_of({target("mine", "good", gateway.url(), "max_attempts", 3, {"invalid_request"})}));
  const auto found = visit();
  EXPECT_EQ(found.level("secrets", "relay"), "note") << found.text;
  EXPECT_EQ(found.level("secrets", "gateway"), "unknown") << "a host may have another environment";
  EXPECT_EQ(found.level("secrets", "gone"), "problem") << found.text;
  EXPECT_TRUE(has(found.said("plugins"), "wrong_major.so is refused")) << found.text;
  EXPECT_TRUE(has(found.said("plugins"), "its work waits")) << "of the target whose plugin is not there\n" << found.text;
  EXPECT_EQ(found.level("master keys"), "unknown") << found.text;
}

TEST_F(Doctor, TellsWhenCertificatesEnd) {  // O4
  using http::stories::certificate_pem;
  using http::stories::key_pem;
  using http::stories::make_certificate;
  const auto tls = [&](int days) {
    const auto made = make_certificate({.to_days = days});
    write_file(installation().folder() / "tls.pem", certificate_pem(made));
    write_file(installation().folder() / "tls.key", key_pem(made));
    return visit();
  };
  write_file(installation().config(), read_file(installation().config()) + "tls:\n  certificate: ./tls.pem\n  key: ./tls.key\n");
  EXPECT_EQ(tls(40).level("certificates"), "ok");
  EXPECT_EQ(tls(10).level("certificates"), "warning");
  const auto soon = tls(2);
  EXPECT_EQ(soon.level("certificates", "tls.certificate"), "problem") << soon.text;
  EXPECT_TRUE(has(soon.said("certificates"), "ends in 47 h")) << soon.text;
}

class DoctorOfKeys : public NotifyWorld {};

TEST_F(DoctorOfKeys, NamesAMasterKeyThatIsNotThere) {  // O4
  configure("debounce: 10ms");
  add_channel("ops");
  use_key("another master key, of more than 32 bytes");
  const auto answer = json::parse(installation().command({"doctor", "--json"}).out);
  std::string said;
  for (const auto& finding : answer.at("findings"))
    if (finding.at("what") == "master keys") said += finding.dump();
  EXPECT_NE(said.find("\"level\":\"problem\""), std::string::npos) << said;
  EXPECT_NE(said.find("seals the secrets of 1 channel(s)"), std::string::npos) << said;
}

TEST_F(Doctor, WatchesAndTellsOnlyWhatChanges) {  // O4
  start_host();
  const auto out = installation().folder() / "watch.txt", lines = installation().folder() / "watch.json";
  Process watch(
      {.arguments = {waybill_program().string(), "doctor", "--watch", "1", "--config", installation().config().string()},
       .environment = {},
       .folder = {},
       .out = out,
       .err = {},
       .user = {}});
  Process machine({.arguments = {waybill_program().string(), "doctor", "--watch", "1", "--json", "--config",
                                 installation().config().string()},
                   .environment = {},
                   .folder = {},
                   .out = lines,
                   .err = {},
                   .user = {}});
  ASSERT_TRUE(eventually([&] { return has(read_file(out), " checks without a finding"); }));
  const auto whole = read_file(out).size();
  sql().execute("INSERT INTO waybill.alerts (org_id, incident, kind, message) VALUES (1, 'stuck:x', 'stuck', 'nothing moves')");
  ASSERT_TRUE(eventually([&] { return has(read_file(out), "new warning\n  alerts stuck: "); })) << read_file(out);
  sql().execute("DELETE FROM waybill.alerts");
  ASSERT_TRUE(eventually([&] { return has(read_file(out), "gone: warning alerts stuck\n"); })) << read_file(out);
  EXPECT_FALSE(has(read_file(out).substr(whole), "checks without a finding")) << read_file(out);
  const auto last_line = [&] {
    const auto all = read_file(lines);
    const auto end = all.rfind('\n');
    return end == std::string::npos ? "" : all.substr(all.rfind('\n', end - 1) + 1, end);
  };
  ASSERT_TRUE(eventually([&] { return has(last_line(), "\"exitCode\":0,"); })) << last_line();
  for (auto* process : {&watch, &machine}) process->signal(SIGINT);
  EXPECT_EQ(watch.wait(), 0) << read_file(out);
  EXPECT_EQ(machine.wait(), 0);
  std::istringstream in(read_file(lines));
  std::size_t documents = 0, codes = 0;
  for (std::string line; std::getline(in, line); ++documents) {
    const auto look = json::parse(line, nullptr, false);
    ASSERT_TRUE(look.is_object()) << line;
    codes |= std::size_t{1} << look.at("exitCode").get<std::size_t>();
  }
  EXPECT_GE(documents, 2u);
  EXPECT_TRUE((codes & 1) != 0) << "it was well at times";
}

TEST_F(Doctor, EndsWithTheExitCodeOfTheLastLook) {  // O4
  start_host();
  sql().execute("INSERT INTO waybill.alerts (org_id, incident, kind, message) VALUES (1, 'stuck:x', 'stuck', 'nothing moves')");
  const auto out = installation().folder() / "watch.txt";
  Process watch({.arguments = {waybill_program().string(), "doctor", "--config", installation().config().string(), "--watch"},
                 .environment = {},
                 .folder = {},
                 .out = out,
                 .err = {},
                 .user = {}});
  ASSERT_TRUE(eventually([&] { return has(read_file(out), " checks without a finding"); }));
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait(), 3) << read_file(out);
  EXPECT_EQ(installation().command({"doctor", "--watch", "0"}).exit_code, 2);
}

}  // namespace
}  // namespace waybill::testing
