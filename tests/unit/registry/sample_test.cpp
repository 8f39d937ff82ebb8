// M13 F2: the sample registry that users copy: it loads, its schema agrees with the loader, and no damage to it does harm.
#include <gtest/gtest.h>

#include "base/json_document.h"
#include "config/document.h"
#include "domain/retry_timing.h"
#include "registry/forms_file.h"
#include "registry/registry.h"
#include "registry/targets_file.h"
#include "unit/registry/fake_action_types.h"
#include "unit/registry/file_schema.h"

namespace waybill {
namespace {

using testing::FakeActionTypes;
using testing::FileSchema;
using testing::joined;
using testing::text_of;

const auto& kFolder = testing::kSampleRegistry;

nlohmann::json sample() { return nlohmann::json::parse(without_comments(text_of(kFolder / "targets.json"))); }

// What the plugins of an installation have, those of the sample's form included.
FakeActionTypes all_types() {
  FakeActionTypes all;
  all.types.push_back({"email_template", false, {{"invalid_recipient", true, false}}});
  all.types.push_back({"happyfox_template", false, {{"invalid_ticket", true, false}}});
  return all;
}

TEST(SampleRegistry, LoadsWithOneTargetOfEachKind) {
  const auto registry = load_registry(kFolder, all_types());
  ASSERT_TRUE(registry) << joined(registry.error());
  ASSERT_EQ(registry->targets().size(), 8u);
  const auto* orders = registry->find("orders.webhook");
  ASSERT_NE(orders, nullptr);
  EXPECT_EQ(orders->destination, R"({"secret":"orders","url":")" + orders->url + R"("})");
  EXPECT_EQ(orders->policy, Policy::deadline);
  EXPECT_EQ(registry->find("sms.realtime")->max_acceptance, Seconds{30});
  EXPECT_EQ(registry->find("push.realtime")->action_type, "push");
  EXPECT_EQ(registry->find("sms.campaign")->policy, Policy::max_attempts);
  EXPECT_EQ(registry->find("sms.otp")->policy, Policy::one_shot);
  EXPECT_EQ(registry->find("sms"), nullptr);
  EXPECT_EQ(registry->find("zzz"), nullptr);
}

// T14. A pipeline says itself how often its stages are tried, and what is worthless after half a minute says so.
TEST(SampleRegistry, WhatMayArriveLateOutlivesAnHour) {
  const auto registry = load_registry(kFolder, all_types());
  ASSERT_TRUE(registry) << joined(registry.error());
  const auto timings = default_timings();
  for (const auto* name : {"sms.campaign", "orders.webhook"}) {
    const auto& contract = *registry->find(name);
    Micros lives = contract.max_acceptance;
    for (std::uint32_t attempts = 1; attempts < contract.max_attempts; ++attempts)
      lives += wait_after(timing_for(timings, contract.action_type), attempts, {}, 0);
    EXPECT_GE(lives, std::chrono::hours(1)) << name;
  }
}

// T25. The second tier may take 30 s: its attempts are not cut before.
TEST(SampleRegistry, TheSecondTierHasTheTimeThatItMayTake) {
  const auto registry = load_registry(kFolder, all_types());
  ASSERT_TRUE(registry) << joined(registry.error());
  const auto pipeline = registry->find_pipeline("verification");
  ASSERT_NE(pipeline, nullptr);
  std::size_t stages = 0;
  for (const auto& contract : pipeline->contracts) {
    if (contract.target != "verification.tier2") continue;
    ++stages;
    EXPECT_EQ(registry->time_limit(contract), Millis(40'000));
  }
  EXPECT_GE(stages, 1u);
}

// F2
TEST(SampleRegistry, HasAFormThatIsMailedAndMadeATicket) {
  const auto registry = load_registry(kFolder, all_types());
  ASSERT_TRUE(registry) << joined(registry.error());
  ASSERT_EQ(registry->forms().size(), 1u);
  const auto* contact = registry->find_form("contact");
  ASSERT_NE(contact, nullptr);
  ASSERT_EQ(contact->actions.size(), 2u);
  EXPECT_EQ(contact->actions[0].action_type, "email_template");
  EXPECT_EQ(contact->actions[0].destination, "team@example.org, desk@example.org");
  EXPECT_EQ(contact->actions[1].action_type, "happyfox_template");
  for (const auto& action : contact->actions) EXPECT_EQ(action.template_id, "contact");
  EXPECT_NE(registry->templates().find("contact"), nullptr);
}

// F2
TEST(SampleRegistry, WithoutThePluginsOfItsFormNamesThemAndStillServesItsTargets) {
  const auto refused = load_registry(kFolder, FakeActionTypes{});
  ASSERT_FALSE(refused);
  ASSERT_EQ(refused.error().size(), 2u) << joined(refused.error());
  EXPECT_TRUE(refused.error()[0].file.ends_with("forms/contact.yaml"));
  EXPECT_GT(refused.error()[0].line, 0);
  EXPECT_EQ(refused.error()[0].field, "actions[0].action_type");
  EXPECT_EQ(refused.error()[1].field, "actions[1].action_type");
  Problems absent;
  const auto tolerated = load_registry(kFolder, FakeActionTypes{}, &absent);
  ASSERT_TRUE(tolerated) << joined(tolerated.error());
  EXPECT_EQ(absent.size(), 2u);
  EXPECT_EQ(tolerated->targets().size(), 8u);
}

TEST(SampleRegistry, PassesItsSchema) {
  EXPECT_TRUE(FileSchema("targets.schema.json").accepts(sample()));
  EXPECT_EQ(sample()["$schema"], "./schemas/targets.schema.json");
}

// Each change is refused by the schema and by the loader alike.
TEST(TargetsSchema, RefusesWhatTheLoaderRefuses) {
  struct Change {
    const char* name;
    const char* patch;  // a merge patch for the first target, which has policy deadline
  };
  const Change changes[] = {
      {"unknown field", R"({"maxAtempts": 3})"},
      {"no name", R"({"submissionTarget": null})"},
      {"empty name", R"({"submissionTarget": ""})"},
      {"blank name", R"({"submissionTarget": " "})"},
      {"no type", R"({"gatewayType": null})"},
      {"type that cannot be", R"({"gatewayType": "SMS"})"},
      {"no url", R"({"gatewayUrl": null})"},
      {"other scheme", R"({"gatewayUrl": "ftp://localhost"})"},
      {"no host", R"({"gatewayUrl": "http:///x"})"},
      {"user in url", R"({"gatewayUrl": "http://u@localhost"})"},
      {"fragment", R"({"gatewayUrl": "http://localhost/#a"})"},
      {"no policy", R"({"policy": null})"},
      {"unknown policy", R"({"policy": "sometimes"})"},
      {"no seconds", R"({"maxAcceptanceSeconds": null})"},
      {"zero seconds", R"({"maxAcceptanceSeconds": 0})"},
      {"too many seconds", R"({"maxAcceptanceSeconds": 31536001})"},
      {"seconds as text", R"({"maxAcceptanceSeconds": "30"})"},
      {"half a second", R"({"maxAcceptanceSeconds": 0.5})"},
      {"attempts with deadline", R"({"maxAttempts": 3})"},
      {"seconds with one_shot", R"({"policy": "one_shot"})"},
      {"attempts with one_shot", R"({"policy": "one_shot", "maxAcceptanceSeconds": null, "maxAttempts": 3})"},
      {"seconds with max_attempts", R"({"policy": "max_attempts", "maxAttempts": 3})"},
      {"no attempts", R"({"policy": "max_attempts", "maxAcceptanceSeconds": null})"},
      {"zero attempts", R"({"policy": "max_attempts", "maxAcceptanceSeconds": null, "maxAttempts": 0})"},
      {"too many attempts", R"({"policy": "max_attempts", "maxAcceptanceSeconds": null, "maxAttempts": 1001})"},
      {"no outcomes", R"({"terminalOutcomes": null})"},
      {"outcomes as text", R"({"terminalOutcomes": "invalid_request"})"},
      {"empty outcomes", R"({"terminalOutcomes": []})"},
      {"empty outcome", R"({"terminalOutcomes": [""]})"},
      {"outcome twice", R"({"terminalOutcomes": ["invalid_request", "invalid_request"]})"},
      {"accepted", R"({"terminalOutcomes": ["accepted"]})"},
      {"counts of a word", R"({"countOutages": "yes"})"},
      {"rate of none", R"({"rate": "0/s"})"},
      {"rate a day", R"({"rate": "10/d"})"},
      {"rate too high", R"({"rate": "100001/s"})"},
      {"authorities as a list", R"({"ca_file": ["a.pem"]})"},  // S12
      {"no authorities", R"({"ca_file": ""})"},
      {"certificate as a number", R"({"client_certificate": 7})"},
      {"key of no secret", R"({"client_key": "{secret:}"})"},
      {"key of an open secret", R"({"client_key": "{secret:a"})"},
      {"key with more behind the secret", R"({"client_key": "{secret:a}b"})"},
      {"old TLS", R"({"tls_min": "1.1"})"},
      {"TLS to come", R"({"tls_min": 1.4})"},
      {"insecure as text", R"({"insecure": "true"})"},
      {"destination as text", R"({"destination": "orders"})"},
      {"url in destination", R"({"destination": {"url": "http://x"}})"}};
  FileSchema schema("targets.schema.json");
  for (const auto& change : changes) {
    auto whole = sample();
    whole["targets"][0].merge_patch(nlohmann::json::parse(change.patch));
    EXPECT_FALSE(schema.accepts(whole)) << change.name;
    EXPECT_FALSE(read_targets(whole.dump(), "t", FakeActionTypes{})) << change.name;
  }
  EXPECT_FALSE(read_targets(R"({"targets": []})", "t", FakeActionTypes{}));
  EXPECT_TRUE(schema.accepts({{"targets", nlohmann::json::array()}})) << "an installation for channels alone";
  for (const auto* whole : {R"([])", R"({})", R"({"targets": {}})", R"({"targets": [7]})"}) {
    EXPECT_FALSE(schema.accepts(nlohmann::json::parse(whole))) << whole;
    EXPECT_FALSE(read_targets(whole, "t", FakeActionTypes{})) << whole;
  }
}

// F2: each change is refused by the schema and by the loader alike.
TEST(FormSchema, RefusesWhatTheLoaderRefusesAndTakesTheSample) {
  FileSchema schema("form.schema.json");
  FakeActionTypes types = all_types();
  const auto loads = [&](const std::string& text) {
    return read_form(text, "contact.yaml", {types, [](const std::string&) { return true; }}).has_value();
  };
  const auto accepts = [&](const std::string& text) {
    const auto document = config::parse_document(text, "contact.yaml");
    return document && schema.accepts(nlohmann::json::parse(config::to_json(*document)));
  };
  const auto whole = text_of(kFolder / "forms/contact.yaml");
  EXPECT_TRUE(loads(whole));
  EXPECT_TRUE(accepts(whole));
  const std::string good = "form_id: a\nname: b\nactions:\n  - {action_order: 1, action_type: sms, destination: c}\n";
  EXPECT_TRUE(loads(good) && accepts(good));
  for (const char* more : {"destination_field: c", "destination_lookup: {field: c, addresses: {d: e, f: g}, default: h}",
                           "destination: c, from: d, reply_to: e, cc: f, bcc: g", "destination: c, reply_to_field: d",
                           "destination_field: c, attachment_links: true",  // T28
                           "destination: c, timeout: 40s"}) {               // T25
    auto text = good;
    text.replace(text.find("destination: c"), 14, more);
    EXPECT_TRUE(loads(text) && accepts(text)) << text;
  }
  const auto more = "attachments: false\nfields_schema: {type: object, required: [name]}\n" + good;
  EXPECT_TRUE(loads(more) && accepts(more)) << more;
  const std::pair<std::string, std::string> changes[] = {
      {"form_id: a\n", ""},
      {"form_id: a\n", "form_id: a b\n"},
      {"form_id: a\n", "form_id: " + std::string(65, 'a') + "\n"},
      {"name: b\n", ""},
      {"name: b\n", "name: \"\"\n"},
      {"name: b\n", "name: [b]\n"},
      {"name: b\n", "name: \"a\\nb\"\n"},
      {"name: b\n", "name: b\ntitle: c\n"},
      {"  - {", "  - x\n  - {"},
      {"action_order: 1, ", ""},
      {"action_order: 1, ", "action_order: 0, "},
      {"action_order: 1, ", "action_order: 1001, "},
      {"action_order: 1, ", "action_order: \"1\", "},
      {"action_order: 1, ", "action_order: 1.5, "},
      {"action_type: sms, ", ""},
      {"destination: c", "destination: \"\""},
      {"destination: c", "to: c"},
      {"destination: c", "destination: c, template_id: \"a\\tb\""},
      {"destination: c", "destination: c, destination_field: d"},
      {"destination: c", "destination: c, reply_to: [d]"},
      {"destination: c", "destination: c, attachment_links: \"true\""},
      {"destination: c", "destination_lookup: d"},
      {"destination: c", "destination_lookup: {field: d}"},
      {"destination: c", "destination_lookup: {field: d, addresses: {}}"},
      {"destination: c", "destination_lookup: {field: d, addresses: {e: f}, g: h}"},
      {"name: b\n", "name: b\nattachments: 1\n"},
      {"name: b\n", "name: b\nfields_schema: [c]\n"},
      {"  - {action_order: 1, action_type: sms, destination: c}\n", "  []\n"}};
  for (const auto& [line, instead] : changes) {
    auto text = good;
    text.replace(text.find(line), line.size(), instead);
    EXPECT_FALSE(loads(text)) << text;
    EXPECT_FALSE(accepts(text)) << text;
  }
}

// With a sanitizer, every 16th byte only: the fuzz target registry_targets tries the others.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kStep = 16;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::size_t kStep = 16;
#else
constexpr std::size_t kStep = 1;
#endif
#else
constexpr std::size_t kStep = 1;
#endif

TEST(SampleRegistry, SurvivesEveryMissingByteEveryCutAndEveryWrongByte) {
  const auto whole = text_of(kFolder / "targets.json");
  const FakeActionTypes types;
  std::size_t refused = 0;
  const auto check = [&](const std::string& text) {
    const auto targets = read_targets(text, "t", types);
    if (targets) {
      ASSERT_FALSE(targets->empty());
      return;
    }
    ++refused;
    ASSERT_FALSE(targets.error().empty());
    const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
    for (const auto& problem : targets.error()) {
      ASSERT_EQ(problem.file, "t");
      ASSERT_FALSE(problem.message.empty());
      ASSERT_GT(problem.line, 0);
      ASSERT_LE(problem.line, lines);
    }
  };
  for (std::size_t at = 0; at < whole.size(); at += kStep) {
    check(whole.substr(0, at));
    check(std::string(whole).erase(at, 1));
    for (char byte : {'\0', '"', '\n', '\xFF', '}'}) check(std::string(whole).replace(at, 1, 1, byte));
    if (HasFatalFailure()) FAIL() << "at byte " << at;
  }
  EXPECT_GT(refused, whole.size() / kStep);
}

}  // namespace
}  // namespace waybill
