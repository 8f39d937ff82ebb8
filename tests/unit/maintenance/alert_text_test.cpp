// What alerts say, and that nothing in them means more than it says.  F13
#include "maintenance/alert_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace waybill {
namespace {

constexpr Timestamp kNoon{1'769'860'800'000'000};  // 2026-01-31 12:00 UTC

Incident incident(std::uint64_t count = 1, const std::string& words = "a host was lost") {
  return {.org = kDefaultOrg,
          .name = "dead_letter:target:sms.primary",
          .kind = "dead_letter",
          .words = words,
          .count = count,
          .first = kNoon,
          .last = kNoon + std::chrono::minutes(25)};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(AlertText, SaysWhatHappenedHowOftenSinceWhenAndWhereToLook) {  // F13
  EXPECT_EQ(text_of({"ref", {incident(3)}}),
            "dead_letter: a host was lost\n3 times since 2026-01-31 12:00 UTC, the latest at 2026-01-31 12:25 UTC\n"
            "What to do: docs/operations/runbook.md#dead_letter (incident dead_letter:target:sms.primary)\n"
            "waybill dead list --reason=sms.primary");
}

TEST(AlertText, OfOneOccurrenceThereIsNothingToCount) {  // F13
  EXPECT_FALSE(has(text_of({"ref", {incident(1)}}), "times"));
}

TEST(AlertText, NamesAnOrganisationOtherThanTheDefaultOne) {  // F13
  auto other = incident();
  other.org = {7};
  EXPECT_TRUE(has(text_of({"ref", {other}}), "of organisation 7"));
}

TEST(AlertText, OfManyIncidentsEachHasALineAndTheRestIsANumber) {  // F13
  const Notification notification{"ref", std::vector<Incident>(27, incident(2, "first line\nsecond line"))};
  const auto text = text_of(notification);
  EXPECT_TRUE(text.starts_with("27 incidents at once.")) << text;
  EXPECT_TRUE(has(text, "\n- dead_letter:target:sms.primary, 2 times since 2026-01-31 12:00 UTC: first line\n")) << text;
  EXPECT_FALSE(has(text, "second line"));
  EXPECT_TRUE(text.ends_with("\n... and 7 more")) << text;
}

TEST(AlertText, IsBoundedAndCutBetweenCharacters) {  // F13
  std::string words;
  for (int i = 0; i < 10'000; ++i) words += "\xE2\x82\xAC";
  const auto text = text_of({"ref", {incident(1, words)}});
  EXPECT_LT(text.size(), 7000u);
  EXPECT_FALSE(has(nlohmann::json::parse(payload_of(text)).at("text"), "\xEF\xBF\xBD"));
}

TEST(AlertText, IsAJsonObjectInWhichNothingHasAMeaningForSlack) {  // F13
  const auto payload = nlohmann::json::parse(payload_of("\"<!channel>\" & <https://evil.example|ok>\n\x01 \xFF"));
  EXPECT_EQ(payload.size(), 1u);
  EXPECT_EQ(payload.at("text"), "\"&lt;!channel&gt;\" &amp; &lt;https://evil.example|ok&gt;\n\x01 \xEF\xBF\xBD");
}

std::string told(const std::string& text) { return nlohmann::json::parse(payload_of(text)).at("text"); }

TEST(AlertText, CallsNobody) {  // T32
  for (const char* word : {"everyone", "here", "channel", "all", "room", "EveryOne", "Here"})
    EXPECT_EQ(told(std::string("hi @") + word + ", bye"), std::string("hi @''") + word + ", bye");
  EXPECT_EQ(told("<!channel> <!here|here>"), "&lt;!channel&gt; &lt;!here|here&gt;");
  EXPECT_EQ(told("x@everyone @hereabouts"), "x@''everyone @''hereabouts") << "some read these within words";
  for (const char* harmless : {"ann@example.org", "bob@alliance.example", "a @ b", "@"}) EXPECT_EQ(told(harmless), harmless);
}

// What a shell makes of the arguments of a line.
std::string pasted(const std::string& line) {
  std::string shell = "printf '%s\\n' " + line;
  FILE* out = popen(shell.c_str(), "r");
  std::string words;
  for (int c; (c = fgetc(out)) != EOF;) words += static_cast<char>(c);
  pclose(out);
  return words;
}

TEST(AlertText, CommandsPasteAsTheyWereThoughTheyCallNobody) {  // T32
  StuckWork stuck{.what = StuckWork::What::form,
                  .org = kDefaultOrg,
                  .about = "contact",
                  .action_type = {},
                  .reference = "",
                  .now = kNoon,
                  .since = kNoon - std::chrono::hours(5),
                  .count = 1};
  for (const char* reference : {"@everyone", "a @here 'b'", "@channel", "plain"}) {
    stuck.reference = reference;
    const auto text = told(words_of(stuck, ""));
    const auto command = text.substr(text.rfind('\n') + 1);
    EXPECT_EQ(pasted(command), "waybill\nexplain\n" + std::string(reference) + "\n") << command;
    EXPECT_FALSE(has(text, "@everyone") || has(text, "@here") || has(text, "@channel")) << text;
  }
}

TEST(AlertText, ASummaryListsOneIncidentOfEachOrganisationInTurn) {  // T32
  Notification notification{"ref", std::vector<Incident>(25, incident())};
  for (std::size_t i = 0; i < 23; ++i) notification.incidents[i].org = {7};
  notification.incidents[24].org = {9};
  const auto text = text_of(notification);
  EXPECT_TRUE(has(text, "of organisation 9")) << text;
  EXPECT_TRUE(has(text, "\n- dead_letter:target:sms.primary, ")) << text;
}

TEST(AlertText, OfStuckDeliveriesSaysWhyIfThatIsKnown) {  // F13
  StuckWork stuck{.what = StuckWork::What::deliveries,
                  .org = kDefaultOrg,
                  .about = "sms.primary",
                  .action_type = "sms",
                  .reference = "order-1",
                  .now = kNoon,
                  .since = kNoon - std::chrono::minutes(20),
                  .count = 7};
  EXPECT_EQ(
      words_of(stuck, "no plugin is running"),
      "deliveries to sms.primary are due and not taken: 7; the oldest is \"order-1\", for 20 min now; no plugin is running\n"
      "waybill explain order-1");
  EXPECT_TRUE(has(words_of(stuck, ""), "nothing that this host knows of"));
  stuck.in_flight = 256;
  EXPECT_TRUE(has(words_of(stuck, ""), "256 are in flight"));
  stuck.count = kMaxStuckCounted + 1;
  EXPECT_TRUE(has(words_of(stuck, ""), "more than 1000"));
}

TEST(AlertText, OfAStuckFormNamesItAndTheOldest) {  // F13
  const StuckWork stuck{.what = StuckWork::What::form,
                        .org = kDefaultOrg,
                        .about = "contact",
                        .action_type = {},
                        .reference = "s-1",
                        .now = kNoon,
                        .since = kNoon - std::chrono::hours(5),
                        .count = 2};
  EXPECT_EQ(words_of(stuck, ""),
            "submissions of form contact are processing without coming to an end: 2; the oldest is \"s-1\", for 5 h now\n"
            "waybill explain s-1");
}

TEST(AlertText, OfAFormThatWaitsForAScanSaysWhatHappensToIt) {  // T1
  const StuckWork stuck{.what = StuckWork::What::scan,
                        .org = kDefaultOrg,
                        .about = "contact",
                        .action_type = {},
                        .reference = "s-1",
                        .now = kNoon,
                        .since = kNoon - std::chrono::hours(5),
                        .count = 2};
  EXPECT_EQ(words_of(stuck, ""),
            "submissions of form contact wait for the scan of an attachment: 2; the oldest is \"s-1\", for 5 h now; "
            "nothing of them is sent before, and they fail when their retention ends\n"
            "waybill explain s-1");
}

TEST(AlertText, OfFailuresIsATableWithTheMostFrequentFirst) {  // F13
  std::vector<ProviderFailure> failures{
      {kDefaultOrg, kNoon, kNoon + std::chrono::hours(1), "sms", "sms.primary", "timeout", 2},
      {kDefaultOrg, kNoon, kNoon + std::chrono::hours(1), "webhook", "orders", "server_error", 40}};
  EXPECT_EQ(words_of(failures),
            "42 attempts failed between 2026-01-31 12:00 UTC and 2026-01-31 13:00 UTC\n"
            "count   action type     target                  reason\n"
            "40      webhook         orders                  server_error\n"
            "2       sms             sms.primary             timeout\n"
            "waybill provider probe orders\n"
            "waybill provider probe sms.primary");
  failures.resize(30, failures[0]);
  EXPECT_TRUE(has(words_of(failures), "\n... and 10 further kinds\n"));
}

std::string command_after(const std::string& text, const std::string& begin) {
  const auto at = text.rfind("\n" + begin);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

TEST(AlertText, CommandsCanBePastedWhateverNamesHold) {  // D12
  const auto until = kNoon + std::chrono::hours(1);
  std::vector<ProviderFailure> failures{{kDefaultOrg, kNoon, until, "sms", "a b; rm -rf $HOME", "timeout", 2},
                                        {kDefaultOrg, kNoon, until, "email_raw", "form:it's", "timeout", 1},
                                        {kDefaultOrg, kNoon, until, "webhook", "channel:ops", "timeout", 1}};
  const auto words = words_of(failures);
  EXPECT_EQ(command_after(words, "waybill provider"), "waybill provider probe 'a b; rm -rf $HOME'");
  EXPECT_EQ(command_after(words, "waybill dead"), "waybill dead list --form='it'\\''s'");
  EXPECT_FALSE(has(words, "probe channel")) << "a channel is no target of the registry";
  StuckWork stuck{.what = StuckWork::What::deliveries,
                  .org = kDefaultOrg,
                  .about = "sms.a",
                  .action_type = "sms",
                  .reference = "-n",
                  .now = kNoon,
                  .since = kNoon - std::chrono::hours(5),
                  .count = 1};
  EXPECT_TRUE(words_of(stuck, "no plugin").ends_with("\nwaybill explain -- -n"));
  stuck.org = {7};
  EXPECT_FALSE(has(words_of(stuck, "no plugin"), "waybill explain")) << "commands ask of the organisation default";
}

TEST(AlertText, EndsWithTheFirstStepOfItsKind) {  // T29
  const auto last_line = [](const std::string& kind, const std::string& about) {
    auto found = incident(1, "what happened");
    found.kind = kind;
    found.name = kind + ":" + about;
    const auto text = text_of({"ref", {found}});
    return text.substr(text.rfind('\n') + 1);
  };
  EXPECT_EQ(last_line("plugin_switched_off", "time_bomb"), "waybill plugin switch-on time_bomb");
  EXPECT_EQ(last_line("plugin_crash", "sms"), "waybill dead list --reason=worker_lost");
  EXPECT_EQ(last_line("pipeline_stuck", "escrow/SEND"), "waybill pipeline show escrow");
  EXPECT_EQ(last_line("secret_locked", "k1"), "waybill keys give-up");
  EXPECT_EQ(last_line("dead_letter", "orders/1:gone"), "waybill dead list --reason=gone");
  EXPECT_TRUE(last_line("channel_disabled", "c-1").starts_with("What to do: ")) << "its organisation acts";
}

TEST(AlertText, ADigestOfUndeliveredMessagesNamesItsNumber) {  // D12 T29
  auto found = incident(1, "one message was accepted and then not delivered");
  found.kind = "failed_messages";
  found.name = "failed_messages:digest-12";
  EXPECT_TRUE(text_of({"ref", {found}}).ends_with("\nwaybill failures list --digest=12"));
}

TEST(AlertText, WhatWasNotCheckedIsCheckedAgainByItsName) {  // D12
  const std::vector<std::string> problems{"mail.notify: its list is not complete"};
  EXPECT_TRUE(
      words_of(DigestLine{.org = kDefaultOrg, .by_status = {}}, {}, problems).ends_with("\nwaybill failures check mail.notify"));
}

}  // namespace
}  // namespace waybill
