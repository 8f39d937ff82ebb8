// What routes, pages and commands read.  M2 M3 M5
#include <algorithm>

#include "contract/store_world.h"
#include "store/queue/host_liveness.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

class ReadContract : public StoreWorld {};

TEST_F(ReadContract, FindAnswersTheSubmissionAsItStands) {  // M3
  EXPECT_FALSE(reader->find(kDefaultOrg, "intent", "a")->has_value());
  const auto made = submit({item("a")})[0].view;
  auto found = reader->find(kDefaultOrg, "intent", "a");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->id, made.id);
  EXPECT_EQ((*found)->created, made.created);
  EXPECT_EQ((*found)->state, "pending");
  EXPECT_EQ((*found)->target, "sms.primary");
  EXPECT_EQ((*found)->reason, "");
  EXPECT_FALSE((*found)->completed);
  EXPECT_FALSE(reader->find({2}, "intent", "a")->has_value()) << "another organisation's";
  EXPECT_FALSE(reader->find(kDefaultOrg, "form", "a")->has_value());
  const auto end = ending(claim(route(), 1).rows.at(0), {1}, Status::rejected, "invalid_request");
  settled({end});
  found = reader->find(kDefaultOrg, "intent", "a");
  EXPECT_EQ((*found)->state, "rejected");
  EXPECT_EQ((*found)->reason, "invalid_request");
  EXPECT_EQ((*found)->completed, end.ended);
}

TEST_F(ReadContract, HistoryHasTheAttemptsInOrder) {  // M3 M11
  EXPECT_FALSE(reader->history(kDefaultOrg, "intent", "a")->has_value());
  submit({item("a")});
  submit({item("other")});
  EXPECT_TRUE((*reader->history(kDefaultOrg, "intent", "a"))->attempts.empty());
  sql.execute(
      "UPDATE ready SET due_at = now() - interval '1 hour' WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = "
      "'a')");
  const auto one = claim(route(), 1).rows.at(0);
  settled({retrying(one, {1}, one.due)});
  const auto two = claim(route(), 1, {2}).rows.at(0);
  auto lost = retrying(two, {2}, two.due);
  lost.attempt->finished.reset();
  lost.attempt->outcome = "unknown";
  settled({lost});
  const auto three = claim(route(), 1, {3}).rows.at(0);
  settled({ending(three, {3}, Status::rejected, "invalid_request")});
  const auto history = reader->history(kDefaultOrg, "intent", "a");
  ASSERT_TRUE(history && *history);
  EXPECT_EQ((*history)->submission.state, "rejected");
  const auto& attempts = (*history)->attempts;
  ASSERT_EQ(attempts.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(attempts[i].number, i + 1);
    EXPECT_EQ(attempts[i].started, one.created + Seconds(1));
  }
  EXPECT_EQ(attempts[0].outcome, "error");
  EXPECT_EQ(attempts[0].error, "what went wrong");
  EXPECT_EQ(attempts[0].finished, one.created + Seconds(2));
  EXPECT_EQ(attempts[1].outcome, "unknown");
  EXPECT_FALSE(attempts[1].finished);
  EXPECT_EQ(attempts[2].outcome, "rejected");
  EXPECT_EQ(attempts[2].reason, "invalid_request");
}

