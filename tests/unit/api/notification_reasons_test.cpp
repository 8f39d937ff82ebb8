// Why a delivery to a channel is where it is: one reason at a time, and nothing of the inside for its organisation.  N11
#include "api/notification_reasons.h"

#include <gtest/gtest.h>

#include "store/notifications/notification_standing.h"

namespace waybill {
namespace {

constexpr Timestamp kNow{1'800'000'000'000'000};
Timestamp in(std::int64_t seconds) { return {kNow.micros + seconds * 1'000'000}; }

// Due now, with nothing in its way.
NotificationStanding pending() {
  NotificationStanding s;
  s.view = {.id = {7}, .rule = "r", .channel = "c", .status = "pending", .created = in(-60), .send_after = kNow};
  s.now = kNow;
  s.channel_type = "webhook";
  s.hosts = 1;
  return s;
}

NotificationReason told(const NotificationStanding& s, Audience audience = Audience::organisation,
                        const std::string& not_sent = "") {
  return why_notification(s, {.per_org = 5, .per_channel = 3, .not_sent = not_sent, .audience = audience});
}

// N11
TEST(NotificationReasons, AreOfTimeFirstWhileTheWindowIsOpen) {
  auto s = pending();
  s.is_open = true;
  s.view.send_after = in(120);
  EXPECT_EQ(told(s).code, "window_open");
  EXPECT_EQ(told(s).until, in(120));
  EXPECT_NE(told(s).text.find(format_rfc3339(in(120))), std::string::npos);
  s.view.send_after = kNow;
  EXPECT_EQ(told(s).code, "due") << "its window is over";
}

// N11
TEST(NotificationReasons, AreTheRetryOrTheTurnOfARecovery) {
  auto s = pending();
  s.view.send_after = in(60);
  EXPECT_EQ(told(s).code, "waiting");
  s.view.attempts = 2;
  EXPECT_EQ(told(s).code, "waiting_for_retry");
  EXPECT_NE(told(s).text.find("attempt 3"), std::string::npos);
  EXPECT_EQ(told(s).until, in(60));
}

// N11: what lasts is named before what passes by itself.
TEST(NotificationReasons, AreOneAtATimeTheOneThatLastsFirst) {
  auto s = pending();
  s.under_way = 4;
  EXPECT_EQ(told(s).code, "due");
  s.rate_until = in(40);
  EXPECT_EQ(told(s).code, "due") << "it has no rate any more";
  s.rate = "1/m";
  EXPECT_EQ(told(s).code, "rate");
  EXPECT_EQ(told(s).until, in(40));
  EXPECT_NE(told(s).text.find("1/m"), std::string::npos);
  s.under_way_of_channel = 3;
  EXPECT_EQ(told(s).code, "capped");
  EXPECT_NE(told(s).text.find("its channel has 3 deliveries under way, and may have 3 (notify.per_channel)"), std::string::npos);
  s.under_way = 5;
  EXPECT_EQ(told(s).code, "capped");
  EXPECT_NE(told(s).text.find("notify.per_org"), std::string::npos);
  s.hosts = 0;
  EXPECT_EQ(told(s).code, "no_host");
  s.lease_lost = 2;
  EXPECT_EQ(told(s).code, "suspect");
  s.cooldown = Cooldown{{1}, "channel:c", in(30), "too_many_requests", in(-10)};
  EXPECT_EQ(told(s).code, "cooldown");
  EXPECT_EQ(told(s).until, in(30));
  s.is_locked = true;
  EXPECT_EQ(told(s).code, "secret_locked");
  EXPECT_EQ(told(s, Audience::organisation, "no plugin").code, "not_sent");
  s.channel_disabled = in(-5);
  s.disabled_reason = "its destination answered that it is gone";
  EXPECT_EQ(told(s).code, "channel_disabled");
  EXPECT_NE(told(s).text.find(format_rfc3339(in(-5)) + " (its destination answered that it is gone)"), std::string::npos);
  s.channel_deleted = in(-1);
  EXPECT_EQ(told(s).code, "channel_deleted");
  s.view.status = "processing";
  EXPECT_EQ(told(s).code, "interrupted");
  s.claimer_lives = true;
  EXPECT_EQ(told(s).code, "claimed");
  s.view.status = "failed";
  EXPECT_EQ(told(s).code, "done");
}

// T3
TEST(NotificationReasons, NameTheHostThatHangsAndWhenAnotherTakesOver) {
  auto s = pending();
  s.hosts = 2;
  s.served_by = "box:1";
  s.serves_since = in(-14);
  s.serves_until = in(16);
  EXPECT_EQ(told(s).code, "due");
  s.serves_since = in(-20);
  s.serves_until = in(10);
  EXPECT_EQ(told(s).code, "host_silent");
  EXPECT_EQ(told(s).until, in(10));
  EXPECT_EQ(told(s).text.find("box:1"), std::string::npos);
  const auto words = told(s, Audience::installation).text;
  EXPECT_NE(words.find("host box:1 serves its organisation's channels and has shown no sign of life since " +
                       format_rfc3339(in(-20)) + "; another host takes over from " + format_rfc3339(in(10)) + " on"),
            std::string::npos)
      << words;
  s.hosts = 1;
  EXPECT_NE(told(s, Audience::installation).text.find("no other host is running"), std::string::npos);
  s.serves_until = s.serves_since = std::nullopt;
  EXPECT_EQ(told(s).code, "due") << "a host of an older version";
}

// N11
TEST(NotificationReasons, SayHowItEnded) {
  auto s = pending();
  s.view.attempts = 4;
  s.view.status = "succeeded";
  EXPECT_EQ(told(s).text, "it was delivered at " + format_rfc3339(kNow) + " by attempt 4");
  s.view.status = "failed";
  s.reason = "max_attempts";
  EXPECT_EQ(told(s).text, "it failed at " + format_rfc3339(kNow) + " (max_attempts) after 4 attempt(s)");
  s.reason = "channel_disabled";
  EXPECT_NE(told(s).text.find("disabled, nothing was sent"), std::string::npos);
  s.view.status = "cancelled";
  s.reason = "channel_deleted";
  EXPECT_NE(told(s).text.find("deleted, nothing was sent"), std::string::npos);
}

// N3: hosts, plugins and files are the installation's.
TEST(NotificationReasons, NameHostsAndPluginsToTheOperatorOnly) {
  auto claimed = pending();
  claimed.view.status = "processing";
  claimed.claimed_by = "inside:77";
  claimed.claimed = in(-3);
  claimed.lease_until = in(57);
  auto dead = claimed;
  claimed.claimer_lives = true;
  auto locked = pending();
  locked.is_locked = true;
  const auto waiting = pending();
  auto served = pending();
  served.served_by = "inside:78";
  for (const auto& [standing, word] : {std::pair{claimed, "inside:77"},
                                       {dead, "inside:77"},
                                       {locked, "notify.key"},
                                       {waiting, "/opt/plugins"},
                                       {served, "inside:78"}}) {
    const std::string not_sent = std::string(word).starts_with('/') ? "no plugin in /opt/plugins" : "";
    const auto ours = told(standing, Audience::installation, not_sent), theirs = told(standing, Audience::organisation, not_sent);
    EXPECT_EQ(ours.code, theirs.code);
    EXPECT_NE(ours.text.find(word), std::string::npos) << ours.text;
    EXPECT_EQ(theirs.text.find(word), std::string::npos) << theirs.text;
  }
  EXPECT_NE(told(claimed).text.find(format_rfc3339(in(-3))), std::string::npos);
}

// N11
TEST(NotificationReasons, AreJson) {
  auto s = pending();
  EXPECT_EQ(explanation_json(s, {"due", "w", {}}),
            R"({"id":"7","status":"pending","attempt_count":0,"code":"due","why":"w","until":null})");
}

}  // namespace
}  // namespace waybill
