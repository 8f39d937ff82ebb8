// Ends and retries on their way back: all of a settlement or nothing, and only while the claim holds.  M6 M11 M17 M18
#include <algorithm>
#include <nlohmann/json.hpp>

#include "contract/store_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class SettleContract : public StoreWorld {
 protected:
  ClaimedRow claimed_one(const std::string& client_ref = "order-1", ClaimToken token = {1}) {
    submit({item(client_ref)});
    return claim(route(), 1, token).rows.at(0);
  }
  // What a query answers, by the names of its columns: its one row, or all of them.
  json row_of(const std::string& query) { return json::parse(sql.text("SELECT to_jsonb(t) FROM (" + query + ") t")); }
  json rows_of(const std::string& query) { return json::parse(sql.text("SELECT jsonb_agg(t) FROM (" + query + ") t")); }
};

TEST_F(SettleContract, AnEndIsWrittenEverywhereInOneTransaction) {  // M6 M11
  const auto row = claimed_one();
  auto end = ending(row, {1}, Status::accepted);
  end.result = R"({"ticket": 7})";
  EXPECT_EQ(settled({end}), std::vector<DeliveryId>{row.delivery});
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 0);
  EXPECT_EQ(row_of("SELECT state, reason, micros(completed_at) AS completed FROM submission_states"),
            (json{{"state", "accepted"}, {"reason", nullptr}, {"completed", end.ended.micros}}));
  EXPECT_EQ(row_of("SELECT status, attempt_count, reason, provider_ref, result, micros(ended_at) AS ended FROM deliveries"),
            (json{{"status", "accepted"},
                  {"attempt_count", 1},
                  {"reason", nullptr},
                  {"provider_ref", "gw-1"},
                  {"result", {{"ticket", 7}}},
                  {"ended", end.ended.micros}}));
  EXPECT_EQ(row_of("SELECT number, outcome, code, provider_ref, micros(started_at) AS started, micros(finished_at) AS finished "
                   "FROM attempts"),
            (json{{"number", 1},
                  {"outcome", "accepted"},
                  {"code", 200},
                  {"provider_ref", "gw-1"},
                  {"started", end.attempt->started.micros},
                  {"finished", end.attempt->finished->micros}}));
  EXPECT_EQ(row_of("SELECT action, from_state, to_state, trigger, actor, actor_type, metadata, delivery_id FROM audit_log"),
            (json{{"action", "intent_accepted"},
                  {"from_state", "pending"},
                  {"to_state", "accepted"},
                  {"trigger", "accept"},
                  {"actor", "box:1"},
                  {"actor_type", "worker"},
                  {"metadata", {{"attempts", 1}}},
                  {"delivery_id", row.delivery.value}}));
  EXPECT_EQ(sql.number("SELECT count(DISTINCT xmin::text) FROM (SELECT xmin FROM deliveries UNION ALL "
                       "SELECT xmin FROM attempts UNION ALL SELECT xmin FROM audit_log) x"),
            1)
      << "one transaction";
}

