// When a submission may be sent, in the database: not before its time, not when it has expired, and deadlines count from its
// time.  Q4
#include "contract/store_world.h"
#include "settle/settlement.h"
#include "store/operations/waiting_store.h"

namespace waybill::testing {
namespace {

constexpr std::chrono::hours kHour{1};

class TermsContract : public StoreWorld {
 protected:
  Timestamp now() { return queue->due_routes(0)->now; }
  NewSubmission timed(const std::string& ref, std::optional<Timestamp> not_before, std::optional<Timestamp> expires = {},
                      const std::string& target = "sms.a") {
    auto made = item(ref, "{}", target);
    made.terms = terms_of({.not_before = not_before, .expires = expires, .producer = {}});
    return made;
  }
  SubmissionView view(const std::string& ref) {
    const auto found = reader->find(kDefaultOrg, "intent", ref);
    EXPECT_TRUE(found && *found) << ref;
    return found && *found ? **found : SubmissionView{};
  }
  std::vector<Settlement> end_expired() {
    const auto ended = waiting->end_expired(0, 100, [](const WaitingDelivery& one, const Contract& contract, Timestamp at) {
      return settlement_of_expired(one, contract, at, "box:1");
    });
    EXPECT_TRUE(ended) << ended.error().what;
    return ended.value_or(std::vector<Settlement>{});
  }