TEST_F(ReadContract, ExplainSaysWhereAnUnfinishedDeliveryStands) {  // M18
  EXPECT_FALSE(reader->explain(kDefaultOrg, "intent", "a")->has_value());
  HostLiveness liveness(address, "box:1");
  const HostId host = *liveness.keep();
  submit_many(3);
  auto told = reader->explain(kDefaultOrg, "intent", "ref-0");
  ASSERT_TRUE(told && *told) << told.error().what;
  ASSERT_EQ((*told)->positions.size(), 1u);
  EXPECT_EQ((*told)->hosts, 1u);
  EXPECT_EQ((*told)->positions[0].status, Status::due);
  EXPECT_EQ((*told)->positions[0].target, "sms.primary");
  EXPECT_EQ((*told)->positions[0].action_type, "sms");
  EXPECT_EQ((*told)->positions[0].claimed_by, "");
  EXPECT_FALSE((*told)->positions[0].cooldown);
  const auto rows = claim(route(), 3, {1}, host).rows;
  rest({{kDefaultOrg, "sms.primary", (*told)->now + Seconds(600), "http_429"}});
  told = reader->explain(kDefaultOrg, "intent", "ref-0");
  const auto& position = (*told)->positions.at(0);
  EXPECT_EQ(position.status, Status::claimed);
  EXPECT_EQ(position.claimed_by, "box:1");
  EXPECT_TRUE(position.claimer_lives);
  EXPECT_TRUE(position.lease_until);
  EXPECT_EQ(position.in_flight.of_target, 3u);
  EXPECT_EQ(position.in_flight.of_org, 3u);
  EXPECT_EQ(position.in_flight.of_host_name, 3u);
  EXPECT_EQ(position.in_flight.of_action_type, 3u);
  EXPECT_EQ(position.in_flight.all, 3u);
  ASSERT_TRUE(position.cooldown);
  EXPECT_EQ(position.cooldown->reason, "http_429");
  std::vector<Settlement> ends;
  for (const auto& row : rows) ends.push_back(ending(row, {1}, Status::accepted));
  settled(ends);
  told = reader->explain(kDefaultOrg, "intent", "ref-0");
  EXPECT_TRUE((*told)->positions.empty());
  EXPECT_EQ((*told)->hosts, 1u);
  EXPECT_EQ((*told)->history.attempts.size(), 1u);
}

TEST_F(ReadContract, ExplainAsksTheLocksWhetherAHostLives) {  // E15
  auto liveness = std::make_unique<HostLiveness>(address, "box:1");
  submit_many(1);
  claim(route(), 1, {1}, *liveness->keep());
  liveness.reset();  // its session ends; its row stays
  EXPECT_TRUE(eventually([&] { return reader->explain(kDefaultOrg, "intent", "ref-0").value()->hosts == 0; }));
  const auto told = reader->explain(kDefaultOrg, "intent", "ref-0");
  EXPECT_EQ((*told)->positions.at(0).claimed_by, "box:1");
  EXPECT_FALSE((*told)->positions.at(0).claimer_lives);
  EXPECT_EQ(reader->hosts()->size(), 1u);
}

TEST_F(ReadContract, ExplainSaysWhatIsDueBefore) {  // M3, E14, E15
  submit_many(3);
  auto told = reader->explain(kDefaultOrg, "intent", "ref-2");
  ASSERT_TRUE(told && *told) << told.error().what;
  EXPECT_EQ((*told)->positions.at(0).due_before, std::uint64_t{2});
  EXPECT_FALSE((*told)->positions[0].permits_until) << "a target without a rate";
}

TEST_F(ReadContract, ExplainKnowsAnOutageWhoseCooldownIsOver) {  // E15
  submit_many(1);
  const auto now = reader->explain(kDefaultOrg, "intent", "ref-0").value()->now;
  rest({{kDefaultOrg, "sms.primary", now - Seconds(1), "http_429"}});
  const auto told = reader->explain(kDefaultOrg, "intent", "ref-0");
  ASSERT_TRUE((*told)->positions.at(0).cooldown);
  EXPECT_LT((*told)->positions[0].cooldown->until, (*told)->now);
}

TEST_F(ReadContract, ExplainShowsNoCooldownOfAnotherOrganisationsTargetOfTheSameName) {  // M18 E15
  submit_many(1);
  const auto now = reader->explain(kDefaultOrg, "intent", "ref-0").value()->now;
  rest({{{2}, "sms.primary", now + Seconds(600), "of a stranger"}});
  const auto told = reader->explain(kDefaultOrg, "intent", "ref-0");
  ASSERT_TRUE(told && *told);
  EXPECT_FALSE((*told)->positions.at(0).cooldown) << (*told)->positions[0].cooldown->reason;
}

