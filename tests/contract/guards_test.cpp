// What the program's own tables forbid, the database refuses as well.  M6 M11
#include "contract/store_world.h"
#include "unit/domain/state_machine.h"

namespace waybill::testing {
namespace {

class Guards : public StoreWorld {};

bool is_queued(Status status) { return status == Status::due || status == Status::claimed || status == Status::open; }

TEST_F(Guards, TheQueueAllowsExactlyTheMovesOfTheStateMachine) {  // M6
  for (const Status from : kStatuses) {
    const std::string insert =
        "INSERT INTO ready (shard, action_order, org_id, delivery_id, submission_id, due_at, route_id, status, queued) VALUES "
        "(0, 1, 1, 1024, 1024, now(), 1, '" +
        std::string(to_string(from)) + "', " + (is_queued(from) ? "true)" : "false)");
    EXPECT_EQ(refused(insert, "\"ready_check\""), is_end(from)) << to_string(from) << ": what has ended is not in the queue";
    if (is_end(from)) continue;
    sql.execute("DELETE FROM ready");
    for (const Status to : kStatuses) {
      sql.execute(insert);
      const bool good = from == to || (allowed(from, to) && !is_end(to));
      const std::string update = "UPDATE ready SET status = '" + std::string(to_string(to)) + "', queued = ";
      const auto words = is_end(to) ? "\"ready_check\"" : "UPDATE on ready is not allowed";
      EXPECT_TRUE(refused(update + (is_queued(to) ? "false" : "true"), "\"ready_check\""))
          << "queued is what is due, claimed or open";
      EXPECT_EQ(refused(update + (is_queued(to) ? "true" : "false"), words), !good) << to_string(from) << " to " << to_string(to);
      sql.execute("DELETE FROM ready");
    }
  }
}

TEST_F(Guards, ADeliveryThatHasEndedNeverChangesItsStatus) {  // M6
  for (const Status from : kStatuses) {
    sql.execute("DELETE FROM deliveries");
    const auto insert = [&](const char* ended) {
      return "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at) "
             "VALUES"
             " (0, 1024, 1, 1024, 1, 'sms', 1, '" +
             std::string(to_string(from)) + "', " + ended + ")";
    };
    EXPECT_TRUE(refused(insert("NULL"), "\"ended_at\"")) << to_string(from);
    EXPECT_EQ(refused(insert("now()"), "\"deliveries_ended\""), !is_end(from)) << "only ends are on record: " << to_string(from);
    if (!is_end(from)) continue;
    for (const Status to : kStatuses) {
      if (from == to) continue;
      const auto words = is_end(to) ? "UPDATE on deliveries is not allowed" : "\"deliveries_ended\"";
      EXPECT_TRUE(refused("UPDATE deliveries SET status = '" + std::string(to_string(to)) + "'", words))
          << to_string(from) << " to " << to_string(to);
    }
    EXPECT_TRUE(
        refused("UPDATE deliveries SET ended_at = ended_at + interval '1 second'", "UPDATE on deliveries is not allowed"));
  }
}

TEST_F(Guards, ASubmissionThatHasEndedNeverChangesItsState) {  // M6
  submit({item("a")});
  const auto row = claim(route(), 1).rows.at(0);
  settled({ending(row, {1}, Status::exhausted, "max_attempts")});
  for (const char* change : {"state = 'accepted'", "state = 'pending'", "completed_at = now()", "reason = 'none'"})
    EXPECT_TRUE(refused("UPDATE submissions SET " + std::string(change), "UPDATE on submissions is not allowed")) << change;
  EXPECT_EQ(sql.text("SELECT state || ' ' || reason FROM submission_states"), "exhausted max_attempts");
}

TEST_F(Guards, WhatWasHandedInDoesNotChange) {  // M2
  submit({item("a")});
  for (const char* body : {"'x'", "NULL"})
    EXPECT_TRUE(refused("UPDATE submissions SET body = " + std::string(body), "UPDATE on submissions is not allowed")) << body;
  sql.execute(
      "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)"
      " VALUES (0, 1048576, 1, 'form', 'f', 'form', 'contact', 'routed', '', now(), '{}')");
  for (const char* change : {"body = 'x'", "body = NULL", "state = 'purged', body = 'x'"})
    EXPECT_TRUE(
        refused("UPDATE submissions SET " + std::string(change) + " WHERE id = 1048576", "UPDATE on submissions is not allowed"))
        << change;
  EXPECT_EQ(sql.refusal("UPDATE submissions SET state = 'purged', body = NULL WHERE id = 1048576"), "")
      << "erased with its last move";
}

TEST_F(Guards, AttemptsAndAuditAreAppendOnly) {  // M11
  submit({item("a")});
  const auto row = claim(route(), 1).rows.at(0);
  settled({ending(row, {1}, Status::accepted)});
  for (const std::string& table : {std::string("attempts"), std::string("audit_log")}) {
    const auto column = table == "attempts" ? "outcome" : "actor";
    EXPECT_TRUE(refused("UPDATE " + table + " SET " + column + " = 'error'", "UPDATE on " + table)) << table;
    EXPECT_TRUE(refused("DELETE FROM " + table, "DELETE on " + table)) << table;
    EXPECT_TRUE(refused("TRUNCATE " + table, "TRUNCATE on " + table)) << table;
    EXPECT_EQ(sql.number("SELECT count(*) FROM " + table), 1);
  }
}

TEST_F(Guards, TheQueueHoldsADeliveryOnce) {  // M18
  submit({item("a")});
  EXPECT_TRUE(refused("INSERT INTO ready SELECT * FROM ready", "duplicate key"));
}

TEST_F(Guards, TimesSurviveTheWayIntoTheDatabaseAndBack) {
  for (const std::int64_t micros : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'769'851'800'123'456},
                                    std::int64_t{1'769'851'800'999'999}, std::int64_t{4'102'444'800'000'001}})
    EXPECT_EQ(sql.number("SELECT micros(at_micros(" + std::to_string(micros) + "))"), micros);
}

}  // namespace
}  // namespace waybill::testing
