// Every rule of the configuration, broken: the problem names file, line and field, and says what is allowed. [design 7]
#include <gtest/gtest.h>

#include "unit/config/written_file.h"

namespace waybill {
namespace {

using testing::joined;
using testing::WrittenFile;

struct Broken {
  const char* name;
  const char* text;
  int line;
  const char* field;
  const char* message;  // a part of it
};
void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

// Each text stands below the line "database: { embedded: pg }".
class BrokenFile : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenFile, IsRefusedWithLineFieldAndWhatIsAllowed) {
  const auto& broken = GetParam();
  const WrittenFile file(std::string("database: { embedded: pg }\n") + broken.text);
  const auto config = load_config(file.path(), {});
  ASSERT_FALSE(config);
  ASSERT_EQ(config.error().size(), 1u) << joined(config.error());
  const auto& problem = config.error().front();
  EXPECT_EQ(problem.file, file.path().string());
  EXPECT_EQ(problem.line, broken.line);
  EXPECT_EQ(problem.field, broken.field);
  EXPECT_NE(problem.message.find(broken.message), std::string::npos) << problem.message;
}

constexpr auto kAddress = "must be an address and a port, such as 127.0.0.1:8080";
constexpr auto kReference = "must be a reference, never the secret itself: {env: NAME}, {file: PATH} or {credential: NAME}";

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenFile,
    ::testing::Values(
        Broken{
            "UnknownKey", "\nlisten_on: x\n", 3, "listen_on",
            "unknown key (known here: listen, auth, allowed_hosts, trusted_proxies, tls, metrics, tracing, database, registry"},
        Broken{"TracingWithoutAUrl", "tracing:\n  endpoint: collector:4318\n", 3, "tracing.endpoint",
               "must be the URL of a collector, such as http://collector:4318/v1/traces"},
        Broken{"TracingRatio", "tracing: { ratio: 1.5 }\n", 2, "tracing.ratio", "must be a number from 0 to 1"},
        Broken{"TracingHeaders", "tracing: { headers: [a] }\n", 2, "tracing.headers", "Authorization"},
        Broken{"UnknownKeyInASection", "limits:\n  per_target: 1\n  per_traget: 1\n", 4, "limits.per_traget",
               "unknown key (known here: in_flight, per_target, per_org"},
        Broken{"DuplicateKey", "auth: tokens\nauth: tokens\n", 3, "auth", "a second time"},
        Broken{"DuplicateNestedKey", "senders:\n  sms:\n    a: 1\n    a: 2\n", 5, "senders.sms.a", "a second time"},
        Broken{"MalformedYaml", "limits: {\n  a: ]\n", 3, "", "not valid YAML: "},
        Broken{"Schedule", "failure_check:\n  schedule: 0 25 * * *\n", 3, "failure_check.schedule",
               "hour \"25\": must be from 0 to 23"},
        Broken{"TimeZone", "failure_check: { time_zone: Europe/Lundon }\n", 2, "failure_check.time_zone",
               "\"Europe/Lundon\" is no time zone of this machine"},
        Broken{"CheckedTargets", "failure_check: { targets: { a: b } }\n", 2, "failure_check.targets",
               "must be a list of targets"},
        Broken{"Tab", "limits:\n\tin_flight: 1\n", 3, "", "the line is indented with a tab; indent with spaces"},  // D11
        Broken{"TabBehindSpaces", "limits:\n  \tin_flight: 1\n  per_org: 2\n", 3, "", "indented with a tab"},
        Broken{"MisspeltKey", "limits:\n  per_traget: 1\n", 3, "limits.per_traget", "; did you mean \"per_target\"?"},  // D11
        Broken{"KeyOfAnotherSection", "per_target: 1\n", 2, "per_target", "; did you mean limits.per_target?"},
        Broken{"MisspeltSection", "databse: { migrate: false }\n", 2, "databse", "; did you mean \"database\"?"},
        Broken{"MisspeltRetryField", "retry:\n  sms: { kind: fixed, dealy: 1s }\n", 3, "retry.sms.dealy",
               "; did you mean \"delay\"?"},
        Broken{"Alias", "senders: { sms: { a: &x 1, b: *x } }\n", 2, "", "aliases (*name) are not allowed"},
        Broken{"Tag", "auth: !secret none\n", 2, "", "tags (!name) are not allowed"},
        Broken{"SecondDocument", "---\nauth: none\n", 3, "", "a second document is not allowed"},
        Broken{"KeyThatIsNoWord", "? [a]\n: 1\n", 2, "", "a key must be a word"},
        Broken{"OpenBrace", "limits: { in_flight: 1\n", 3, "", "not valid YAML: end of map flow not found"},
        Broken{"TooDeep", "senders: { sms: { a: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]] } }\n", 2, "",
               "nested deeper than 32 levels"},
        Broken{"SectionThatIsNoMapping", "limits: 5\n", 2, "limits", "must be a mapping (keys here: in_flight, "},
        Broken{"EgressRangeWithBitsBehindItsPrefix", "egress:\n  allow:\n    - 10.0.0.0/8\n    - 10.1.2.3/16\n", 5,
               "egress.allow[1]",
               "\"10.1.2.3/16\" is no range of addresses: write an address or a network with its prefix (no bit set behind it)"},
        Broken{"EgressName", "egress: { allow: [localhost] }\n", 2, "egress.allow[0]", "\"localhost\" is no range"},
        Broken{"EgressBadPort", "egress: { allow: [\"10.0.0.0/8:0\"] }\n", 2, "egress.allow[0]", "\"10.0.0.0/8:0\" is no range"},
        Broken{"EgressEntryThatIsAList", "egress: { allow: [[10.0.0.0/8]] }\n", 2, "egress.allow[0]", "must be an address"},
        Broken{"EgressAllowThatIsAMapping", "egress: { allow: { a: b } }\n", 2, "egress.allow", "must be a list of ranges"},
        Broken{"EgressDeny", "egress: { deny: [localhost] }\n", 2, "egress.deny[0]", "\"localhost\" is no range"},  // S12
        Broken{"SenderTls", "senders: { sms: { tls_min: 1.1 } }\n", 2, "senders.sms.tls_min", "must be \"1.2\" or \"1.3\""},
        Broken{"SenderCaFile", "senders: { sms: { ca_file: [a] } }\n", 2, "senders.sms.ca_file",
               "must be the path of a PEM file"},
        Broken{"SenderInsecure", "senders: { sms: { insecure: \"true\" } }\n", 2, "senders.sms.insecure",
               "must be true or false"},
        Broken{"EgressGuard", "egress: { guard: lenient }\n", 2, "egress.guard", "one of standard, strict, off"},
        Broken{"ListenWithoutPort", "listen: localhost\n", 2, "listen", kAddress},
        Broken{"ListenWithoutHost", "listen: \":80\"\n", 2, "listen", kAddress},
        Broken{"ListenWithBareIpv6", "listen: \"::1:80\"\n", 2, "listen", kAddress},
        Broken{"ListenWithBadIpv6", "listen: \"[::1::]:80\"\n", 2, "listen", kAddress},
        Broken{"ListenWithWordAsPort", "listen: localhost:http\n", 2, "listen", kAddress},
        Broken{"ListenWithTooLargePort", "listen: localhost:65536\n", 2, "listen", "the port must be from 0 to 65535"},
        Broken{"ListenEmpty", "listen:\n", 2, "listen", kAddress},
        Broken{"AuthWord", "auth: basic\n", 2, "auth", "must be one of tokens, none, not \"basic\""},
        Broken{"AuthNoneInTheOpen", "listen: 0.0.0.0:80\nauth: none\n", 3, "auth", "only allowed on a loopback address"},
        Broken{"AuthNoneOnAName", "auth: none\nlisten: example.org:80\n", 2, "auth", "only allowed on a loopback address"},
        Broken{"PathEmpty", "registry: \"\"\n", 2, "registry", "must be a path, not \"\""},
        Broken{"PathThatIsAList", "registry: [a]\n", 2, "registry", "must be a path, not a list"},
        Broken{"SenderThatIsAWord", "senders:\n  sms: fast\n", 3, "senders.sms",
               "must be a mapping such as { timeout_ms: 10000 }"},
        Broken{"SenderName", "senders:\n  SMS: {}\n", 3, "senders.SMS", "no name of an action type"},
        Broken{"SecretName", "secrets:\n  a b: { env: A }\n", 3, "secrets.a b", "no name of a secret"},
        Broken{"SecretValue", "secrets:\n  a: s3cret\n", 3, "secrets.a", kReference},
        Broken{"SecretWithBoth", "secrets:\n  a: { env: A, file: b }\n", 3, "secrets.a", kReference},
        Broken{"SecretWithUnknownSource", "secrets:\n  a: { vault: A }\n", 3, "secrets.a.vault",
               "unknown key (known here: env, file, credential, last)"},
        Broken{"SecretWithLastOnly", "secrets:\n  a: { last: 36 }\n", 3, "secrets.a", kReference},
        Broken{"SecretWithNoBytes", "secrets:\n  a: { env: A, last: 0 }\n", 3, "secrets.a.last", "from 1 to 65536"},
        Broken{"SecretVariable", "secrets:\n  a: { env: 1A }\n", 3, "secrets.a.env", "not a digit first"},
        Broken{"SecretFileEmpty", "secrets:\n  a: { file: }\n", 3, "secrets.a.file", "must be a path"},
        Broken{"SecretCredential", "secrets:\n  a: { credential: ../b }\n", 3, "secrets.a.credential",
               "no path, no blank, no colon"},
        Broken{"SecretListEmpty", "secrets:\n  a: []\n", 3, "secrets.a", "one to five references"},
        Broken{"SecretInAList", "secrets:\n  a:\n    - { env: A }\n    - oops\n", 5, "secrets.a[1]", kReference},
        Broken{"RetryName", "retry:\n  Web: {}\n", 3, "retry.Web", "no name of an action type"},
        Broken{"RetryThatIsAWord", "retry:\n  default: 5s\n", 3, "retry.default",
               "must be a mapping such as { kind: fixed, delay: 5s }"},
        Broken{"RetryWithoutKind", "retry:\n  default: { delay: 5s }\n", 3, "retry.default",
               "kind is missing: one of fixed, exponential"},
        Broken{"RetryKind", "retry:\n  default: { kind: linear }\n", 3, "retry.default.kind",
               "must be one of fixed, exponential"},
        Broken{"RetryUnknownKey", "retry:\n  default: { kind: fixed, tries: 3 }\n", 3, "retry.default.tries",
               "known here: kind, delay"},
        Broken{"RetryBareDelay", "retry:\n  default:\n    kind: fixed\n    delay: 5\n", 5, "retry.default.delay",
               "must be a duration from 1ms to 1d, a whole number with its unit ms, s, m, h or d, not \"5\""},
        Broken{"RetryFactorOfFixed", "retry:\n  default: { kind: fixed, factor: 2 }\n", 3, "retry.default.factor",
               "only for kind: expo"},
        Broken{"RetryFactor", "retry:\n  sms: { kind: exponential, factor: 0.5 }\n", 3, "retry.sms.factor",
               "a number from 1 to 100"},
        Broken{"RetryFactorNan", "retry:\n  sms: { kind: exponential, factor: nan }\n", 3, "retry.sms.factor",
               "a number from 1 to 100"},
        Broken{"RetryJitterTurned", "retry:\n  sms: { kind: fixed, jitter: [2, 1] }\n", 3, "retry.sms.jitter", "the lower first"},
        Broken{"RetryJitterWord", "retry:\n  sms: { kind: fixed, jitter: [a, 1] }\n", 3, "retry.sms.jitter[0]",
               "a number from 0 to 10"},
        Broken{"RetryJitterShort", "retry:\n  sms: { kind: fixed, jitter: [1] }\n", 3, "retry.sms.jitter",
               "two numbers from 0 to 10"},
        Broken{"RetryDelayAboveItsCap", "retry:\n  sms: { kind: fixed, delay: 2h }\n", 3, "retry.sms",
               "delay (2h) is longer than max_delay (1h)"},
        Broken{"CountOfZero", "limits:\n  in_flight: 0\n", 3, "limits.in_flight", "a whole number from 1 to 1000000, not \"0\""},
        Broken{"CountTooLarge", "limits:\n  in_flight: 1000001\n", 3, "limits.in_flight", "a whole number from 1 to 1000000"},
        Broken{"CountNegative", "limits:\n  in_flight: -1\n", 3, "limits.in_flight", "a whole number"},
        Broken{"CountWithAFraction", "limits:\n  in_flight: 1.5\n", 3, "limits.in_flight", "a whole number"},
        Broken{"CountOverflowing", "limits:\n  in_flight: 99999999999999999999999\n", 3, "limits.in_flight", "a whole number"},
        Broken{"CountInQuotes", "limits:\n  in_flight: \"5\"\n", 3, "limits.in_flight", "a whole number"},
        Broken{"CountMissing", "limits:\n  in_flight:\n", 3, "limits.in_flight", "a whole number from 1 to 1000000, not empty"},
        Broken{"BareDuration", "timeouts:\n  poll: 500\n", 3, "timeouts.poll",
               "must be a duration from 10ms to 1h, a whole number with its unit ms, s, m, h or d, not \"500\""},
        Broken{"DurationWithAFraction", "timeouts:\n  poll: 1.5s\n", 3, "timeouts.poll", "must be a duration"},
        Broken{"DurationUnit", "timeouts:\n  poll: 5min\n", 3, "timeouts.poll", "must be a duration"},
        Broken{"DurationTooShort", "timeouts:\n  poll: 9ms\n", 3, "timeouts.poll", "from 10ms to 1h"},
        Broken{"DurationOverflowing", "timeouts:\n  poll: 8825400613783079d\n", 3, "timeouts.poll", "must be a duration"},
        Broken{"LeaseTooShort", "timeouts:\n  attempt: 40s\n  lease: 42s\n", 4, "timeouts.lease",
               "must be longer than attempt + attempt_grace + 1s, which is 42s, not 42s"},
        Broken{"AttemptTooLongForTheDefaultLease", "timeouts:\n  attempt: 5m\n", 0, "timeouts.lease", "which is 302s, not 1m"},
        Broken{"LogLevel", "log: { level: verbose }\n", 2, "log.level",
               "must be one of debug, info, warn, error, not \"verbose\""},
        Broken{"LogFormat", "log: { format: xml }\n", 2, "log.format",
               "must be one of auto, json, pretty, journal, not \"xml\""}),
    [](const auto& instance) { return instance.param.name; });