TEST_F(ReadContract, ADeliveryIsInTheQueueUntilItsEndAndOnRecordFromThenOn) {  // M3
  submit_many(2);
  const auto homes = [&] {
    return sql.text(
        "SELECT string_agg(s.client_ref || ' ' || home || ' ' || status || ' ' || attempt_count, ', ' ORDER BY s.client_ref, "
        "home) FROM ("
        "SELECT 'ready' AS home, submission_id, status, attempt_count FROM ready UNION ALL"
        " SELECT 'ended', submission_id, status, attempt_count FROM deliveries) d JOIN submissions s ON s.id = d.submission_id");
  };
  const auto read_as = [&](const char* ref) {
    const auto read = reader->deliveries(kDefaultOrg, "intent", ref);
    EXPECT_TRUE(read) << read.error().what;
    if (!read || read->size() != 1) return std::string("nothing");
    const DeliveryView& one = read->front();
    EXPECT_EQ(one.route, route());
    return std::string(to_string(one.status)) + " " + std::to_string(one.action_order) + " " + std::to_string(one.attempts);
  };
  EXPECT_EQ(homes(), "ref-0 ready due 0, ref-1 ready due 0");
  EXPECT_EQ(read_as("ref-0"), "due 1 0");
  const auto rows = claim(route(), 2).rows;
  const auto ends = [&](const char* ref) {
    return *std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.client_ref == ref; });
  };
  settled({ending(ends("ref-0"), {1}, Status::accepted)});
  auto letter = ending(ends("ref-1"), {1}, Status::exhausted, "max_attempts");
  letter.dead_letter = true;
  settled({letter});
  EXPECT_EQ(homes(), "ref-0 ended accepted 1, ref-1 ended exhausted 1");
  EXPECT_EQ(read_as("ref-0"), "accepted 1 1");
  EXPECT_EQ(sql.text("SELECT action_type || ' ' || client_ref FROM dead_letters"), "sms ref-1");
}

TEST_F(ReadContract, MovedNamesWhatHasEndedOrHasAnAttempt) {  // M5
  submit_many(4);
  const auto rows = claim(route(), 3).rows;
  settled({ending(rows[0], {1}, Status::accepted), retrying(rows[1], {1}, rows[1].due)});
  auto expired = ending(rows[2], {1}, Status::exhausted, "deadline_exceeded");
  expired.attempt.reset();
  settled({expired});
  std::vector<SubmissionId> all{{std::int64_t{1} << 40}};  // unknown
  for (const auto& row : sql.rows("SELECT id FROM submissions")) all.push_back({std::stoll(*row[0])});
  const auto moved = reader->moved(all);
  ASSERT_TRUE(moved) << moved.error().what;
  std::vector<SubmissionId> wanted{rows[0].submission, rows[1].submission, rows[2].submission};
  auto got = *moved;
  std::sort(got.begin(), got.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(got, wanted);
  EXPECT_TRUE(reader->moved({})->empty());
}

TEST_F(ReadContract, OrganisationsAreKnownByName) {
  EXPECT_EQ(*reader->organisation("default"), kDefaultOrg);
  EXPECT_FALSE(reader->organisation("other")->has_value());
}

// S1: of many at once, each has its own answer
TEST_F(ReadContract, RepetitionsAreComparedInOneQuestion) {
  submit({item("a", "{}"), item("b", "{}")});
  const std::vector<SubmissionKey> keys{{"b", "sms.primary", sha256("{}")},  {"nothing", "sms.primary", sha256("{}")},
                                        {"a", "sms.primary", sha256("{ }")}, {"a", "sms.other", sha256("{}")},
                                        {"a", "sms.primary", sha256("{}")},  {"odd \"{},\\ one", "x", sha256("")},
                                        {"a", "sms.primary", sha256("{}")}};
  const auto found = reader->compare(kDefaultOrg, "intent", keys);
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->size(), keys.size());
  using How = SubmitResult::How;
  const std::vector<std::optional<How>> expected{How::existing, {}, How::conflict, How::conflict,
                                                 How::existing, {}, How::existing};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ((*found)[i].has_value(), expected[i].has_value()) << i;
    if (!expected[i]) continue;
    EXPECT_EQ((*found)[i]->how, *expected[i]) << i;
    EXPECT_EQ((*found)[i]->view.client_ref, keys[i].client_ref);
  }
  EXPECT_EQ(reader->compare({7}, "intent", keys)->front(), std::nullopt) << "another organisation's";
  EXPECT_TRUE(reader->compare(kDefaultOrg, "intent", {})->empty());
}

}  // namespace
}  // namespace waybill::testing
