// The campaign's judge: a round in which all is well passes, and each falsified record is found. Without this the campaign might
// be a test that cannot fail.
#include "crash/chaos_verdict.h"

#include <gtest/gtest.h>

#include "crash/chaos_channel_verdict.h"
#include "crash/chaos_plan.h"

namespace waybill::testing::chaos {
namespace {

constexpr Terms kTerms{.attempt = 1, .lease = 3};

Record healthy(Promise promise = Promise::max_attempts) {
  return {.id = "one",
          .target = "sms.attempts",
          .promise = promise,
          .max_attempts = promise == Promise::max_attempts ? 3 : 0,
          .deadline = promise == Promise::deadline ? 8.0 : 0,
          .handed_in = 10,
          .acknowledged = 10.1,
          .sends = {10.2},
          .known = true,
          .end = End{"accepted", "", 10.3},
          .attempt_count = 1,
          .attempts = {{1, "accepted"}},
          .audit = {{"delivery.accepted", "pending", "accepted"}}};
}

Record exhausted(Promise promise, const std::string& reason) {
  auto record = healthy(promise);
  record.end = End{"exhausted", reason, 10.3};
  record.audit = {{"delivery.exhausted", "pending", "exhausted"}};
  return record;
}

Record sent_twice() {
  auto record = healthy();
  record.sends = {10.2, 11};
  record.end->at = 11.1;
  record.attempts = {{1, "unknown", false}, {2, "accepted"}};
  record.attempt_count = 2;
  return record;
}

// The rules that complain of one record.
std::vector<std::string> rules(const Record& record, const std::vector<Fault>& faults = {}) {
  std::vector<std::string> broken;
  for (const auto& complaint : verdict({record}, faults, kTerms)) broken.push_back(complaint.rule);
  return broken;
}
using Rules = std::vector<std::string>;

TEST(ChaosVerdict, HasNoComplaintWhereAllIsWell) {
  for (const auto promise : {Promise::one_shot, Promise::max_attempts, Promise::deadline})
    EXPECT_EQ(rules(healthy(promise)), Rules{});
  auto never_answered = healthy();
  never_answered.acknowledged.reset();
  EXPECT_EQ(rules(never_answered), Rules{});
  never_answered.known = false;
  never_answered.sends.clear();
  never_answered.end.reset();
  EXPECT_EQ(rules(never_answered), Rules{}) << "what nobody acknowledged may be gone";
}

TEST(ChaosVerdict, FindsWhatIsLost) {
  auto record = healthy();
  record.known = false;
  record.sends.clear();
  record.end.reset();
  EXPECT_EQ(rules(record), Rules{"lost"});
}

TEST(ChaosVerdict, FindsWhatNeverEnds) {
  auto record = healthy();
  record.end.reset();
  EXPECT_EQ(rules(record), Rules{"unended"});
  record.waits_for = "retry at 12:00";
  EXPECT_EQ(rules(record), Rules{});
  record.held_by_dead = true;
  EXPECT_EQ(rules(record), Rules{"held_by_dead"});
}

TEST(ChaosVerdict, FindsWhatNobodyHandedIn) {
  EXPECT_EQ(rules({.id = "strange", .sends = {3}}), Rules{"unexpected"});
  EXPECT_EQ(rules({.id = "strange", .known = true}), Rules{"unexpected"});
  auto record = healthy();
  record.acknowledged.reset();
  record.known = false;
  EXPECT_EQ(rules(record), Rules{"unexpected"}) << "sent without being on record";
}

TEST(ChaosVerdict, FindsSendsThatNoFaultExplains) {
  const auto twice = sent_twice();
  EXPECT_EQ(rules(twice), Rules{"resent"});
  EXPECT_EQ(rules(twice, {{Kind::kill, 10.5, 10.6}}), Rules{});
  EXPECT_EQ(rules(twice, {{Kind::kill, 9, 9.5}}), Rules{"resent"}) << "that was before its time";
  EXPECT_EQ(rules(twice, {{Kind::stop, 10.5, 14}}), Rules{});
  EXPECT_EQ(rules(twice, {{Kind::stop, 10.5, 10.8}}), Rules{"resent"}) << "shorter than an attempt";
  EXPECT_EQ(rules(twice, {{Kind::half_open, 10.5, 14}}), Rules{});
  EXPECT_EQ(rules(twice, {{Kind::half_open, 10.5, 11}}), Rules{"resent"}) << "shorter than the lease";
  EXPECT_EQ(rules(twice, {{Kind::half_open, 9, 10}, {Kind::lock, 10.2, 11}}), Rules{}) << "one after the other";
  EXPECT_EQ(rules(twice, {{Kind::terminate, 10.1, 10.2}, {Kind::half_open, 10.3, 11}}), Rules{}) << "taken for dead";
  EXPECT_EQ(rules(twice, {{Kind::cut, 10.1, 10.2}, {Kind::displaced, 11, 11}}), Rules{}) << "it was not back in time";
  EXPECT_EQ(rules(twice, {{Kind::displaced, 11, 11}}), Rules{"displaced"}) << "nothing ended its sessions";
  EXPECT_EQ(rules(twice, {{Kind::terminate, 10.1, 10.2}, {Kind::half_open, 10.3, 10.5}}), Rules{"resent"})
      << "too short for that";
  for (const auto kind : {Kind::cut, Kind::lock, Kind::lock_timeout, Kind::statement_timeout, Kind::cancel, Kind::terminate,
                          Kind::restart, Kind::poison, Kind::clock_forward, Kind::clock_back})
    EXPECT_EQ(rules(twice, {{kind, 10.5, 10.9}}), Rules{"resent"}) << to_string(kind);
  auto refused = twice;
  refused.refusals = 1;
  EXPECT_EQ(rules(refused), Rules{}) << "a retry";
  auto thrice = sent_twice();
  thrice.sends.push_back(11.05);
  thrice.attempts = {{1, "unknown", false}, {2, "unknown", false}, {3, "accepted"}};
  thrice.attempt_count = 3;
  EXPECT_EQ(rules(thrice, {{Kind::kill, 10.5, 10.6}}), Rules{"resent"}) << "one kill, two more sends";
  EXPECT_EQ(rules(thrice, {{Kind::kill, 10.5, 10.6}, {Kind::kill, 10.8, 10.9}}), Rules{});
}

TEST(ChaosVerdict, FindsAOneShotThatWasSentTwiceWhateverHappened) {
  auto record = sent_twice();
  record.promise = Promise::one_shot;
  EXPECT_EQ(rules(record, {{Kind::kill, 10.5, 10.6}}), Rules{"one_shot_twice"});
}

TEST(ChaosVerdict, FindsAOneShotThatEndedUnsentWithoutAFaultThatExplainsIt) {
  auto record = exhausted(Promise::one_shot, "one_shot");
  record.attempts = {{1, "unknown", false}};
  EXPECT_EQ(rules(record), Rules{"exhausted_sent"});
  record.sends.clear();
  EXPECT_EQ(rules(record), Rules{"exhausted_unsent"});
  EXPECT_EQ(rules(record, {{Kind::cut, 10.2, 10.2}}), Rules{"exhausted_unsent"});
  EXPECT_EQ(rules(record, {{Kind::lock, 10.2, 10.6}}), Rules{"exhausted_unsent"});
  EXPECT_EQ(rules(record, {{Kind::kill, 10.2, 10.2}}), Rules{});
  EXPECT_EQ(rules(record, {{Kind::stop, 10.2, 14}}), Rules{});
  record.sends = {10.2};
  record.refusals = 1;
  EXPECT_EQ(rules(record), Rules{}) << "the gateway refused it";
}

TEST(ChaosVerdict, FindsHealthyWorkThatPaysForADeath) {
  auto record = exhausted(Promise::max_attempts, "worker_lost");
  EXPECT_EQ(rules(record, {{Kind::kill, 10.1, 10.2}, {Kind::kill, 10.2, 10.3}, {Kind::kill, 10.3, 10.3}}), Rules{"worker_lost"});
  EXPECT_EQ(rules(exhausted(Promise::max_attempts, "max_attempts")), Rules{"used_up"});
  auto refused = exhausted(Promise::max_attempts, "max_attempts");
  refused.sends = {10.1, 10.2, 10.25};
  refused.refusals = 3;
  refused.attempts = {{1, "rejected"}, {2, "rejected"}, {3, "rejected"}};
  refused.attempt_count = 3;
  EXPECT_EQ(rules(refused), Rules{});
}

TEST(ChaosVerdict, FindsADeadlineThatCameEarly) {
  auto record = exhausted(Promise::deadline, "deadline_exceeded");
  record.end->at = 14.9;
  EXPECT_EQ(rules(record), Rules{"expired_early"});
  EXPECT_EQ(rules(record, {{Kind::clock_forward, 12, 12}}), Rules{});
  EXPECT_EQ(rules(record, {{Kind::clock_back, 12, 12}}), Rules{"expired_early"});
  record.end->at = 18;
  EXPECT_EQ(rules(record), Rules{});
}

// T12 T14
TEST(ChaosVerdict, FindsWhatPaysForALoopOrAnOutage) {
  auto beside = sent_twice();
  beside.target = "loopable";
  EXPECT_EQ(rules(beside), Rules{"resent"});
  auto loops = exhausted(Promise::max_attempts, "worker_lost");
  loops.id = "two";
  loops.target = "loopable";
  loops.harm = Harm::loop;
  loops.sends.clear();
  EXPECT_TRUE(verdict({beside, loops}, {}, kTerms).empty()) << "it was open beside the loop";
  auto apart = kTerms;
  apart.apart = true;
  EXPECT_FALSE(verdict({beside, loops}, {}, apart).empty()) << "in a process of its own the loop costs nobody else";
  loops.end->reason = "max_attempts";
  EXPECT_EQ(rules(loops), Rules{"poison"});
  auto other = sent_twice();
  EXPECT_EQ(verdict({other, exhausted(Promise::max_attempts, "worker_lost")}, {}, kTerms).size(), 2u);

  auto during = sent_twice();
  during.outages = 1;
  during.attempts = {{1, "error", false}, {2, "accepted"}};
  EXPECT_EQ(rules(during), Rules{});
  during.outages = 2;
  EXPECT_EQ(rules(during), Rules{"accepted_by_nobody"});
  auto used_up = exhausted(Promise::max_attempts, "max_attempts");
  used_up.sends = {10.1, 10.2, 10.25};
  used_up.outages = 3;
  used_up.attempts = {{1, "error"}, {2, "error"}, {3, "error"}};
  used_up.attempt_count = 3;
  EXPECT_EQ(rules(used_up), Rules{"used_up"}) << "an outage uses up no attempt";
  auto once = exhausted(Promise::one_shot, "one_shot");
  once.outages = 1;
  EXPECT_EQ(rules(once), Rules{}) << "it may have been taken all the same";
}

TEST(ChaosVerdict, FindsPoisonThatEndedOtherwise) {
  auto record = exhausted(Promise::max_attempts, "worker_lost");
  record.harm = Harm::crash;
  record.sends.clear();
  EXPECT_EQ(rules(record), Rules{});
  record.end->reason = "max_attempts";
  EXPECT_EQ(rules(record), Rules{"poison"});
}

TEST(ChaosVerdict, FindsHolesInTheRecord) {
  auto record = healthy();
  record.attempts = {{2, "accepted"}};
  EXPECT_EQ(rules(record), Rules{"numbers"}) << "a gap";
  record = sent_twice();
  record.refusals = 1;
  record.attempts[1].number = 1;
  EXPECT_EQ(rules(record), Rules{"numbers"}) << "one number twice";
  record = healthy();
  record.attempt_count = 2;
  EXPECT_EQ(rules(record), Rules{"numbers"});
  record = healthy();
  record.attempts.clear();
  record.attempt_count = 0;
  EXPECT_EQ(rules(record), Rules{"unrecorded"});
  record = healthy();
  record.audit.clear();
  EXPECT_EQ(rules(record), Rules{"audit"});
  record = healthy();
  record.audit.push_back(record.audit.front());
  EXPECT_EQ(rules(record), Rules{"audit"}) << "it ended twice";
}

TEST(ChaosVerdict, FindsEndsThatNothingExplains) {
  auto record = healthy();
  record.sends.clear();
  EXPECT_EQ(rules(record), Rules{"accepted_by_nobody"});
  record = healthy();
  record.end->state = "rejected";
  record.audit.front().to = "rejected";
  EXPECT_EQ(rules(record), Rules{"ended"});
  EXPECT_EQ(rules(exhausted(Promise::deadline, "max_attempts")), Rules{"ended"});
}

TEST(ChaosVerdict, FindsAHostThatEndedByItself) {
  EXPECT_EQ(rules(healthy(), {{Kind::crash, 1, 1}}), Rules{"crash"});
  auto poison = exhausted(Promise::max_attempts, "worker_lost");
  poison.harm = Harm::crash;
  poison.sends.clear();
  EXPECT_EQ(rules(poison, {{Kind::crash, 1, 1}}), Rules{});
  EXPECT_EQ(rules(healthy(), {{Kind::failed_start, 1, 1}}), Rules{"failed_start"});
  EXPECT_EQ(rules(healthy(), {{Kind::restart, 0.5, 0.9}, {Kind::failed_start, 1, 1}}), Rules{}) << "without its database";
}

// What a seed means does not depend on the machine; and twenty rounds in a row meet every kind of fault.
// ---- channels and forms ----

ChannelRecord well() {
  return {.name = "steady",
          .handed_in = {{0, 10}, {1, 10.1}, {2, 10.4}},
          .sends = {{10.2, "a", "[0,1]", {0, 1}}, {10.5, "b", "[2]", {2}}},
          .not_accepted = {}};
}

Rules rules(const ChannelRecord& channel, const std::vector<Fault>& faults = {}) {
  Rules broken;
  for (const auto& complaint : verdict(channel, faults, kTerms)) broken.push_back(complaint.rule);
  return broken;
}

// T2 T3
TEST(ChaosVerdict, FindsEventsThatAChannelDidNotGetOnce) {
  EXPECT_EQ(rules(well()), Rules{});
  auto lost = well();
  lost.sends.pop_back();
  EXPECT_EQ(rules(lost), Rules{"event_lost"});
  auto twice = well();
  twice.sends[1] = {10.5, "b", "[1,2]", {1, 2}};
  EXPECT_EQ(rules(twice), Rules{"event_twice"});
  auto unexpected = well();
  unexpected.sends.push_back({11, "c", "[7]", {7}});
  EXPECT_EQ(rules(unexpected), Rules{"event_unexpected"});
  auto ended = well();
  ended.not_accepted["exhausted"] = 1;
  EXPECT_EQ(rules(ended), Rules{"channel_ended"});
}

TEST(ChaosVerdict, FindsDeliveriesToChannelsThatWereSentAgainOrChanged) {
  auto again = well();
  again.sends.push_back({11, "b", "[2]", {2}});
  EXPECT_EQ(rules(again), Rules{"channel_resent"});
  EXPECT_EQ(rules(again, {{Kind::kill, 10.6, 10.7, ""}}), Rules{});
  EXPECT_EQ(rules(again, {{Kind::hang, 10.5, 16, ""}}), Rules{}) << "it stood still for longer than its lease";
  again.sends.back() = {11, "b", "[2,1]", {2, 1}};
  EXPECT_EQ(rules(again, {{Kind::kill, 10.6, 10.7, ""}}), Rules{"body_changed"});
}

// T1
TEST(ChaosVerdict, FindsFormsThatEndedInSilence) {
  const auto broken = [](const FormRecord& form) {
    Rules found;
    for (const auto& complaint : verdict(form)) found.push_back(complaint.rule);
    return found;
  };
  const FormRecord fine{.id = "form-0", .state = "purged", .reason = "retention_expired", .failures = 1, .alerts = true};
  EXPECT_EQ(broken(fine), Rules{});
  auto other = fine;
  other.state = "received";
  EXPECT_EQ(broken(other), Rules{"form_waits"});
  other = fine;
  other.failures = 0;
  EXPECT_EQ(broken(other), Rules{"form_silent"});
  other = fine;
  other.alerts = false;
  EXPECT_EQ(broken(other), Rules{"form_silent"});
  other = fine;
  other.attempts = 1;
  EXPECT_EQ(broken(other), Rules{"form_sent"});
}

// T3
TEST(ChaosVerdict, FindsChannelsThatNobodyTookOver) {
  const auto complaints = verdict({healthy()}, {{Kind::hang, 1, 61, "host 0", "nobody took its channels over"}}, kTerms);
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_EQ(complaints[0].rule, "hang");
}

// T13
TEST(ChaosVerdict, ASickHostExplainsNoEnd) {
  EXPECT_EQ(rules(exhausted(Promise::one_shot, "one_shot"), {{Kind::sick, 9, 12, "host 0"}}), Rules{"exhausted_sent"});
  auto unsent = exhausted(Promise::one_shot, "one_shot");
  unsent.sends.clear();
  EXPECT_EQ(rules(unsent, {{Kind::sick, 9, 12, "host 0"}}), Rules{"exhausted_unsent"});
  EXPECT_EQ(rules(unsent, {{Kind::sick, 9, 12, "host 0"}, {Kind::kill, 8, 8.1, "host 1"}}), Rules{}) << "it was alone";
}

TEST(ChaosPlan, IsTheSameForTheSameSeedAndMissesNoKind) {
  std::set<Kind> kinds;
  for (unsigned seed = 100; seed < 120; ++seed) {
    const auto first = plan(seed), second = plan(seed);
    ASSERT_EQ(first.size(), second.size());
    EXPECT_GE(first.size(), 2u);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(describe(first[i]), describe(second[i]));
      kinds.insert(first[i].kind);
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kPlannedKinds));
}

}  // namespace
}  // namespace waybill::testing::chaos
