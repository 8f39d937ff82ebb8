// M13: every rule of targets.json, kept and broken, with the place that its message names.
#include <gtest/gtest.h>

#include "registry/registry.h"
#include "registry/targets_file.h"
#include "support/unseen.h"
#include "unit/registry/fake_action_types.h"

namespace waybill {
namespace {

using testing::FakeActionTypes;
using testing::joined;

// One target on lines of its own: a field can be replaced by another line, or left out.
std::string file_with(const std::string& field, const std::string& line) {
  const std::pair<const char*, const char*> fields[] = {{"submissionTarget", R"("submissionTarget": "sms.realtime")"},
                                                        {"gatewayType", R"("gatewayType": "sms")"},
                                                        {"gatewayUrl", R"("gatewayUrl": "http://localhost:8080")"},
                                                        {"policy", R"("policy": "deadline")"},
                                                        {"maxAcceptanceSeconds", R"("maxAcceptanceSeconds": 30)"},
                                                        {"terminalOutcomes", R"("terminalOutcomes": ["invalid_request"])"}};
  std::string text = "# one target\n{\"targets\": [ {";
  bool used = false, first = true;
  const auto add = [&](const std::string& one) {
    if (!one.empty()) text += (first ? "\n" : ",\n") + one;
    if (!one.empty()) first = false;
  };
  for (const auto& [name, usual] : fields) {
    used = used || name == field;
    add(name == field ? line : usual);
  }
  if (!used) add(line);
  return text + "\n}]}\n";
}

struct Broken {
  const char* name;
  const char* field;  // replaced (or added) by
  const char* line;   // this, or left out
  int at;
  const char* path;
  const char* message;
};
void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }
class BrokenTarget : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenTarget, IsRefusedWithFileLineFieldAndTarget) {
  const auto& broken = GetParam();
  const auto targets = read_targets(file_with(broken.field, broken.line), "r/targets.json", FakeActionTypes{});
  ASSERT_FALSE(targets);
  ASSERT_EQ(targets.error().size(), 1u) << joined(targets.error());
  const auto& problem = targets.error().front();
  EXPECT_EQ(problem.file, "r/targets.json");
  EXPECT_EQ(problem.line, broken.at);
  EXPECT_EQ(problem.field, broken.path);
  EXPECT_NE(problem.message.find(broken.message), std::string::npos) << problem.message;
  if (std::string(broken.field) != "submissionTarget") {
    EXPECT_TRUE(problem.message.starts_with("target \"sms.realtime\": ")) << problem.message;
  }
}

constexpr auto kUrlShape = "must be an http or https URL with a host, such as http://localhost:8080";

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenTarget,
    ::testing::Values(
        Broken{"CaFileNumber", "ca_file", R"("ca_file": 10)", 9, "targets[0].ca_file", "must be the path of a PEM file"},  // S12
        Broken{"KeySecret", "client_key", R"("client_key": "{secret:")", 9, "targets[0].client_key", "{secret:NAME}"},
        Broken{"TlsOld", "tls_min", R"("tls_min": "1.1")", 9, "targets[0].tls_min", "must be \"1.2\" or \"1.3\""},
        Broken{"InsecureText", "insecure", R"("insecure": "yes")", 9, "targets[0].insecure", "must be true or false"},  // S11
        Broken{"PortTooHigh", "gatewayUrl", R"("gatewayUrl": "http://localhost:99999")", 5, "targets[0].gatewayUrl",
               "its port must be from 1 to 65535"},
        Broken{"PortThatComesRound", "gatewayUrl", R"("gatewayUrl": "http://localhost:65616/x")", 5, "targets[0].gatewayUrl",
               "its port must be from 1 to 65535"},
        Broken{"CountOutagesWord", "countOutages", R"("countOutages": "yes")", 9, "targets[0].countOutages",
               "true or false"},                                                                     // T14
        Broken{"RateNumber", "rate", R"("rate": 10)", 9, "targets[0].rate", "must be a count"},      // E14
        Broken{"TimeoutNumber", "timeout", R"("timeout": 30)", 9, "targets[0].timeout", "\"30s\""},  // T25
        Broken{"TimeoutTooLong", "timeout", R"("timeout": "2h")", 9, "targets[0].timeout", "from 10ms to 1h"},
        Broken{"RateWord", "rate", R"("rate": "fast")", 9, "targets[0].rate", "\"10/s\""},
        Broken{"RateZero", "rate", R"("rate": "0/s")", 9, "targets[0].rate", "from 1 to 100000"},
        Broken{"RateUnit", "rate", R"("rate": "10/d")", 9, "targets[0].rate", "a second, a minute or an hour"},
        Broken{"UnknownField", "x", R"("maxAtempts": 3)", 9, "targets[0].maxAtempts",
               "unknown field (known here: submissionTarget, "},
        Broken{"OddField", "x", R"("a b": 3)", 9, "targets[0][\"a b\"]", "unknown field"},
        Broken{"NameMissing", "submissionTarget", "", 2, "targets[0].submissionTarget", "is missing"},
        Broken{"NameEmpty", "submissionTarget", R"("submissionTarget": "")", 3, "targets[0].submissionTarget",
               "must not be empty"},
        Broken{"NameBlank", "submissionTarget", R"("submissionTarget": "  ")", 3, "targets[0].submissionTarget",
               "must not be empty"},
        Broken{"NameNumber", "submissionTarget", R"("submissionTarget": 7)", 3, "targets[0].submissionTarget",
               "must be a string"},
        Broken{"NameTab", "submissionTarget", R"("submissionTarget": "a\tb")", 3, "targets[0].submissionTarget",
               "target \"a\\tb\": must not hold control characters"},
        Broken{"NameNul", "submissionTarget", R"("submissionTarget": "a\u0000")", 3, "targets[0].submissionTarget", "control"},
        Broken{"NameC1", "submissionTarget", R"("submissionTarget": "a\u0085")", 3, "targets[0].submissionTarget", "control"},
        Broken{"TypeMissing", "gatewayType", "", 2, "targets[0].gatewayType",
               "is missing: the action type (loaded: push, sms, webhook)"},
        Broken{"TypeUnknown", "gatewayType", R"("gatewayType": "smss")", 4, "targets[0].gatewayType",
               "unknown action type \"smss\" (loaded: push, sms, webhook)"},
        Broken{"TypeNull", "gatewayType", R"("gatewayType": null)", 4, "targets[0].gatewayType", "must be a string"},
        Broken{"UrlMissing", "gatewayUrl", "", 2, "targets[0].gatewayUrl", "is missing"},
        Broken{"UrlEmpty", "gatewayUrl", R"("gatewayUrl": "")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlScheme", "gatewayUrl", R"("gatewayUrl": "ftp://localhost")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlNoScheme", "gatewayUrl", R"("gatewayUrl": "localhost:8080")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlRelative", "gatewayUrl", R"("gatewayUrl": "/sms")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlNoHost", "gatewayUrl", R"("gatewayUrl": "http:///sms")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlPortOnly", "gatewayUrl", R"("gatewayUrl": "http://:80")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlNoSlashes", "gatewayUrl", R"("gatewayUrl": "http:localhost")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlBlank", "gatewayUrl", R"("gatewayUrl": "http://local host")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlNul", "gatewayUrl", R"("gatewayUrl": "http://a\u0000b")", 5, "targets[0].gatewayUrl", kUrlShape},
        Broken{"UrlPort", "gatewayUrl", R"("gatewayUrl": "http://localhost:65536")", 5, "targets[0].gatewayUrl",
               "its port must be"},
        Broken{"UrlPortZero", "gatewayUrl", R"("gatewayUrl": "http://localhost:0")", 5, "targets[0].gatewayUrl",
               "its port must be"},
        Broken{"UrlUser", "gatewayUrl", R"("gatewayUrl": "http://u:p@localhost")", 5, "targets[0].gatewayUrl",
               "user or password"},
        Broken{"UrlFragment", "gatewayUrl", R"("gatewayUrl": "http://localhost/#a")", 5, "targets[0].gatewayUrl", "a fragment"},
        Broken{"UrlOddHost", "gatewayUrl", R"("gatewayUrl": "http://a%2Eb/")", 5, "targets[0].gatewayUrl",
               "its host must consist of"},
        Broken{"UrlNumber", "gatewayUrl", R"("gatewayUrl": 1)", 5, "targets[0].gatewayUrl", "must be a string"},
        Broken{"PolicyMissing", "policy", "", 2, "targets[0].policy", "is missing: one of deadline, max_attempts, one_shot"},
        Broken{"PolicyUnknown", "policy", R"("policy": "sometimes")", 6, "targets[0].policy",
               "target \"sms.realtime\": unknown policy \"sometimes\" (one of deadline, max_attempts, one_shot)"},
        Broken{"PolicyList", "policy", R"("policy": [])", 6, "targets[0].policy", "must be a string"},
        Broken{"SecondsMissing", "maxAcceptanceSeconds", "", 2, "targets[0].maxAcceptanceSeconds",
               "is missing: policy deadline needs a whole number from 1 to 31536000"},
        Broken{"SecondsZero", "maxAcceptanceSeconds", R"("maxAcceptanceSeconds": 0)", 7, "targets[0].maxAcceptanceSeconds",
               "must be a whole number from 1 to 31536000"},
        Broken{"SecondsNegative", "maxAcceptanceSeconds", R"("maxAcceptanceSeconds": -30)", 7, "targets[0].maxAcceptanceSeconds",
               "must be a whole number"},
        Broken{"SecondsMany", "maxAcceptanceSeconds", R"("maxAcceptanceSeconds": 31536001)", 7, "targets[0].maxAcceptanceSeconds",
               "must be a whole number"},
        Broken{"SecondsHuge", "maxAcceptanceSeconds", R"("maxAcceptanceSeconds": 18446744073709551617)", 7,
               "targets[0].maxAcceptanceSeconds", "must be a whole number"},
        Broken{"SecondsFraction", "maxAcceptanceSeconds", R"("maxAcceptanceSeconds": 30.5)", 7, "targets[0].maxAcceptanceSeconds",
               "must be a whole number"},
        Broken{"SecondsText", "maxAcceptanceSeconds", R"("maxAcceptanceSeconds": "30")", 7, "targets[0].maxAcceptanceSeconds",
               "must be a whole number"},
        Broken{"SecondsNull", "maxAcceptanceSeconds", R"("maxAcceptanceSeconds": null)", 7, "targets[0].maxAcceptanceSeconds",
               "must be a whole number"},
        Broken{"AttemptsWithDeadline", "x", R"("maxAttempts": 3)", 9, "targets[0].maxAttempts",
               "must be left out with policy deadline: it belongs to policy max_attempts"},
        Broken{"SecondsWithOneShot", "policy", R"("policy": "one_shot")", 7, "targets[0].maxAcceptanceSeconds",
               "must be left out with policy one_shot: it belongs to policy deadline"},
        Broken{"OutcomesMissing", "terminalOutcomes", "", 2, "targets[0].terminalOutcomes", "is missing"},
        Broken{"OutcomesText", "terminalOutcomes", R"("terminalOutcomes": "invalid_request")", 8, "targets[0].terminalOutcomes",
               "must be a list of strings"},
        Broken{"OutcomesEmpty", "terminalOutcomes", R"("terminalOutcomes": [])", 8, "targets[0].terminalOutcomes",
               "must not be empty"},
        Broken{"OutcomeEmpty", "terminalOutcomes", "\"terminalOutcomes\": [\n\"invalid_request\",\n\"\"]", 10,
               "targets[0].terminalOutcomes[1]", "must not be empty"},
        Broken{"OutcomeNumber", "terminalOutcomes", R"("terminalOutcomes": [1])", 8, "targets[0].terminalOutcomes[0]",
               "must be a string"},
        Broken{"OutcomeTwice", "terminalOutcomes", R"("terminalOutcomes": ["invalid_request", "invalid_request"])", 8,
               "targets[0].terminalOutcomes[1]", "\"invalid_request\" is listed twice"},
        Broken{"OutcomeAccepted", "terminalOutcomes", R"("terminalOutcomes": ["accepted"])", 8, "targets[0].terminalOutcomes[0]",
               "accepted is always an end and must not be listed"},
        Broken{"OutcomeOfAnotherType", "terminalOutcomes", R"("terminalOutcomes": ["unregistered_token"])", 8,
               "targets[0].terminalOutcomes[0]",
               "\"unregistered_token\" is no reason of action type sms (one of invalid_request, duplicate_reference, "
               "invalid_recipient, "
               "invalid_message, provider_failure)"},
        Broken{"DestinationText", "x", R"("destination": "orders")", 9, "targets[0].destination", "must be an object"},
        Broken{"DestinationUrl", "x", "\"destination\": {\n\"url\": \"http://x\"}", 10, "targets[0].destination.url",
               "gatewayUrl is it"}),
    [](const auto& instance) { return instance.param.name; });

// The whole file is `text`; the fake's types are loaded.
struct BrokenWhole {
  const char* name;
  std::string text;
  int line;
  const char* path;
  const char* message;
};
void PrintTo(const BrokenWhole& broken, std::ostream* out) { *out << broken.name; }
class BrokenTargetsFile : public ::testing::TestWithParam<BrokenWhole> {};

TEST_P(BrokenTargetsFile, IsRefused) {
  const auto& broken = GetParam();
  const auto targets = read_targets(broken.text, "t", FakeActionTypes{});
  ASSERT_FALSE(targets);
  ASSERT_EQ(targets.error().size(), 1u) << joined(targets.error());
  EXPECT_EQ(targets.error().front().line, broken.line);
  EXPECT_EQ(targets.error().front().field, broken.path);
  EXPECT_NE(targets.error().front().message.find(broken.message), std::string::npos) << targets.error().front().message;
}

TEST(TargetsFile, NoNameHoldsWhatIsNotSeen) {  // T32
  for (const auto& unseen : testing::kUnseen) {
    const auto targets = read_targets(
        file_with("submissionTarget", "\"submissionTarget\": \"a" + std::string(unseen.json) + "\""), "t", FakeActionTypes{});
    ASSERT_FALSE(targets) << unseen.json;
    EXPECT_NE(targets.error().front().message.find("must not hold control characters"), std::string::npos) << unseen.json;
  }
}

TEST(TargetsFile, NeedsNoTargetWhereThereAreChannels) {  // T32
  const auto none = read_targets(R"({"targets": []})", "t", FakeActionTypes{}, nullptr, nullptr, nullptr, EmptyTargets::allow);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
  EXPECT_FALSE(read_targets("{}", "t", FakeActionTypes{}, nullptr, nullptr, nullptr, EmptyTargets::allow)) << "it says so";
}

const std::string kWebhook =
    "{\"targets\": [{\"submissionTarget\": \"w\", \"gatewayType\": \"webhook\", \"policy\": \"one_shot\", \"terminalOutcomes\": "
    "[\"gone\"],\n";

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenTargetsFile,
    ::testing::Values(
        BrokenWhole{"NoObject", "\n[]", 2, "", "must be an object"},
        BrokenWhole{"NoTargets", "\n{\n}", 2, "targets", "is missing: the list of targets, at least one"},
        BrokenWhole{"TargetsEmpty", "{\n\"targets\": []}", 2, "targets", "must hold at least one target"},
        BrokenWhole{"TargetsEmptyButForChannels", "{\n\"targets\": []}", 2, "targets", "unless there are channels (notify.key"},
        BrokenWhole{"TargetsObject", "{\n\"targets\": {}}", 2, "targets", "must be a list of targets"},
        BrokenWhole{"TargetNumber", "{\"targets\": [\n1\n]}", 2, "targets[0]", "must be an object"},
        BrokenWhole{"UnknownField", file_with("", "").substr(0, 14) + "\n\"version\": 1, " + file_with("", "").substr(14), 3,
                    "version", "unknown field (known here: targets, $schema)"},
        BrokenWhole{"SchemaNumber", file_with("", "").substr(0, 14) + "\n\"$schema\": 1, " + file_with("", "").substr(14), 3,
                    "$schema", "must be a string"},
        BrokenWhole{"ForeignDestination", kWebhook + "\"gatewayUrl\": \"http://a\"}]}", 1, "targets[0].destination",
                    "target \"w\": secret is missing"},
        BrokenWhole{"ForeignUrl", kWebhook + "\"destination\": {\"secret\": \"a\"},\n\"gatewayUrl\": \"http://forbidden\"}]}", 3,
                    "targets[0].gatewayUrl", "target \"w\": this host is not allowed"},
        BrokenWhole{
            "ForeignHeader",
            kWebhook + "\"gatewayUrl\": \"http://a\", \"destination\": {\"secret\": \"a\",\n\"headers\": {\n\"X-A\": 1}}}]}", 4,
            "targets[0].destination.headers.X-A", "target \"w\": must be a string"},
        BrokenWhole{"ForeignElement",
                    kWebhook + "\"gatewayUrl\": \"http://a\", \"destination\": {\"secret\": \"a\",\n\"codes\": [1,\n2]}}]}", 4,
                    "targets[0].destination.codes[1]", "one is enough"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Targets, KeepWhatTheFileSays) {
  const auto targets = read_targets(file_with("", ""), "t", FakeActionTypes{});
  ASSERT_TRUE(targets) << joined(targets.error());
  const Contract expected{.target = "sms.realtime",
                          .action_type = "sms",
                          .url = "http://localhost:8080",
                          .destination = R"({"url":"http://localhost:8080"})",
                          .policy = Policy::deadline,
                          .max_acceptance = Seconds{30},
                          .max_attempts = 0,
                          .terminal_outcomes = {"invalid_request"},
                          .duplicate_reasons = {"duplicate_reference"}};
  EXPECT_EQ(targets->front(), expected);
}

TEST(Targets, MayHaveARate) {  // E14
  const auto with = read_targets(file_with("rate", R"("rate": "600/m")"), "r/targets.json", FakeActionTypes{});
  ASSERT_TRUE(with) << joined(with.error());
  EXPECT_EQ(with->at(0).rate, (Rate{600, std::chrono::minutes(1)}));
  const auto without = read_targets(file_with("", ""), "r/targets.json", FakeActionTypes{});
  ASSERT_TRUE(without) << joined(without.error());
  EXPECT_FALSE(without->at(0).rate);
}

TEST(Targets, MayHaveATimeLimitOfTheirOwn) {  // T25
  TimeLimits limits;
  const auto with =
      read_targets(file_with("timeout", R"("timeout": "30s")"), "r/targets.json", FakeActionTypes{}, nullptr, nullptr, &limits);
  ASSERT_TRUE(with) << joined(with.error());
  EXPECT_EQ(limits, (TimeLimits{{with->at(0).target, Seconds(30)}}));
  const Registry registry(*with, {}, {}, {}, {}, limits);
  EXPECT_EQ(registry.time_limit(with->at(0)), Millis(30'000));
  auto channel = with->at(0);
  channel.channel = "of somebody";
  EXPECT_FALSE(registry.time_limit(channel));
}

TEST(Targets, MaySayHowTheirConnectionsAreSecured) {  // S11 S12
  const auto text = file_with("ca_file", R"("ca_file": "tls/ca.pem", "client_certificate": "/etc/me.pem",
"client_key": "{secret:key}", "tls_min": 1.3, "insecure": true)");
  TargetTransports transports;
  const auto targets = read_targets(text, "r/targets.json", FakeActionTypes{}, nullptr, &transports);
  ASSERT_TRUE(targets) << joined(targets.error());
  ASSERT_EQ(transports.size(), 1u);
  const auto& [name, transport] = *transports.begin();
  EXPECT_EQ(name, "sms.realtime");
  EXPECT_EQ(transport.place, (Problem{"r/targets.json", 2, "targets[0]", ""}));
  ASSERT_TRUE(transport.rules);
  EXPECT_EQ(transport.rules->ca_file, "r/tls/ca.pem");
  EXPECT_EQ(transport.rules->client_certificate, "/etc/me.pem");
  EXPECT_EQ(key_secret(*transport.rules), "key");
  EXPECT_EQ(transport.rules->tls_min, TlsVersion::v1_3);
  EXPECT_TRUE(transport.rules->insecure);
  EXPECT_EQ(to_json(targets->front()), to_json(read_targets(file_with("", ""), "t", FakeActionTypes{})->front()))
      << "none of it is part of the contract that is stored";
  transports.clear();
  ASSERT_TRUE(read_targets(file_with("", ""), "t", FakeActionTypes{}, nullptr, &transports));
  EXPECT_FALSE(transports.at("sms.realtime").rules);
}

TEST(Targets, HandTheirFurtherFieldsToThePluginBesideTheUrl) {
  const auto targets = read_targets(kWebhook + R"("gatewayUrl": "https://[::1]:1/a?b=c", "destination":
    {"secret": "s", "n": [1, -2, 2.5, true, null, "\u00e9"], "o": {"b": 1, "a": {}}}}]})",
                                    "t", FakeActionTypes{});
  ASSERT_TRUE(targets) << joined(targets.error());
  EXPECT_EQ(
      targets->front().destination,
      "{\"n\":[1,-2,2.5,true,null,\"\xC3\xA9\"],\"o\":{\"a\":{},\"b\":1},\"secret\":\"s\",\"url\":\"https://[::1]:1/a?b=c\"}");
  EXPECT_EQ(targets->front().policy, Policy::one_shot);
}

TEST(Targets, MayReachTheirBounds) {
  const auto seconds =
      read_targets(file_with("maxAcceptanceSeconds", R"("maxAcceptanceSeconds": 31536000)"), "t", FakeActionTypes{});
  ASSERT_TRUE(seconds) << joined(seconds.error());
  EXPECT_EQ(seconds->front().max_acceptance, Seconds{31536000});
  auto text = file_with("policy", R"("policy": "max_attempts")");
  text.replace(text.find("maxAcceptanceSeconds\": 30"), 25, "maxAttempts\": 1000");
  const auto attempts = read_targets(text, "t", FakeActionTypes{});
  ASSERT_TRUE(attempts) << joined(attempts.error());
  EXPECT_EQ(attempts->front().max_attempts, 1000u);
  text.replace(text.find("1000"), 4, "1001");
  EXPECT_FALSE(read_targets(text, "t", FakeActionTypes{}));
}

TEST(Targets, MayHaveNamesOfUpToTwoHundredBytes) {
  const auto named = [](std::size_t length) {
    return file_with("submissionTarget", "\"submissionTarget\": \"" + std::string(length, 'n') + "\"");
  };
  EXPECT_TRUE(read_targets(named(200), "t", FakeActionTypes{}));
  const auto long_name = read_targets(named(201), "t", FakeActionTypes{});
  ASSERT_FALSE(long_name);
  EXPECT_NE(long_name.error().front().message.find("must not be longer than 200 bytes"), std::string::npos);
}

TEST(Targets, MustHaveDifferentNames) {
  const auto one = file_with("", "");
  const auto object = one.substr(one.find("{\n"), one.rfind("}]}") - one.find("{\n") + 1);
  const auto targets = read_targets("{\"targets\": [\n" + object + ",\n" + object + "]}", "t", FakeActionTypes{});
  ASSERT_FALSE(targets);
  ASSERT_EQ(targets.error().size(), 1u) << joined(targets.error());
  EXPECT_EQ(to_string(targets.error().front()),
            "t:11: targets[1].submissionTarget: target \"sms.realtime\": this name is taken by targets[0] (line 2)");
}

TEST(Targets, AreAllCheckedNotOnlyUpToTheFirstProblem) {
  const auto targets = read_targets(R"({"$schema": "x", "more": 1, "targets": [{"submissionTarget": "a"}, 7, {"policy": "p"}]})",
                                    "t", FakeActionTypes{});
  ASSERT_FALSE(targets);
  EXPECT_EQ(targets.error().size(), 11u) << joined(targets.error());
}

TEST(Targets, SayWhenNoPluginIsLoaded) {
  FakeActionTypes none;
  none.types.clear();
  const auto targets = read_targets(file_with("", ""), "t", none);
  ASSERT_FALSE(targets);
  EXPECT_NE(joined(targets.error()).find("unknown action type \"sms\" (no plugin is loaded)"), std::string::npos);
}

TEST(Targets, NeverRepeatAPasswordInAUrl) {
  const auto targets = read_targets(file_with("gatewayUrl", R"("gatewayUrl": "http://u:hunter2@h")"), "t", FakeActionTypes{});
  ASSERT_FALSE(targets);
  EXPECT_EQ(joined(targets.error()).find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace waybill
