// What is moved into the archive, what stays out of it, and when it goes.  J7
#include <nlohmann/json.hpp>

#include "contract/pipeline_rows.h"
#include "maintenance/archive_task.h"
#include "store/operations/archive_store.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr Millis kDay = std::chrono::hours(24);

class Archive : public PipelineRows {
 protected:
  std::int64_t ended(const std::string& client_ref, int days, OrgId org = kDefaultOrg) {
    const auto id = add(client_ref, "B-" + client_ref, org);
    sql.execute("UPDATE pipeline_submissions SET ended_at = now() - interval '" + std::to_string(days) +
                " days' WHERE submission_id = " + std::to_string(id));
    return id;
  }
  std::int64_t blocked(const std::string& client_ref, int days) {
    const auto id = add(client_ref, "B-" + client_ref);
    sql.execute("UPDATE pipeline_submissions SET blocked_at = now() - interval '" + std::to_string(days) +
                " days' WHERE submission_id = " + std::to_string(id));
    sql.execute(
        "INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, "
        "reason, died_at) "
        "SELECT shard, id, org_id, submission_id, 'pipeline', '" +
        client_ref + "', 'mail.notify', 1, 'sms', 'refused', now() FROM deliveries WHERE submission_id = " + std::to_string(id));
    return id;
  }
  // A further delivery of it that has not ended.
  std::int64_t add_ready(std::int64_t submission, const std::string& status) {
    const auto delivery = sql.number("SELECT nextval('object_ids') * 1024");
    sql.execute(
        "INSERT INTO ready (shard, action_order, org_id, delivery_id, submission_id, due_at, route_id, status) VALUES (0, 2, "
        "1, " +
        std::to_string(delivery) + ", " + std::to_string(submission) + ", now(), " + std::to_string(route("mail.notify").value) +
        ", '" + status + "')");
    return delivery;
  }
  void run(ArchiveSettings settings = {.ages = {.ended = 30 * kDay, .blocked = 30 * kDay}, .delete_after = 7 * kDay}) {
    auto task = archive_task(*store, 1, settings, log);
    for (int i = 0; i < 3; ++i) {
      const auto done = task.run();
      EXPECT_TRUE(done) << done.error().what;
    }
  }
  // Where a submission's rows are left.
  std::string left_of(std::int64_t id) {
    std::string left;
    for (const auto* table : {"pipeline_submissions", "pipeline_steps", "deliveries", "ready", "dead_letters"})
      if (sql.number(std::string("SELECT count(*) FROM ") + table + " WHERE submission_id = " + std::to_string(id)) > 0)
        left += std::string(left.empty() ? "" : " ") + table;
    if (sql.number("SELECT count(*) FROM submissions WHERE id = " + std::to_string(id)) > 0) left += " submissions";
    return left;
  }
  bool is_archived(std::int64_t id) {
    return sql.number("SELECT count(*) FROM archived_submissions WHERE submission_id = " + std::to_string(id)) == 1;
  }

  std::unique_ptr<ArchiveStore> store = make_archive_store(address);
  Log log{Log::Level::error, Log::Format::json};
};

TEST_F(Archive, WhatEndedOrFailedLongAgoIsMovedWhole) {
  const auto done = ended("done", 31), young = ended("young", 29), failed = blocked("failed", 31),
             waiting = blocked("waiting", 29);
  const auto running = add("running", "B-9");
  run();
  EXPECT_TRUE(is_archived(done));
  EXPECT_TRUE(is_archived(failed));
  EXPECT_EQ(left_of(done), "");
  EXPECT_EQ(left_of(failed), "");
  for (const auto stays : {young, waiting, running}) {
    EXPECT_FALSE(is_archived(stays));
    EXPECT_NE(left_of(stays), "");
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM artifacts"), 3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM edited_payloads"), 3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), 5) << "attempts and audit are append-only";
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'transition'"), 5);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'submission_archived'"), 2);
}

TEST_F(Archive, ARecordHoldsEverythingThatWasKnown) {
  ended("k-1", 31);
  run();
  const auto records = store->records(kDefaultOrg, "k-1");
  ASSERT_TRUE(records) << records.error().what;
  ASSERT_EQ(records->size(), 1u);
  const auto record = json::parse(records->front());
  EXPECT_EQ(record["submissionId"], "k-1");
  EXPECT_EQ(record["pipeline"], "mail");
  EXPECT_EQ(record["version"], 3);
  EXPECT_EQ(record["state"], "sent");
  EXPECT_EQ(record["payload"], (json{{"answer", 42}}));
  EXPECT_EQ(record["metadata"], (json{{"reference", "B-k-1"}}));
  EXPECT_EQ(record["results"], (json{{"sending", {{"id", "n-1"}}}}));
  ASSERT_EQ(record["deliveries"].size(), 1u);
  const auto& delivery = record["deliveries"][0];
  EXPECT_EQ(delivery["target"], "mail.notify");
  EXPECT_EQ(delivery["status"], "accepted");
  EXPECT_EQ(delivery["payload"], (json{{"template", "T"}}));
  EXPECT_EQ(delivery["attempts"][0]["code"], 201);
  EXPECT_EQ(delivery["attempts"][0]["answer"], (json{{"id", "n-1"}}));
  EXPECT_EQ(record["audit"][0]["toState"], "sent");
  EXPECT_EQ(record["audit"][0]["actorType"], "worker");
  EXPECT_EQ(record["steps"].size(), 2u);
  EXPECT_EQ(record["createdAt"].get<std::string>().back(), 'Z');
}

