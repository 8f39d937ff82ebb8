// The whole configuration: what is read from file and environment, and where paths lead. [design 7]
#include <gtest/gtest.h>

#include "unit/config/written_file.h"

namespace waybill {
namespace {

using testing::joined;
using testing::WrittenFile;

constexpr auto kExample = R"(listen: 127.0.0.1:8080
auth: tokens            # or none
database:
  url: postgresql://waybill@localhost/waybill
  owner_url: host=db user=waybill_owner
  schema: dispatch
  migrate: false
  intake_timeout: 1s
  read_timeout: 2s
  claim_timeout: 3s
  settle_timeout: 4s
  maintenance_timeout: 5s
  liveness_timeout: 6s
  lock_timeout: 7s
registry: ./forms-and-targets
plugins: /usr/lib/waybill
host_name: mail-1.dc_2
port_file: ./var/port
senders:
  webhook: { timeout_ms: 10000, verify: true, note: "10", phone: +44123,
             id: 007, huge: 12345678901234567890123, share: 0.5, gone: ~ }
secrets:
  orders: { env: ORDERS_WEBHOOK_SECRET }
  billing: [ { file: ./secrets/billing-new }, { env: BILLING_OLD } ]
retry:
  default: { kind: fixed, delay: 7s }
  webhook: { kind: exponential, delay: 30s, factor: 3, jitter: [0.5, 1.5], max_delay: 2h }
limits: { in_flight: 1, per_target: 2, per_org: 3, per_host_name: 4, blocking_workers: 5,
          claim_batch: 6, in_flight_bytes: 1048577, http_connections: 7, body_bytes: 2048, header_bytes: 4096 }
timeouts: { attempt: 11s, attempt_grace: 900ms, request_read: 12s, answer: 9s, idle: 1m,
            drain: 0s, lease: 2h, poll: 50ms, takeover: 60ms, cooldown: 1d, outage: 2d }
log: { level: debug, format: json }
)";

Config loaded(const WrittenFile& file, const std::vector<std::string>& environment = {}) {
  auto config = load_config(file.path(), environment);
  EXPECT_TRUE(config) << joined(config ? Problems{} : config.error());
  return config.value_or(Config{});
}

TEST(Configuration, ReadsEveryKeyOfTheFile) {
  const WrittenFile file(kExample);
  const auto config = loaded(file);
  EXPECT_EQ(config.file, file.path());
  EXPECT_EQ(config.listen, (ListenAddress{"127.0.0.1", 8080}));
  EXPECT_FALSE(config.auth_none);
  EXPECT_EQ(config.database,
            (DatabaseConfig{"postgresql://waybill@localhost/waybill",
                            "",
                            "dispatch",
                            false,
                            "host=db user=waybill_owner",
                            {Seconds(1), Seconds(2), Seconds(3), Seconds(4), Seconds(5), Seconds(6), Seconds(7)}}));
  EXPECT_EQ(config.registry, file.folder() / "forms-and-targets");
  EXPECT_EQ(config.plugins, "/usr/lib/waybill");
  EXPECT_EQ(config.host_name, "mail-1.dc_2");
  EXPECT_EQ(config.port_file, file.folder() / "var/port");
  EXPECT_EQ(config.limits, (Limits{.in_flight = 1,
                                   .per_target = 2,
                                   .per_org = 3,
                                   .per_host_name = 4,
                                   .blocking_workers = 5,
                                   .claim_batch = 6,
                                   .in_flight_bytes = 1048577,
                                   .http_connections = 7,
                                   .body_bytes = 2048,
                                   .header_bytes = 4096}));
  EXPECT_EQ(config.timeouts, (Timeouts{Millis{11000}, Millis{900}, Millis{12000}, Millis{9000}, Millis{60000}, Millis{0},
                                       Millis{7200000}, Millis{50}, Millis{60}, Millis{86400000}, Millis{172800000}}));
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.log_format, "json");
}

TEST(Configuration, KeepsNumbersAndFlagsOfSenderSettingsTypedAndAllElseText) {
  const WrittenFile file(kExample);
  EXPECT_EQ(loaded(file).senders.at("webhook"),
            R"({"gone":null,"huge":"12345678901234567890123","id":"007","note":"10","phone":"+44123","share":0.5,)"
            R"("timeout_ms":10000,"verify":true})");
}