TEST_F(SettleContract, ARetryIsBackInTheQueueWithWhatIsKnown) {  // M6 M11 M12
  const auto row = claimed_one();
  auto retry = retrying(row, {1}, row.created + Seconds(5));
  retry.history.maybe_sent = true;
  retry.history.lease_lost = 2;
  retry.history.attempt_count = 3;
  EXPECT_EQ(settled({retry}).size(), 1u);
  EXPECT_EQ(row_of("SELECT status, attempt_count, lease_lost, maybe_sent, micros(due_at) AS due FROM ready"),
            (json{{"status", "due"},
                  {"attempt_count", 3},
                  {"lease_lost", 2},
                  {"maybe_sent", true},
                  {"due", (row.created + Seconds(5)).micros}}));
  EXPECT_EQ(sql.number("SELECT num_nulls(claim_token, claimed_by, claimed_at, lease_until) FROM ready"), 4);
  EXPECT_EQ(sql.text("SELECT state FROM submission_states"), "pending");
  EXPECT_EQ(sql.number("SELECT count(*) FROM submission_states WHERE completed_at IS NULL AND reason IS NULL"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 0) << "a retry is no transition of the submission";
}

TEST_F(SettleContract, WhatIsGivenBackUnattemptedLeavesNoTrace) {  // M11
  const auto row = claimed_one();
  auto release = retrying(row, {1}, row.due);
  release.attempt.reset();
  release.history.attempt_count = 0;
  EXPECT_EQ(settled({release}).size(), 1u);
  EXPECT_EQ(row_of("SELECT status, attempt_count FROM ready"), (json{{"status", "due"}, {"attempt_count", 0}}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 0);
}

TEST_F(SettleContract, AnAttemptWhoseEndNobodySawHasNoFinish) {  // M17
  const auto row = claimed_one();
  auto lost = retrying(row, {1}, row.due);
  lost.attempt->finished.reset();
  lost.attempt->outcome = "unknown";
  lost.attempt->code = 0;
  settled({lost});
  EXPECT_EQ(row_of("SELECT outcome, finished_at, code, reason FROM attempts"),
            (json{{"outcome", "unknown"}, {"finished_at", nullptr}, {"code", nullptr}, {"reason", nullptr}}));
}

TEST_F(SettleContract, AStaleTokenWritesNothing) {  // M18
  const auto row = claimed_one("order-1", {1});
  for (const auto& stale : {ending(row, {2}, Status::accepted), retrying(row, {2}, row.due)})
    EXPECT_TRUE(settled({stale}).empty());
  EXPECT_EQ(row_of("SELECT status, claim_token FROM ready"), (json{{"status", "claimed"}, {"claim_token", 1}}));
  EXPECT_EQ(sql.text("SELECT state FROM submission_states"), "pending");
  EXPECT_EQ(sql.number("SELECT (SELECT count(*) FROM attempts) + (SELECT count(*) FROM audit_log)"), 0);
}

TEST_F(SettleContract, TheSameSettlementTwiceIsWrittenOnce) {  // M12 M18
  const auto row = claimed_one();
  const auto retry = retrying(row, {1}, row.due);
  EXPECT_EQ(settled({retry}).size(), 1u);
  EXPECT_TRUE(settled({retry}).empty());
  const auto again = claim(route(), 1, {2}).rows.at(0);
  const auto end = ending(again, {2}, Status::accepted);
  EXPECT_EQ(settled({end}).size(), 1u);
  EXPECT_TRUE(settled({end}).empty());
  EXPECT_TRUE(settled({retry}).empty()) << "an end is final";
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 1);
  EXPECT_EQ(sql.text("SELECT string_agg(number::text, ' ' ORDER BY number) FROM attempts"), "1 2");
}

TEST_F(SettleContract, AClaimThatAnotherHostTookOverIsStale) {  // M18
  const auto row = claimed_one("order-1", {1});
  settled({retrying(row, {1}, row.due)});  // the sweeper of another host
  const auto second = claim(route(), 1, {2}, {2}).rows.at(0);
  EXPECT_TRUE(settled({ending(row, {1}, Status::rejected, "invalid_request")}).empty()) << "the first host comes back late";
  EXPECT_EQ(settled({ending(second, {2}, Status::accepted)}).size(), 1u);
  EXPECT_EQ(sql.text("SELECT state FROM submission_states"), "accepted");
}

TEST_F(SettleContract, AMixedBatchDoesToEachItsOwn) {  // M6
  submit_many(6);
  auto rows = claim(route(), 6).rows;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.client_ref < b.client_ref; });
  const auto held = settled({ending(rows[0], {1}, Status::accepted), ending(rows[1], {1}, Status::rejected, "invalid_request"),
                             ending(rows[2], {1}, Status::exhausted, "max_attempts"),
                             retrying(rows[3], {1}, rows[3].created + Seconds(5)), ending(rows[4], {9}, Status::accepted)});
  EXPECT_EQ(held.size(), 4u);
  EXPECT_EQ(std::count(held.begin(), held.end(), rows[4].delivery), 0);
  const auto submission = [](const std::string& client_ref, const std::string& state, const json& reason) {
    return json{{"client_ref", client_ref}, {"state", state}, {"reason", reason}};
  };
  EXPECT_EQ(rows_of("SELECT client_ref, state, reason FROM submission_states ORDER BY client_ref"),
            (json{submission("ref-0", "accepted", nullptr), submission("ref-1", "rejected", "invalid_request"),
                  submission("ref-2", "exhausted", "max_attempts"), submission("ref-3", "pending", nullptr),
                  submission("ref-4", "pending", nullptr), submission("ref-5", "pending", nullptr)}));
  const auto waiting = [](const std::string& client_ref, const std::string& status) {
    return json{{"client_ref", client_ref}, {"status", status}};
  };
  EXPECT_EQ(rows_of("SELECT s.client_ref, r.status FROM ready r JOIN submissions s ON s.id = r.submission_id ORDER BY 1"),
            (json{waiting("ref-3", "due"), waiting("ref-4", "claimed"), waiting("ref-5", "claimed")}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 4);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 3);
}