class BrokenDatabaseSection : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenDatabaseSection, IsRefused) {
  const auto& broken = GetParam();
  const WrittenFile file(broken.text);
  const auto config = load_config(file.path(), {});
  ASSERT_FALSE(config);
  ASSERT_EQ(config.error().size(), 1u) << joined(config.error());
  EXPECT_EQ(config.error().front().line, broken.line);
  EXPECT_EQ(config.error().front().field, broken.field);
  EXPECT_NE(config.error().front().message.find(broken.message), std::string::npos) << config.error().front().message;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenDatabaseSection,
    ::testing::Values(
        Broken{"NotSet", "auth: tokens\n", 0, "database", "give database.url (WAYBILL_DATABASE_URL)"},
        Broken{"EmptyFile", "# nothing\n", 0, "database", "or database.embedded (WAYBILL_DATABASE_EMBEDDED)"},
        Broken{"BothSet", "database:\n  url: postgresql:///w\n  embedded: pg\n", 3, "database.embedded",
               "database.url is set as well (line 2): keep exactly one of the two"},
        Broken{"OtherScheme", "database: { url: \"mysql://x/y=z\" }\n", 1, "database.url", "must be postgresql://"},
        Broken{"UrlIsAList", "database: { url: [a] }\n", 1, "database.url", "must be postgresql://"},
        Broken{"OwnerScheme", "database: { url: \"host=x\", owner_url: \"http://x\" }\n", 1, "database.owner_url",
               "must be postgresql://"},
        Broken{"OwnerOfAPrivateServer", "database: { embedded: pg, owner_url: \"host=x\" }\n", 1, "database.owner_url",
               "needs database.url"},
        Broken{"SchemaName", "database: { embedded: pg, schema: Way-bill }\n", 1, "database.schema", "a lower-case letter or _"},
        Broken{"SchemaOfTheSystem", "database: { embedded: pg, schema: pg_x }\n", 1, "database.schema", "not pg_..."},
        Broken{"SchemaWithDigitFirst", "database: { embedded: pg, schema: 1a }\n", 1, "database.schema", "a lower-case letter"},
        Broken{"MigrateWord", "database: { embedded: pg, migrate: yes }\n", 1, "database.migrate", "must be true or false, not"},
        Broken{"NoMapping", "- a\n- b\n", 1, "", "must be a mapping of keys to values"}),
    [](const auto& instance) { return instance.param.name; });