// Wherever they stand.
std::vector<SecretReference> without_lines(std::vector<SecretReference> references) {
  for (auto& one : references) one.line = 0;
  return references;
}

TEST(Configuration, ReadsSecretsAsReferencesNewestFirst) {
  const WrittenFile file(kExample);
  const auto secrets = loaded(file).secrets;
  using Kind = SecretReference::Kind;
  EXPECT_EQ(without_lines(secrets.at("orders")), (std::vector<SecretReference>{{Kind::environment, "ORDERS_WEBHOOK_SECRET"}}));
  EXPECT_EQ(without_lines(secrets.at("billing")),
            (std::vector<SecretReference>{{Kind::file, (file.folder() / "secrets/billing-new").string()},
                                          {Kind::environment, "BILLING_OLD"}}));
}

// O2: LoadCredential
TEST(Configuration, ReadsTheNamesOfCredentials) {
  const WrittenFile file("database: { embedded: pg }\nsecrets: { orders: { credential: orders.v2 } }\n");
  EXPECT_EQ(loaded(file).secrets.at("orders"),
            (std::vector<SecretReference>{{SecretReference::Kind::credential, "orders.v2", 0, 2}}));
}

TEST(Configuration, ReadsWhichPartOfWhatItRefersToIsTheSecret) {  // J3
  const WrittenFile file("database: { embedded: pg }\nsecrets: { notify: { env: NOTIFY_API_KEY, last: 36 } }\n");
  EXPECT_EQ(loaded(file).secrets.at("notify"),
            (std::vector<SecretReference>{{SecretReference::Kind::environment, "NOTIFY_API_KEY", 36, 2}}));
}

// M9, N8
TEST(Configuration, ReadsRetryTimingPerActionTypeAndFallsBackToDefault) {
  const WrittenFile file(kExample);
  const auto config = loaded(file);
  EXPECT_EQ(config.retry_for("webhook"),
            (RetryTiming{RetryTiming::Kind::exponential, Millis{30000}, 3.0, Millis{7200000}, 0.5, 1.5}));
  EXPECT_EQ(config.retry_for("sms"), (RetryTiming{.delay = Millis{7000}}));
}

// M9
TEST(Configuration, RetriesAfterFiveSecondsWhenNothingIsSaid) {
  EXPECT_EQ(Config{}.retry_for("sms"), (RetryTiming{.kind = RetryTiming::Kind::fixed, .delay = Millis{5000}}));
}

TEST(Configuration, NeedsNoFileWhenTheEnvironmentNamesADatabase) {
  const auto config =
      load_config("", {"WAYBILL_DATABASE_URL=host=/run/postgresql dbname=w", "PATH=/bin", "WAYBILL_REGISTRY=r/../s"});
  ASSERT_TRUE(config) << joined(config.error());
  EXPECT_EQ(config->file, "");
  EXPECT_EQ(config->database.url, "host=/run/postgresql dbname=w");
  EXPECT_EQ(config->registry, "s");
  EXPECT_EQ(config->plugins, "plugins");
}

TEST(Configuration, LeavesDefaultsWhereAFileSaysNothing) {
  const WrittenFile file("database: { embedded: ./var/pg }\nlimits:\n");
  const auto config = loaded(file);
  EXPECT_EQ(config.limits, Limits{});
  EXPECT_EQ(config.timeouts, Timeouts{});
  EXPECT_EQ(config.database.embedded, file.folder() / "var/pg");
  EXPECT_EQ(config.registry, file.folder() / "registry");
}