// Settlements that share their words go by another text than those that do not.
TEST_F(SettleContract, InWhichCompanyAnEndIsWrittenIsNotToBeSeen) {  // M6 M11 M18
  submit_many(4);
  sql.execute("UPDATE ready SET progress = '{\"some\": 1}'");
  auto rows = claim(route(), 4).rows;
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.client_ref < b.client_ref; });
  const auto plain = [&](std::size_t i) { return ending(rows[i], {1}, Status::accepted); };
  const auto other = [&](std::size_t i) {
    auto end = ending(rows[i], {1}, Status::exhausted);  // of a time that was over: nothing went wrong in its last attempt
    end.attempt->error = end.attempt->outcome = "";
    end.attempt->outcome = "deferred";
    end.attempt->code = 0;
    end.attempt->provider_ref = "";
    end.metadata = R"({"attempts": 1, "leaseLost": 1})";
    return end;
  };
  EXPECT_EQ(settled({plain(0)}).size(), 1u);
  EXPECT_EQ(settled({other(1)}).size(), 1u);
  EXPECT_EQ(settled({other(2), plain(3)}).size(), 2u);
  const auto written = [&](std::size_t i) {
    const auto id = std::to_string(rows[i].delivery.value), submission = std::to_string(rows[i].submission.value);
    return row_of(
        "SELECT to_jsonb(d) - 'id' - 'submission_id' AS delivery, to_jsonb(a) - 'delivery_id' AS attempt,"
        " to_jsonb(l) - 'id' - 'delivery_id' - 'submission_id' AS event, s.state, s.reason"
        " FROM deliveries d, attempts a, audit_log l, submission_states s WHERE d.id = " +
        id + " AND a.delivery_id = " + id + " AND l.submission_id = " + submission + " AND s.id = " + submission);
  };
  EXPECT_EQ(written(0), written(3));
  EXPECT_EQ(written(1), written(2));
  EXPECT_NE(written(0), written(1));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 0);
}

TEST_F(SettleContract, AStaleEndAmongThoseThatAreAlikeIsLeftOut) {  // M18
  submit_many(3);
  const auto rows = claim(route(), 3).rows;
  EXPECT_EQ(settled({ending(rows[0], {1}, Status::accepted), ending(rows[1], {9}, Status::accepted),
                     ending(rows[2], {1}, Status::accepted)}),
            (std::vector<DeliveryId>{rows[0].delivery, rows[2].delivery}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 1);
}

TEST_F(SettleContract, ABatchOfManySortsDoesToEachItsOwn) {  // M6 M11
  constexpr std::size_t kCount = 100;                        // more than are compared with each other
  submit_many(kCount);
  const auto rows = claim(route(), kCount).rows;
  std::vector<Settlement> batch;
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string number = std::to_string(i);
    batch.push_back(i % 3 == 0 ? retrying(rows[i], {1}, rows[i].created + Seconds(static_cast<int>(i)))
                               : ending(rows[i], {1}, Status::rejected, "reason_" + number));
    batch.back().attempt->error = i % 2 == 0 ? "error " + number : "";
    batch.back().attempt->provider_ref = rows[i].client_ref;
    if (i % 3 == 1) batch.back().result = "{\"n\":" + number + "}";
    if (i % 3 == 0) batch.back().progress = "{\"left\":" + number + "}";
  }
  EXPECT_EQ(settled(batch).size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string number = std::to_string(i), id = std::to_string(rows[i].delivery.value);
    const auto unless = [](bool none, const std::string& text) { return none ? json(nullptr) : json(text); };
    EXPECT_EQ(row_of("SELECT provider_ref, error, reason FROM attempts WHERE delivery_id = " + id),
              (json{{"provider_ref", rows[i].client_ref},
                    {"error", unless(i % 2 != 0, "error " + number)},
                    {"reason", unless(i % 3 == 0, "reason_" + number)}}));
    if (i % 3 == 0)
      EXPECT_EQ(row_of("SELECT micros(due_at) AS due, progress FROM ready WHERE delivery_id = " + id),
                (json{{"due", batch[i].due.micros}, {"progress", "{\"left\":" + number + "}"}}));
    else
      EXPECT_EQ(row_of("SELECT reason, result FROM deliveries WHERE id = " + id),
                (json{{"reason", "reason_" + number}, {"result", i % 3 == 1 ? json{{"n", i}} : json(nullptr)}}));
  }
}