struct BrokenVariable {
  const char* name;
  const char* entry;
  const char* field;
  const char* message;
};
void PrintTo(const BrokenVariable& broken, std::ostream* out) { *out << broken.name; }
class BrokenEnvironment : public ::testing::TestWithParam<BrokenVariable> {};

TEST_P(BrokenEnvironment, IsRefusedWithTheVariablesName) {
  const auto& broken = GetParam();
  const auto config = load_config("", {"WAYBILL_DATABASE_EMBEDDED=pg", broken.entry});
  ASSERT_FALSE(config);
  ASSERT_EQ(config.error().size(), 1u) << joined(config.error());
  EXPECT_EQ(config.error().front().file, "");
  EXPECT_EQ(config.error().front().line, 0);
  EXPECT_EQ(config.error().front().field, broken.field);
  EXPECT_NE(config.error().front().message.find(broken.message), std::string::npos) << config.error().front().message;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenEnvironment,
    ::testing::Values(
        BrokenVariable{"UnknownName", "WAYBILL_LISTEN_ON=x", "WAYBILL_LISTEN_ON", "no key has this name"},
        BrokenVariable{"UnknownLimit", "WAYBILL_LIMITS_PER_TRAGET=1", "WAYBILL_LIMITS_PER_TRAGET",
                       "such as WAYBILL_LIMITS_PER_TARGET"},
        BrokenVariable{"SectionWithoutName", "WAYBILL_SENDERS_={}", "WAYBILL_SENDERS_", "no key has this name"},
        BrokenVariable{"WholeSection", "WAYBILL_SENDERS={}", "WAYBILL_SENDERS", "no key has this name"},
        BrokenVariable{"BothDatabases", "WAYBILL_DATABASE_URL=postgresql:///w", "WAYBILL_DATABASE_EMBEDDED", "keep exactly one"},
        BrokenVariable{"Count", "WAYBILL_LIMITS_PER_TARGET=many", "WAYBILL_LIMITS_PER_TARGET", "a whole number from 1 to"},
        BrokenVariable{"Duration", "WAYBILL_TIMEOUTS_POLL=5", "WAYBILL_TIMEOUTS_POLL",
                       "with its unit ms, s, m, h or d, not \"5\""},
        BrokenVariable{"EmptyValue", "WAYBILL_LOG_LEVEL=", "WAYBILL_LOG_LEVEL", "must be one of debug"},
        BrokenVariable{"SenderWord", "WAYBILL_SENDERS_SMS=fast", "WAYBILL_SENDERS_SMS", "must be a mapping"},
        BrokenVariable{"SenderMalformed", "WAYBILL_SENDERS_SMS={\"a\": [1", "WAYBILL_SENDERS_SMS", "left open?"},
        BrokenVariable{"SenderDuplicate", "WAYBILL_SENDERS_SMS={a: 1, a: 2}", "WAYBILL_SENDERS_SMS.a", "a second time"},
        BrokenVariable{"RetryDelay", "WAYBILL_RETRY_DEFAULT={kind: fixed, delay: 5}", "WAYBILL_RETRY_DEFAULT.delay",
                       "a duration"},
        BrokenVariable{"Lease", "WAYBILL_TIMEOUTS_LEASE=12s", "WAYBILL_TIMEOUTS_LEASE", "which is 12s, not 12s"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Problem, ReadsAsOneLineWithWhatIsKnownOfItsPlace) {
  EXPECT_EQ(to_string(Problem{"f.yaml", 12, "a.b", "is bad"}), "f.yaml:12: a.b: is bad");
  EXPECT_EQ(to_string(Problem{"f.yaml", 0, "", "is bad"}), "f.yaml: is bad");
  EXPECT_EQ(to_string(Problem{"", 3, "a", "is bad"}), "line 3: a: is bad");
  EXPECT_EQ(to_string(Problem{"", 0, "WAYBILL_A", "is bad"}), "WAYBILL_A: is bad");
  EXPECT_EQ(to_string(Problem{"", 0, "", "is bad"}), "is bad");
}

TEST(BrokenConfiguration, IsReportedWholeNotOnlyItsFirstProblem) {
  const WrittenFile file("auth: basic\nlimits: { in_flight: none, per_org: 0 }\nlog: { level: loud }\nplugin: x\n");
  const auto config = load_config(file.path(), {"WAYBILL_X=1"});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().size(), 7u) << joined(config.error());
}

TEST(BrokenConfiguration, FileThatIsNotThereIsNamed) {
  const WrittenFile file("");
  const auto missing = file.folder() / "other.yaml";
  const auto config = load_config(missing, {});
  ASSERT_FALSE(config);
  ASSERT_EQ(config.error().size(), 1u) << joined(config.error());
  EXPECT_EQ(to_string(config.error().front()), missing.string() + ": there is no such file");
}

TEST(BrokenConfiguration, FolderIsNoFile) {
  const WrittenFile file("");
  const auto config = load_config(file.folder(), {});
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().front().message.find("cannot be read: not a file"), std::string::npos);
}

TEST(BrokenConfiguration, FileTooLargeIsRefused) {
  const WrittenFile file(std::string((1 << 20) + 1, '#'));
  const auto config = load_config(file.path(), {});
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().front().message.find("larger than 1 MiB"), std::string::npos);
}

}  // namespace
}  // namespace waybill