TEST(Configuration, AnOldNameOfAKeyStillWorksWithAWarning) {
  const WrittenFile file("database: { url: postgresql://h/d, upkeep_timeout: 7s }\n");
  const auto config = loaded(file, {"WAYBILL_TIMEOUTS_TARGET_REST=9s"});
  EXPECT_EQ(config.database.timeouts.maintenance, Millis(7'000));
  EXPECT_EQ(config.timeouts.cooldown, Millis(9'000));
  ASSERT_EQ(config.warnings.size(), 2u);
  EXPECT_EQ(config.warnings[0].line, 1);
  EXPECT_EQ(config.warnings[0].field, "database.upkeep_timeout");
  EXPECT_EQ(config.warnings[0].message, "is deprecated: it is called database.maintenance_timeout now");
  EXPECT_EQ(config.warnings[1].message, "is deprecated: it is called WAYBILL_TIMEOUTS_COOLDOWN now");
}

TEST(Configuration, AnOldNameBesideTheNewOneIsRefused) {
  const WrittenFile file("database: { url: postgresql://h/d }\ntimeouts:\n  cooldown: 1s\n  target_rest: 2s\n");
  const auto config = load_config(file.path(), {});
  ASSERT_FALSE(config);
  EXPECT_NE(joined(config.error()).find("4: timeouts.target_rest: is the same key as timeouts.cooldown, which is set as well"),
            std::string::npos)
      << joined(config.error());
  const WrittenFile overridden("database: { url: postgresql://h/d }\ntimeouts: { target_rest: 2s }\n");
  EXPECT_EQ(loaded(overridden, {"WAYBILL_TIMEOUTS_COOLDOWN=3s"}).timeouts.cooldown, Millis(3'000)) << "the environment wins";
}

TEST(Configuration, LetsTheEnvironmentOverrideTheFile) {
  const WrittenFile file(kExample);
  const auto config =
      loaded(file, {"WAYBILL_LISTEN=0.0.0.0:0", "WAYBILL_LIMITS_PER_TARGET=64", "WAYBILL_TIMEOUTS_POLL=1s",
                    "WAYBILL_DATABASE_MIGRATE=true", "WAYBILL_LOG_FORMAT=pretty", "WAYBILL_PORT_FILE=here/port",
                    R"(WAYBILL_SENDERS_WEBHOOK={"timeout_ms":5,"list":[1,"2"]})", "WAYBILL_SENDERS_EMAIL_RAW={}",
                    "WAYBILL_RETRY_DEFAULT={kind: fixed, delay: 2s}", "WAYBILL_SECRETS_ORDERS=[{env: NEW},{env: OLD}]"});
  EXPECT_EQ(config.listen, (ListenAddress{"0.0.0.0", 0}));
  EXPECT_EQ(config.limits.per_target, 64u);
  EXPECT_EQ(config.limits.in_flight, 1u);
  EXPECT_EQ(config.timeouts.poll, Millis{1000});
  EXPECT_TRUE(config.database.migrate);
  EXPECT_EQ(config.log_format, "pretty");
  EXPECT_EQ(config.port_file, "here/port");
  EXPECT_EQ(config.senders.at("webhook"), R"({"list":[1,"2"],"timeout_ms":5})");
  EXPECT_EQ(config.senders.at("email_raw"), "{}");
  EXPECT_EQ(config.retry_for("sms").delay, Millis{2000});
  EXPECT_EQ(config.secrets.at("orders").size(), 2u);
  EXPECT_EQ(config.secrets.at("orders").front().name, "NEW");
}

TEST(Configuration, FindsTheFilesOwnEntryForAVariableWhateverItsCase) {
  const WrittenFile file("database: { embedded: pg }\nsecrets: { Orders-Key: { env: A } }\n");
  const auto secrets = loaded(file, {"WAYBILL_SECRETS_ORDERS_KEY={env: B}"}).secrets;
  ASSERT_EQ(secrets.size(), 1u);
  EXPECT_EQ(secrets.at("Orders-Key").front().name, "B");
}

TEST(Configuration, ReplacesEitherDatabaseOfTheFileByTheOneFromTheEnvironment) {
  const WrittenFile embedded("database: { embedded: pg }\n");
  const auto by_url = loaded(embedded, {"WAYBILL_DATABASE_URL=postgresql:///w"}).database;
  EXPECT_EQ(by_url.url, "postgresql:///w");
  EXPECT_EQ(by_url.embedded, "");
  const WrittenFile url("database: { url: \"postgresql:///w\", owner_url: \"postgresql://owner@/w\" }\n");
  const auto by_folder = loaded(url, {"WAYBILL_DATABASE_EMBEDDED=pg"}).database;
  EXPECT_EQ(by_folder.url, "");
  EXPECT_EQ(by_folder.embedded, "pg");
  EXPECT_EQ(by_folder.owner_url, "");
  EXPECT_EQ(loaded(url, {"WAYBILL_DATABASE_URL=postgresql:///v"}).database.owner_url, "postgresql://owner@/w");
}

TEST(Configuration, AllowsNoAuthenticationOnEachLoopbackAddress) {
  for (const std::string address : {"127.0.0.1:1", "127.8.9.1:1", "localhost:1", "[::1]:1"}) {
    const auto config = load_config("", {"WAYBILL_DATABASE_EMBEDDED=pg", "WAYBILL_AUTH=none", "WAYBILL_LISTEN=" + address});
    ASSERT_TRUE(config) << address << "\n" << joined(config.error());
    EXPECT_TRUE(config->auth_none);
    EXPECT_TRUE(config->listen.is_loopback());
  }
}

TEST(Configuration, ReadsTheRulesOfTheAddressGuardFromTheFileAndFromVariables) {  // N7
  const auto entry = [](const char* text) { return *parse_egress_exception(text); };
  const WrittenFile file(
      "database: { embedded: pg }\negress: { allow: [\"127.0.0.1/32:8025\", 10.1.0.0/16, \"[::1]/128:80\"], guard: strict }\n");
  const auto written = loaded(file).egress;
  EXPECT_EQ(written.guard, EgressGuard::strict);
  EXPECT_EQ(written.allow, (std::vector{entry("127.0.0.1:8025"), entry("10.1.0.0/16"), entry("[::1]:80")}));
  const auto set = loaded(file, {"WAYBILL_EGRESS_ALLOW=10.2.0.0/16:443, ::1", "WAYBILL_EGRESS_GUARD=off"}).egress;
  EXPECT_EQ(set.guard, EgressGuard::off);
  EXPECT_EQ(set.allow, (std::vector{entry("10.2.0.0/16:443"), entry("::1")}));
  EXPECT_TRUE(loaded(file, {"WAYBILL_EGRESS_ALLOW="}).egress.allow.empty());
}

TEST(Configuration, ReadsWhatIsDeniedLikeWhatIsAllowed) {  // S12
  const auto entry = [](const char* text) { return *parse_egress_exception(text); };
  const WrittenFile file("database: { embedded: pg }\negress: { deny: [\"10.1.0.0/16:443\", fd00::/8] }\n");
  EXPECT_EQ(loaded(file).egress.deny, (std::vector{entry("10.1.0.0/16:443"), entry("fd00::/8")}));
  EXPECT_EQ(loaded(file, {"WAYBILL_EGRESS_DENY=10.2.0.0/16"}).egress.deny, std::vector{entry("10.2.0.0/16")});
  EXPECT_TRUE(loaded(file).egress.allow.empty());
}

TEST(Configuration, ReadsHowASendersConnectionsAreSecuredAndKeepsItFromThePlugin) {  // S11 S12
  const WrittenFile file(
      "database: { embedded: pg }\nsenders:\n  webhook: { timeout_ms: 5, ca_file: tls/ca.pem, client_certificate: /me.pem, "
      "client_key: \"{secret:key}\", tls_min: 1.3, insecure: true }\n  email_raw: { from: a@x.test, tls: never }\n  sms: {}\n");
  const auto config = loaded(file);
  EXPECT_EQ(config.senders.at("webhook"), R"({"timeout_ms":5})");
  const auto& rules = config.transports.at("webhook");
  EXPECT_EQ(rules.ca_file, config.file.parent_path() / "tls/ca.pem");
  EXPECT_EQ(rules.client_certificate, "/me.pem");
  EXPECT_EQ(key_secret(rules), "key");
  EXPECT_EQ(rules.tls_min, TlsVersion::v1_3);
  EXPECT_TRUE(rules.insecure);
  EXPECT_FALSE(rules.unverified_login);
  EXPECT_TRUE(config.transports.at("email_raw").unverified_login);
  EXPECT_EQ(config.senders.at("email_raw"), R"({"from":"a@x.test","tls":"never"})");
  EXPECT_FALSE(config.transports.contains("sms"));
  const auto replaced = loaded(file, {R"(WAYBILL_SENDERS_WEBHOOK={"timeout_ms": 6})"});
  EXPECT_FALSE(replaced.transports.contains("webhook")) << "a variable replaces the whole entry";
}

TEST(Configuration, ReadsWhichSecretsASendersPluginMayReadAndKeepsTheListFromIt) {  // D8
  const WrittenFile file(
      "database: { embedded: pg }\nsecrets: { redis: { env: R }, b: { env: B } }\nsenders: { queue: { size: 1, secrets: [redis, "
      "b] } }\n");
  const auto config = loaded(file);
  EXPECT_EQ(config.senders.at("queue"), R"({"size":1})");
  EXPECT_EQ(config.readable_secrets.at("queue"), (std::set<std::string, std::less<>>{"b", "redis"}));
  EXPECT_FALSE(loaded(file, {"WAYBILL_SENDERS_QUEUE={size: 2}"}).readable_secrets.contains("queue"));
}

TEST(Configuration, ReadsOAuth2Clients) {  // D8
  const WrittenFile file(
      "database: { embedded: pg }\nsecrets: { s: { env: S } }\noauth2:\n  crm: { token_url: \"https://id.test/t\", client_id: "
      "me, "
      "client_secret: s, credentials: body, scope: a b, audience: c, ca_file: ca.pem }\n  robot: { service_account: s, subject: "
      "ann }\n");
  const auto config = loaded(file);
  const auto& crm = config.oauth2.at("crm");
  EXPECT_EQ(crm.token_url, "https://id.test/t");
  EXPECT_EQ(crm.client_id, "me");
  EXPECT_EQ(crm.client_secret, "s");
  EXPECT_TRUE(crm.secret_in_body);
  EXPECT_EQ(crm.scope, "a b");
  EXPECT_EQ(crm.audience, "c");
  EXPECT_EQ(crm.transport.ca_file, config.file.parent_path() / "ca.pem");
  EXPECT_EQ(crm.line, 4);
  EXPECT_EQ(config.oauth2.at("robot").service_account, "s");
  EXPECT_EQ(config.oauth2.at("robot").subject, "ann");
}

TEST(Configuration, NamesWhatIsWrongWithSecretsThatAreNamed) {  // D8
  const auto problem = [](const std::string& entry) {
    const WrittenFile file("database: { embedded: pg }\nsecrets: { s: { env: S } }\n" + entry + "\n");
    const auto config = load_config(file.path(), {});
    if (config) return std::string("none");
    EXPECT_EQ(config.error().size(), 1u);
    EXPECT_EQ(config.error().front().line, 3);
    return config.error().front().field + ": " + config.error().front().message;
  };
  EXPECT_EQ(problem("senders: { queue: { secrets: [other] } }"),
            "senders.queue: secrets: \"other\": there is no secret of this name under secrets");
  EXPECT_EQ(problem("oauth2: { a: { token_url: x, client_id: y, client_secret: other } }"),
            "oauth2.a: client_secret: there is no secret of this name under secrets");
  EXPECT_EQ(problem("oauth2: { a: { service_account: other } }"),
            "oauth2.a: service_account: there is no secret of this name under secrets");
  EXPECT_EQ(problem("oauth2: { a: { token_url: x, client_secret: s } }"), "oauth2.a: client_id is missing");
  EXPECT_EQ(problem("oauth2: { a: { service_account: s, client_id: y } }"),
            "oauth2.a: has service_account as well as client_id or client_secret: keep one of the two");
  EXPECT_EQ(problem("oauth2: { a: { service_account: s, scopes: y } }").substr(0, 34), "oauth2.a.scopes: unknown key (know");
}

TEST(Configuration, LeavesForeignVariablesAlone) {
  EXPECT_TRUE(load_config("", {"WAYBILL_DATABASE_EMBEDDED=pg", "WAYBILL_CONFIG=x", "WAYBILL_TEST_PG=x", "WAYBILL_BENCH_N=1",
                               "WAYBILL_SECRET_ORDERS=x", "OTHER_WAYBILL_X=1", "WAYBILL_NONSENSE"}));
}

TEST(Configuration, NeverRepeatsASecretOrADatabasesPassword) {
  const WrittenFile file(
      "database: { url: \"mysql://u:hunter2@h/d\" }\nsecrets: { a: hunter2, b: [hunter2], c: { env: \"hunter2 \" } }\n");
  const auto config =
      load_config(file.path(), {"WAYBILL_SECRETS_D=hunter2", "WAYBILL_SECRETS_E={env: [hunter2", "WAYBILL_DATABASE_EMBEDDED="});
  ASSERT_FALSE(config);
  EXPECT_GE(config.error().size(), 7u) << joined(config.error());
  EXPECT_EQ(joined(config.error()).find("hunter2"), std::string::npos) << joined(config.error());
}

TEST(Configuration, SurvivesEveryCutAndEveryMissingByteOfAFile) {
  const std::string example = kExample;
  const WrittenFile file("");
  for (std::size_t at = 0; at < example.size(); ++at) {
    for (const auto& text : {example.substr(0, at), std::string(example).erase(at, 1)}) {
      std::filesystem::remove(file.path());  // some file systems write a shortened file through to the disk
      std::ofstream(file.path(), std::ios::binary) << text;
      const auto config = load_config(file.path(), {});
      if (config) continue;
      ASSERT_FALSE(config.error().empty());
      for (const auto& problem : config.error()) ASSERT_FALSE(problem.message.empty() || problem.file.empty()) << at;
    }
  }
}

TEST(Configuration, MailKeepsItsSlowRetryUnlessItIsNamed) {  // E14
  const std::string head = "database: { url: host=db }\nretry:\n  default: { kind: fixed, delay: 7s }\n";
  const auto slow = loaded(WrittenFile(head));
  EXPECT_EQ(slow.retry_for("sms").delay, Seconds(7));
  EXPECT_EQ(slow.retry_for("email_raw"), timing_for(default_timings(), "email_raw"));
  EXPECT_EQ(slow.retry_for("email_template").kind, RetryTiming::Kind::exponential);
  const auto named = loaded(WrittenFile(head + "  email_raw: { kind: fixed, delay: 1m }\n"));
  EXPECT_EQ(named.retry_for("email_raw").delay, std::chrono::minutes(1));
  EXPECT_EQ(named.retry_for("email_template"), timing_for(default_timings(), "email_template"));
}

TEST(Configuration, ReadsWhatStagedJobsNeed) {  // J5 J7
  const std::string head = "database: { url: host=db, schema: queue }\n";
  const auto standard = loaded(WrittenFile(head));
  EXPECT_EQ(standard.failure_check.schedule, "0 9 * * *");
  EXPECT_EQ(standard.archive.failed_after, std::chrono::hours(30 * 24));
  EXPECT_EQ(standard.archive.delete_after, std::chrono::hours(7 * 24));
  EXPECT_EQ(standard.monitor_interval, Seconds(10));
  const auto ours = loaded(
      WrittenFile(head + "failure_check: { schedule: \"*/5 8-18 * * mon-fri\", time_zone: Europe/London, targets: [a, b] }\n"
                         "archive: { failed_after: 1d, completed_after: 0s }\nmonitor: { interval: 0s }\n"));
  EXPECT_EQ(ours.database.schema, "queue");
  EXPECT_EQ(ours.failure_check,
            (FailureCheckConfig{.schedule = "*/5 8-18 * * mon-fri", .time_zone = "Europe/London", .targets = {"a", "b"}}));
  EXPECT_EQ(ours.archive, (ArchiveConfig{.failed_after = std::chrono::hours(24), .completed_after = Millis{0}}));
  EXPECT_EQ(ours.monitor_interval, Millis{0});
  EXPECT_EQ(loaded(WrittenFile(head + "failure_check: { schedule: never }\n")).failure_check.schedule, "never");
}

}  // namespace
}  // namespace waybill