TEST_F(SettleContract, AnAttemptThatDoesNotCountIsOnRecordAsThat) {  // E14
  const auto row = claimed_one();
  auto retry = retrying(row, {1}, row.due);
  retry.history.uncounted = 1;
  retry.attempt->counts = false;
  settled({retry});
  EXPECT_EQ(row_of("SELECT r.attempt_count, r.uncounted, a.counts FROM ready r, attempts a"),
            (json{{"attempt_count", 1}, {"uncounted", 1}, {"counts", false}}));
  const auto again = claim(route(), 1, {2}).rows.at(0);
  EXPECT_EQ(again.history.uncounted, 1u);
  settled({ending(again, {2}, Status::accepted)});
  EXPECT_EQ(rows_of("SELECT number, counts FROM attempts ORDER BY number"),
            (json{{{"number", 1}, {"counts", false}}, {{"number", 2}, {"counts", true}}}));
}

TEST_F(SettleContract, ABatchWithTwoTokensOfOneDeliveryCarriesOutTheOneThatHolds) {  // E8 M18
  for (const bool stale_first : {true, false}) {
    const auto row = claimed_one(stale_first ? "order-1" : "order-2", {stale_first ? 1 : 2});
    auto good = ending(row, {stale_first ? 1 : 2}, Status::exhausted, "worker_lost");
    good.dead_letter = true;
    auto stale = good;
    stale.token = {9};
    EXPECT_EQ(settled(stale_first ? std::vector{stale, good} : std::vector{good, stale}), std::vector{row.delivery});
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 2);
}

TEST_F(SettleContract, WhatIsLockedIsToldWithoutWaitingForIt) {  // E4
  submit_many(3);
  const auto rows = claim(route(), 3).rows;
  std::vector<DeliveryId> all{{1'048'576}};  // not there: nobody has to wait for it
  for (const auto& row : rows) all.push_back(row.delivery);
  EXPECT_EQ(settle->locked(0, all).value(), std::vector<DeliveryId>{});
  SqlClient person(url);
  for (const char* how :
       {"SELECT FROM waybill.ready WHERE delivery_id = $ FOR UPDATE", "SELECT FROM waybill.ready WHERE delivery_id = $ FOR SHARE",
        "UPDATE waybill.ready SET progress = '{}' WHERE delivery_id = $"}) {
    std::string statement = how;
    statement.replace(statement.find('$'), 1, std::to_string(rows[1].delivery.value));
    person.execute("BEGIN");
    person.execute(statement);
    EXPECT_EQ(settle->locked(0, all).value(), std::vector{rows[1].delivery}) << how;
    person.execute("ROLLBACK");
  }
  person.execute("BEGIN; SELECT FROM waybill.submissions FOR UPDATE");
  EXPECT_EQ(settle->locked(0, all).value(), std::vector<DeliveryId>{}) << "an intent's settlement has no use for it";
  EXPECT_EQ(settled({ending(rows[0], {1}, Status::accepted)}).size(), 1u);
}

TEST_F(SettleContract, ABatchWithOneThatCannotBeWrittenWritesNothing) {
  submit_many(2);
  const auto rows = claim(route(), 2).rows;
  auto bad = ending(rows[1], {1}, Status::accepted);
  bad.attempt->outcome = "nonsense";
  const auto held = settle->settle(0, std::vector<Settlement>{ending(rows[0], {1}, Status::accepted), bad});
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().kind, Error::Kind::bug);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 0);
  EXPECT_EQ(settled({ending(rows[0], {1}, Status::accepted)}).size(), 1u) << "the session is good for more";
}

TEST_F(SettleContract, TextOfAnyKindIsWrittenAsItIs) {
  const auto row = claimed_one();
  auto end = ending(row, {1}, Status::rejected, "invalid_request");
  end.attempt->error = "he said \"no\" \\ {a,b} 'x' NULL Zoë \n\t";
  end.attempt->provider_ref = "NULL";
  settled({end});
  EXPECT_EQ(sql.text("SELECT error FROM attempts"), end.attempt->error);
  EXPECT_EQ(sql.text("SELECT provider_ref FROM attempts"), "NULL");
}

TEST_F(SettleContract, ARestThatIsOverIsToldUntilItsTargetAnswersAgain) {  // E14
  const Timestamp now = queue->due_routes(0)->now;
  rest({{kDefaultOrg, "sms.a", now - Seconds(1), "over"}});
  EXPECT_EQ(queue->cooldowns({1})->all.size(), 1u) << "it is half-open";
}