  std::unique_ptr<ReadStore> reader = make_read_store(address, 1);
  std::unique_ptr<WaitingStore> waiting = make_waiting_store(address, 1);
  std::unique_ptr<MaintenanceStore> maintenance = make_maintenance_store(address);
};

// Q4
TEST_F(TermsContract, NothingIsClaimedBeforeItsTimeNeitherAsItComesInNorLater) {
  const Timestamp then = now() + kHour;
  const auto answers =
      intake->submit(0, std::vector{timed("later", then), timed("now", {})}, InsertClaim{{7}, {11}, Millis(60'000)});
  ASSERT_TRUE(answers) << answers.error().what;
  EXPECT_FALSE(answers->at(0).claimed);
  EXPECT_TRUE(answers->at(0).later);
  EXPECT_TRUE(answers->at(1).claimed) << "what it came in with goes at once";
  EXPECT_FALSE(answers->at(1).later);
  EXPECT_EQ(sql.text("SELECT array_length(deliveries, 1) FROM claims"), "1");
  EXPECT_TRUE(claim(route("sms.a"), 9).rows.empty());
  const auto due = queue->due_routes(0);
  ASSERT_EQ(due->routes.size(), 1u);
  EXPECT_EQ(due->routes[0].first_due, then) << "so that a host sleeps until then";
  EXPECT_EQ(view("later").state, "pending");
  EXPECT_EQ(view("later").terms->not_before, then);
  EXPECT_EQ(view("now").terms, nullptr);
  sql.execute("UPDATE ready SET due_at = now()");
  const auto claimed = claim(route("sms.a"), 9).rows;
  ASSERT_EQ(claimed.size(), 1u);
  ASSERT_NE(claimed[0].terms, nullptr);
  EXPECT_EQ(claimed[0].terms->not_before, then);
}

// Q4
TEST_F(TermsContract, ATimeThatHasBeenIsAsNone) {
  const auto answers = intake->submit(0, std::vector{timed("past", now() - kHour)}, InsertClaim{{7}, {11}, Millis(60'000)});
  ASSERT_TRUE(answers) << answers.error().what;
  EXPECT_TRUE(answers->at(0).claimed);
  EXPECT_EQ(sql.text("SELECT due_at = (SELECT created_at FROM submissions) FROM ready"), "t");
}

// Q4 M2
TEST_F(TermsContract, ARepetitionIsTheSameWhateverTimeItAsksFor) {
  const Timestamp then = now() + kHour;
  submit({timed("a", then)});
  const auto again = submit({timed("a", {})});
  EXPECT_EQ(again[0].how, SubmitResult::How::existing);
  EXPECT_EQ(again[0].view.terms->not_before, then) << "the first one's time stays";
}

// Q4: of a target that nobody may claim from, what is past its deadline is taken by age, which counts from its own time
TEST_F(TermsContract, AgeCountsFromItsTime) {
  submit({timed("late", now() + kHour), timed("plain", {})});
  sql.execute("UPDATE submissions SET created_at = created_at - interval '2 hours'");
  sql.execute("UPDATE ready SET due_at = now()");
  RouteShare old{.route = route("sms.a"), .count = 9, .after = {}, .after_id = {}, .org = kDefaultOrg};
  old.min_age = Seconds(3600);
  const auto rows = queue->claim(0, {1}, {1}, Millis(60'000), std::vector<RouteShare>{old}, {}, kAnyBytes);
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->rows.size(), 1u);
  EXPECT_EQ(rows->rows[0].client_ref, "plain");
}

// Q4
TEST_F(TermsContract, WhatHasExpiredEndsAlthoughNobodyMayClaimIt) {
  submit({timed("gone", {}, now() - Seconds(1)), timed("alive", {}, now() + kHour), timed("plain", {})});
  ASSERT_TRUE(targets->pause({"default", "sms.a"}, "the gateway is being replaced", true, {"ada", "test"}));
  EXPECT_EQ(*maintenance->expired_shards(), std::vector<Shard>{0});
  const auto ended = end_expired();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].submission_state, "exhausted");
  const auto gone = view("gone");
  EXPECT_EQ(gone.state, "exhausted");
  EXPECT_EQ(gone.reason, "expired");
  EXPECT_TRUE(gone.completed);
  EXPECT_EQ(sql.text("SELECT string_agg(action, ' ') FROM audit_log WHERE submission_id = " + std::to_string(gone.id.value)),
            "intent_exhausted");
  EXPECT_EQ(view("alive").state, "pending");
  EXPECT_TRUE(maintenance->expired_shards()->empty());
  EXPECT_TRUE(end_expired().empty());
}

// Q4: what a host holds is its own affair
TEST_F(TermsContract, WhatAHostHoldsIsLeftToIt) {
  submit({timed("held", {}, now() + kHour)});
  ASSERT_EQ(claim(route("sms.a"), 9).rows.size(), 1u);
  sql.execute("UPDATE ready SET expires_at = now() - interval '1 second'");
  EXPECT_TRUE(maintenance->expired_shards()->empty());
  EXPECT_TRUE(end_expired().empty());
}

// Q4: a claim says when it expires as the queue has it: an operator's word sends it again after that
TEST_F(TermsContract, AClaimKnowsWhenItExpires) {
  const Timestamp then = now() + kHour;
  submit({timed("a", {}, then)});
  const auto rows = claim(route("sms.a"), 9).rows;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].terms->expires, then);
  sql.execute("UPDATE ready SET status = 'due', claim_token = NULL, expires_at = NULL");
  const auto again = claim(route("sms.a"), 9, {2}).rows;
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].terms, nullptr);
}

// Q4 O5: neither does an operator's word to the target bring it forward, where all that waits goes out
TEST_F(TermsContract, TheEndOfAnOutageLeavesItItsTime) {
  auto counting = contract_of("sms.a");
  counting.count_outages = true;
  const auto counted = intake->route(kDefaultOrg, counting);
  ASSERT_TRUE(counted) << counted.error().what;
  const Timestamp then = now() + kHour;
  auto later = timed("later", then), retried = timed("retried", {});
  later.route = retried.route = *counted;
  submit({later, retried});
  sql.execute("UPDATE ready SET due_at = now() + interval '1 minute', attempt_count = 1 WHERE due_at <= now()");
  rest({{kDefaultOrg, "sms.a", now() + kHour, "busy"}});
  const auto resumed = targets->resume({"default", "sms.a"}, {"ada", "test"});
  ASSERT_TRUE(resumed) << resumed.error().what;
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE due_at <= now()"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE due_at = at_micros(" + std::to_string(then.micros) + ")"), 1);
}

// Q4: nothing is of an age before its time
TEST_F(TermsContract, OperatorsAndRetentionCountItsAgeFromItsTime) {
  submit({timed("later", now() + kHour), timed("plain", {})});
  sql.execute("UPDATE submissions SET created_at = created_at - interval '3 hours'");
  const auto page = waiting->list(kDefaultOrg, {.target = "sms.a", .kind = {}, .older_than = Seconds(7200)}, 9, {});
  ASSERT_TRUE(page) << page.error().what;
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].reference, "plain");
  sql.execute("DELETE FROM ready");  // as if both had ended
  const KeptKind kinds[] = {{"intent", Seconds(7200)}};
  const auto step = maintenance->delete_old(0, {}, kinds, 10);
  ASSERT_TRUE(step) << step.error().what;
  EXPECT_EQ(step->deleted, 1u);
  EXPECT_EQ(sql.text("SELECT client_ref FROM submissions"), "later");
}

// Q4 Q1
TEST_F(TermsContract, ItsCreationMayHaveBeenEarlierAndSomebodyElses) {
  auto handed = item("a");
  const Timestamp before = now() - kHour;
  handed.handed_in = before;
  handed.terms = terms_of({.not_before = {}, .expires = {}, .producer = "role shop"});
  const auto answer = submit({handed});
  EXPECT_EQ(answer[0].view.created, before);
  EXPECT_EQ(view("a").created, before);
  EXPECT_EQ(view("a").terms->producer, "role shop");
}

}  // namespace
}  // namespace waybill::testing