TEST_F(Archive, APayloadThatIsNoJsonHoldsUpNothing) {
  const auto id = ended("k-1", 31);
  sql.execute("ALTER TABLE submissions DISABLE TRIGGER USER; UPDATE submissions SET body = '\\xff00' WHERE id = " +
              std::to_string(id) + "; ALTER TABLE submissions ENABLE TRIGGER USER");
  run();
  EXPECT_EQ(json::parse(store->records(kDefaultOrg, "k-1")->at(0))["payload"], "ff00");
}

TEST_F(Archive, WhatSomebodyHoldsIsLeftForAnotherTime) {
  const auto claimed = blocked("claimed", 40), locked = blocked("locked", 40), due = blocked("due", 40);
  add_ready(claimed, "claimed");
  add_ready(due, "due");
  const auto delivery = add_ready(locked, "due");
  RowLock lock(url, {delivery});
  run();
  EXPECT_FALSE(is_archived(claimed));
  EXPECT_FALSE(is_archived(locked));
  EXPECT_EQ(left_of(claimed), "pipeline_submissions pipeline_steps deliveries ready dead_letters submissions");
  EXPECT_TRUE(is_archived(due));
  EXPECT_EQ(left_of(due), "");
  EXPECT_EQ(json::parse(store->records(kDefaultOrg, "due")->at(0))["deliveries"][1]["status"], "due");
  lock.release();
  run();
  EXPECT_TRUE(is_archived(locked));
}

TEST_F(Archive, WhatBeganToMoveAgainSinceItWasListedStays) {
  const auto id = blocked("replayed", 40);
  const auto listed = store->archivable(0, ArchiveStore::Why::blocked, 30 * kDay, {}, 10);
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 1u);
  sql.execute("UPDATE pipeline_submissions SET blocked_at = NULL");
  EXPECT_EQ(*store->archive(0, std::vector{listed->front().id}, {.ended = 30 * kDay, .blocked = 30 * kDay}), 0u);
  EXPECT_FALSE(is_archived(id));
}

TEST_F(Archive, NeverIsZero) {
  const auto done = ended("done", 4000), failed = blocked("failed", 4000);
  run({});
  EXPECT_FALSE(is_archived(done));
  EXPECT_FALSE(is_archived(failed));
  run({.ages = {.ended = Millis{0}, .blocked = 30 * kDay}, .delete_after = Millis{0}});
  EXPECT_FALSE(is_archived(done));
  EXPECT_TRUE(is_archived(failed));
  sql.execute("UPDATE archived_submissions SET archived_at = now() - interval '4000 days'");
  run({});
  EXPECT_TRUE(is_archived(failed));
}

TEST_F(Archive, WhatIsArchivedGoesAfterItsTime) {
  const auto old = ended("old", 31), newer = ended("newer", 31);
  run();
  sql.execute("UPDATE archived_submissions SET archived_at = now() - interval '8 days' WHERE submission_id = " +
              std::to_string(old));
  run();
  EXPECT_FALSE(is_archived(old));
  EXPECT_TRUE(is_archived(newer));
}

TEST_F(Archive, ManyAreMovedInBatchesByTwoHostsAtOnce) {
  for (int i = 0; i < 250; ++i) ended("k-" + std::to_string(i), 31);
  {
    std::vector<std::jthread> hosts;
    for (int i = 0; i < 2; ++i)
      hosts.emplace_back([&] {
        const auto own = make_archive_store(address);
        auto task = archive_task(*own, 1, {.ages = {.ended = 30 * kDay, .blocked = {}}, .delete_after = {}}, log);
        for (int run = 0; run < 4; ++run) EXPECT_TRUE(task.run());
      });
  }
  run();
  EXPECT_EQ(sql.number("SELECT count(*) FROM archived_submissions"), 250);
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 0);
}

TEST_F(Archive, AnIdMayBeHandedInAndArchivedAgain) {
  ended("k-1", 31);
  run();
  ended("k-1", 31);
  run();
  EXPECT_EQ(store->records(kDefaultOrg, "k-1")->size(), 2u);
}

TEST_F(Archive, AnOrganisationSeesItsOwn) {
  ended("ours", 31);
  ended("theirs", 31, other);
  run();
  const auto list = store->list(kDefaultOrg, {}, 10);
  ASSERT_TRUE(list) << list.error().what;
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().submission, "ours");
  EXPECT_TRUE(store->records(kDefaultOrg, "theirs")->empty());
  EXPECT_EQ(store->list(other, {.pipeline = "mail", .state = "sent", .reference = "B-theirs", .submission = {}}, 10)->size(), 1u);
  EXPECT_TRUE(store->list(other, {.pipeline = {}, .state = "failed", .reference = {}, .submission = {}}, 10)->empty());
}

}  // namespace
}  // namespace waybill::testing