TEST_F(SettleContract, ProgressIsKeptUntilAnAttemptLeavesAnother) {  // F7
  auto row = claimed_one();
  EXPECT_EQ(row.progress, "");
  ClaimToken token{1};
  for (const auto& [left, kept] : {std::pair{R"({"n":1})", R"({"n":1})"}, {"", R"({"n":1})"}, {R"({"n":2})", R"({"n":2})"}}) {
    auto retry = retrying(row, token, row.created);
    retry.progress = left;
    settled({retry});
    token = {token.value + 1};
    row = claim(route(), 1, token).rows.at(0);
    EXPECT_EQ(row.progress, kept);
  }
}

TEST_F(SettleContract, AnArtefactIsDurableBeforeItsDeliveryIsDueAgain) {  // H4
  const auto row = claimed_one();
  const std::string bytes("letter\0\xff\n1", 10);
  EXPECT_FALSE(row.artifact);
  EXPECT_EQ(settle->save_artifacts(0, std::vector<ComposeRow>{{row.delivery, {1}, {"text/plain", bytes}}}).value(),
            std::vector<DeliveryId>{row.delivery});
  EXPECT_EQ(sql.number("SELECT count(DISTINCT x::text) FROM (SELECT xmin FROM ready UNION ALL SELECT xmin FROM artifacts) t(x)"),
            1)
      << "one transaction";
  EXPECT_EQ(row_of("SELECT status, attempt_count, composed, micros(due_at) AS due FROM ready"),
            (json{{"status", "due"}, {"attempt_count", 0}, {"composed", true}, {"due", row.due.micros}}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 0);
  const auto again = claim(route(), 1, {2}).rows.at(0);
  EXPECT_EQ(again.artifact, (Artifact{"text/plain", bytes}));
  EXPECT_EQ(again.history.attempt_count, 0u);
}

TEST_F(SettleContract, AnArtefactOfAStaleClaimIsNotKept) {  // H4 M18
  const auto row = claimed_one();
  EXPECT_TRUE(settle->save_artifacts(0, std::vector<ComposeRow>{{row.delivery, {99}, {"text/plain", "late"}}})->empty());
  EXPECT_EQ(sql.number("SELECT count(*) FROM artifacts"), 0);
  EXPECT_EQ(sql.text("SELECT status FROM ready"), "claimed");
}

TEST_F(SettleContract, AnArtefactStaysThroughRetriesAndCannotBeChanged) {  // H4 M11
  auto row = claimed_one();
  ASSERT_TRUE(settle->save_artifacts(0, std::vector<ComposeRow>{{row.delivery, {1}, {"text/plain", "first"}}}));
  row = claim(route(), 1, {2}).rows.at(0);
  settled({retrying(row, {2}, row.created)});
  EXPECT_EQ(claim(route(), 1, {3}).rows.at(0).artifact, (Artifact{"text/plain", "first"}));
  EXPECT_TRUE(refused("UPDATE artifacts SET body = 'second'", "UPDATE on artifacts is not allowed"));
}

TEST_F(SettleContract, ABatchWithTwoTokensOfOneDeliveryKeepsThemApart) {  // E8
  const auto stale = claimed_one("order-1", {1});
  settled({retrying(stale, {1}, stale.due)});
  const auto row = claim(route(), 1, {2}).rows.at(0);
  auto of_no_avail = ending(stale, {1}, Status::rejected, "invalid_request");
  auto end = ending(row, {2}, Status::accepted);
  auto alike_but_stale = ending(stale, {1}, Status::accepted);
  for (const auto& batch : {std::vector{of_no_avail, alike_but_stale, retrying(stale, {1}, stale.due)}}) {
    EXPECT_TRUE(settled(batch).empty());
    EXPECT_EQ(row_of("SELECT status, claim_token FROM ready"), (json{{"status", "claimed"}, {"claim_token", 2}}));
  }
  EXPECT_EQ(settled({of_no_avail, end, alike_but_stale}), std::vector<DeliveryId>{row.delivery});
  EXPECT_EQ(sql.text("SELECT state FROM submission_states"), "accepted");
  EXPECT_EQ(rows_of("SELECT number, outcome FROM attempts ORDER BY number"),
            (json{{{"number", 1}, {"outcome", "error"}}, {{"number", 2}, {"outcome", "accepted"}}}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 1);
}

}  // namespace
}  // namespace waybill::testing
