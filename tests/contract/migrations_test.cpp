// The schema comes from nothing, once, whoever begins, and never goes back.  M12 M18
#include "store/pg/migrations.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "store/pg_stores.h"
#include "support/postgres_cluster.h"
#include "support/sql_client.h"

namespace waybill::testing {
namespace {

class Migrating : public ::testing::Test {
 protected:
  const std::string url = cluster().create_database();
  const DatabaseAddress address{url, "waybill"};
  SqlClient sql{url};

  void make_version(int version) {
    sql.execute(
        "CREATE SCHEMA waybill; SET search_path TO waybill;"
        " CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL "
        "DEFAULT "
        "now())");
    for (const auto& migration : migrations()) {
      if (migration.version > version) break;
      sql.execute(std::string(migration.sql));
      sql.execute("INSERT INTO schema_migrations (version, name) VALUES (" + std::to_string(migration.version) + ", '" +
                  std::string(migration.name) + "')");
    }
  }
};

TEST_F(Migrating, AnEmptyDatabaseGetsEveryMigrationAndASecondRunNothing) {
  const auto before = schema_state(address);
  ASSERT_TRUE(before) << before.error().what;
  EXPECT_EQ(before->database, 0);
  const auto first = migrate(address);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->size(), migrations().size());
  EXPECT_EQ(first->front(), "0001_spine");
  const auto second = migrate(address);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_TRUE(second->empty());
  const auto after = schema_state(address);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->database, after->program);
  EXPECT_EQ(sql.number("SELECT count(*) FROM waybill.schema_migrations"), static_cast<std::int64_t>(migrations().size()));
  EXPECT_FALSE(*keeps_plugins_in_host(address)) << "nothing ran before";  // I6
}

// A database of a host that was stopped in the middle of its work, before claims had a list and intents' ends a place of their
// own.
TEST_F(Migrating, WhatWasUnderWayBeforeTheLeanRoadGoesOnAfterIt) {  // M17 M18
  make_version(7);
  sql.execute(
      "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, reason, payload_hash, created_at, "
      "completed_at)"
      " VALUES (0, 1024, 1, 'intent', 'open', 'intent', 'sms', 'pending', NULL, '', now(), NULL),"
      " (0, 2048, 1, 'intent', 'ended', 'intent', 'sms', 'exhausted', 'max_attempts', '', now(), now());"
      "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at)"
      " VALUES (0, 3072, 1, 1024, 1, 'sms', 1, 'due', NULL), (0, 4096, 1, 2048, 1, 'sms', 1, 'exhausted', now());"
      "INSERT INTO payloads VALUES (0, 1024, 1, '{\"text\":\"old\"}');"
      "INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, claim_token, "
      "claimed_by,"
      " claimed_at, lease_until) VALUES (0, 3072, 1, 1024, 1, 1, now(), 'claimed', 5, 7, now(), now() + interval '1 minute')");
  const auto applied = migrate(address);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_TRUE(*keeps_plugins_in_host(address)) << "plugins stay where hosts of before ran them";  // I6
  EXPECT_EQ(
      sql.text(
          "SELECT string_agg(client_ref || ':' || state || ':' || coalesce(reason, 'none') || ':' || (completed_at IS NULL), ' '"
          " ORDER BY id) FROM submission_states"),
      "open:pending:none:true ended:exhausted:max_attempts:false");
  EXPECT_EQ(sql.text("SELECT claim_token || ' ' || delivery_id FROM claimed"), "5 3072");
  auto queue = make_queue_store(address);
  ASSERT_TRUE(queue->give_back(0, {7}, {5}));
  const auto claimed =
      queue->claim(0, {8}, {6}, Millis{60'000}, std::vector<RouteShare>{{.route = {1}, .count = 9}}, {}, std::size_t{1} << 30);
  ASSERT_TRUE(claimed) << claimed.error().what;
  ASSERT_EQ(claimed->rows.size(), 1u);
  EXPECT_EQ(claimed->rows[0].payload, R"({"text":"old"})") << "moved to its submission";
  const auto settled = make_settle_store(address)->settle(
      0, std::vector<Settlement>{
             {.delivery = {3072},
              .submission = {1024},
              .token = {6},
              .status = Status::accepted,
              .history = {.attempt_count = 1},
              .ended = claimed->now,
              .attempt = AttemptRecord{.number = 1, .started = claimed->now, .finished = claimed->now, .outcome = "accepted"},
              .action = "intent_accepted",
              .trigger = "accept",
              .actor = "box:1",
              .action_type = "sms"}});
  ASSERT_TRUE(settled) << settled.error().what;
  EXPECT_EQ(settled->held.size(), 1u);
  EXPECT_EQ(sql.text("SELECT string_agg(id || ' ' || status, ', ' ORDER BY id) FROM deliveries"),
            "3072 accepted, 4096 exhausted");
  EXPECT_EQ(sql.text("SELECT state FROM submission_states WHERE client_ref = 'open'"), "accepted");
}

// A database of a host that was stopped when forms' deliveries had two rows each, and their bodies a table of their own.
TEST_F(Migrating, FormsUnderWayGoOnWithOneRowForEachDelivery) {  // M17 M18
  make_version(10);
  const Contract letter{.target = "contact",
                        .action_type = "letter",
                        .url = {},
                        .destination = "{}",
                        .policy = Policy::max_attempts,
                        .max_attempts = 3,
                        .terminal_outcomes = {}};
  sql.execute(
      "INSERT INTO contract_snapshots (org_id, hash, contract) VALUES (1, 'x', '" + to_json(letter) +
      "');"
      // A form with an action that failed and is replayed with an edited payload, one that waits, and one that has ended.
      "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at) VALUES"
      " (0, 1024, 1, 'form', 'f-1', 'form', 'contact', 'processing', '', now()),"
      " (0, 2048, 1, 'form', 'gone', 'form', 'contact', 'purged', '', now()),"
      " (0, 3072, 1, 'intent', 'old', 'intent', 'sms', 'as_delivery', '', now());"  // taken in when intents had two rows as well
      "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body) "
      "VALUES"
      " (0, 4096, 1, 'intent', 'new', 'intent', 'sms', 'as_delivery', '', now(), '{\"n\":4}');"
      "INSERT INTO payloads VALUES (0, 1024, 1, '{\"n\":1}'), (0, 3072, 1, '{\"n\":3}');"
      "INSERT INTO form_submissions (shard, submission_id, org_id, finalized_at, processing_since, retention_expires_at)"
      " VALUES (0, 1024, 1, now(), now(), now() + interval '1 day');"
      "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, attempt_count, "
      "reason, replay,"
      " result, ended_at) VALUES"
      " (0, 10240, 1, 1024, 1, 'letter', 1, 'exhausted', 3, 'max_attempts', 0, '{\"kept\":1}', now()),"
      " (0, 11264, 1, 1024, 1, 'letter', 1, 'due', 0, NULL, 1, NULL, NULL),"
      " (0, 12288, 1, 1024, 2, 'letter', 1, 'waiting', 0, NULL, 0, NULL, NULL),"
      " (0, 13312, 1, 1024, 3, 'letter', 1, 'waiting', 0, NULL, 0, NULL, NULL),"  // in no queue
      " (0, 14336, 1, 3072, 1, 'sms', 1, 'due', 0, NULL, 0, NULL, NULL);"
      "INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, queued, "
      "attempt_count,"
      " maybe_sent, progress, edited) VALUES"
      " (0, 11264, 1, 1024, 1, 1, now(), 'due', true, 1, true, '{\"kept\":1}', true),"
      " (0, 12288, 1, 1024, 2, 1, now(), 'waiting', false, 0, false, NULL, false),"
      " (0, 14336, 1, 3072, 1, 1, now(), 'due', true, 0, false, NULL, false),"
      " (0, 4096, 1, 4096, 1, 1, now(), 'due', true, 0, false, NULL, false);"
      "INSERT INTO edited_payloads VALUES (0, 11264, 1, '{\"n\":\"edited\"}')");
  const auto applied = migrate(address);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_EQ(sql.text("SELECT string_agg(id || ':' || replay || ':' || status || ':' || coalesce(reason, ''), ' ' ORDER BY id) "
                     "FROM deliveries"),
            "10240:0:exhausted:max_attempts 13312:0:cancelled:not_in_queue");
  EXPECT_EQ(sql.text("SELECT string_agg(delivery_id || ':' || replay || ':' || status || ':' || attempt_count, ' ' ORDER BY "
                     "delivery_id) FROM ready"),
            "4096:0:due:0 11264:1:due:1 12288:0:waiting:0 14336:0:due:0");
  EXPECT_EQ(sql.text("SELECT string_agg(client_ref || ':' || coalesce(convert_from(body, 'UTF8'), 'none'), ' ' ORDER BY id) FROM "
                     "submissions"),
            R"(f-1:{"n":1} gone:none old:{"n":3} new:{"n":4})");

  const auto reader = make_read_store(address, 1);
  for (const char* ref : {"old", "new"}) {
    const auto read = reader->deliveries(kDefaultOrg, "intent", ref);
    ASSERT_TRUE(read) << read.error().what;
    ASSERT_EQ(read->size(), 1u) << ref;
    EXPECT_EQ(read->front().status, Status::due) << ref;
  }
  const auto claimed = make_queue_store(address)->claim(
      0, {8}, {6}, Millis{60'000}, std::vector<RouteShare>{{.route = {1}, .count = 9}}, {}, std::size_t{1} << 30);
  ASSERT_TRUE(claimed) << claimed.error().what;
  std::map<std::int64_t, std::string> payloads;
  std::vector<Settlement> ends;
  for (const auto& row : claimed->rows) {
    payloads[row.delivery.value] = row.payload;
    ends.push_back({.delivery = row.delivery,
                    .submission = row.submission,
                    .token = {6},
                    .status = Status::accepted,
                    .history = {.attempt_count = row.history.attempt_count + 1},
                    .ended = claimed->now,
                    .attempt = AttemptRecord{.number = row.history.attempt_count + 1,
                                             .started = claimed->now,
                                             .finished = claimed->now,
                                             .outcome = "accepted"},
                    .action = row.kind == "form" ? "letter_success" : "",
                    .trigger = "accept",
                    .actor = "box:1",
                    .metadata = "{}",
                    .action_type = row.kind == "form" ? "letter" : "sms",
                    .of_form = row.kind == "form"});
  }
  EXPECT_EQ(payloads,
            (std::map<std::int64_t, std::string>{{4096, R"({"n":4})"}, {11264, R"({"n":"edited"})"}, {14336, R"({"n":3})"}}));
  ASSERT_TRUE(make_settle_store(address)->settle(0, ends));
  EXPECT_EQ(sql.text("SELECT string_agg(delivery_id || ':' || status, ' ') FROM ready"), "12288:due") << "its turn has come";
  EXPECT_EQ(sql.text("SELECT replay || ' ' || status || ' ' || attempt_count || ' ' || (result ->> 'kept') FROM deliveries WHERE "
                     "id = 11264"),
            "1 accepted 2 1");
  EXPECT_EQ(sql.text("SELECT string_agg(client_ref || ':' || state, ' ' ORDER BY id) FROM submission_states"),
            "f-1:processing gone:purged old:accepted new:accepted");
}

TEST_F(Migrating, SeveralHostsThatStartAtOnceApplyEachMigrationOnce) {  // M18
  std::vector<Result<std::vector<std::string>>> done(4, fail(Error::Kind::bug, "not run"));
  {
    std::vector<std::jthread> hosts;
    for (auto& one : done) hosts.emplace_back([&one, this] { one = migrate(address); });
  }
  std::size_t applied = 0;
  for (const auto& one : done) {
    ASSERT_TRUE(one) << one.error().what;
    applied += one->size();
  }
  EXPECT_EQ(applied, migrations().size());
}

TEST_F(Migrating, ADatabaseThatIsNewerThanTheProgramIsRefused) {
  ASSERT_TRUE(migrate(address));
  sql.execute("INSERT INTO waybill.schema_migrations (version, name) VALUES (9999, '9999_later')");
  const auto migrated = migrate(address);
  const auto state = schema_state(address);
  ASSERT_FALSE(migrated);
  ASSERT_FALSE(state);
  for (const auto& error : {migrated.error(), state.error()}) {
    EXPECT_EQ(error.kind, Error::Kind::invalid);
    EXPECT_NE(error.what.find("9999"), std::string::npos) << error.what;
    EXPECT_NE(error.what.find("newer waybill"), std::string::npos) << error.what;
  }
}

TEST_F(Migrating, ASchemaMayHaveAnyNameAndTwoLiveSideBySide) {
  const DatabaseAddress odd{url, "it's \"odd\""};
  ASSERT_TRUE(migrate(address));
  const auto applied = migrate(odd);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_EQ(applied->size(), migrations().size());
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_tables WHERE tablename = 'submissions'"), 2);
  // A function that runs with its owner's rights sees the schema that it is in, and no other.
  EXPECT_EQ(sql.number("SELECT count(DISTINCT pronamespace) FROM pg_proc WHERE prosecdef AND proname = 'archive_submissions'"),
            2);
  EXPECT_EQ(sql.text("SELECT coalesce(string_agg(p.oid::regprocedure::text, ' '), '') FROM pg_proc p JOIN pg_namespace n"
                     " ON n.oid = p.pronamespace WHERE n.nspname IN ('waybill', 'it''s \"odd\"')"
                     " AND (prosecdef OR proconfig::text LIKE '%search_path%') AND NOT"
                     " format('search_path=%I, pg_temp', n.nspname) = ANY (coalesce(proconfig, '{}'))"),
            "");
}

// ---- functions ----

SqlFunctions saying(const std::string& words) {
  return {"CREATE OR REPLACE FUNCTION said() RETURNS text LANGUAGE sql AS $$ SELECT '" + words + "' $$;", words};
}

TEST_F(Migrating, FunctionsAreAppliedWhenTheirTextHasChangedAndNotOtherwise) {
  const std::string rows =
      "SELECT string_agg(xmin::text, ' ' ORDER BY oid) FROM pg_proc WHERE pronamespace = 'waybill'::regnamespace";
  ASSERT_TRUE(migrate(address));
  const auto first = sql.text(rows);
  ASSERT_TRUE(migrate(address));
  EXPECT_EQ(sql.text(rows), first) << "nothing is written when nothing has changed";
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("one")));
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "one");
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("two")));
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "two");
  ASSERT_TRUE(migrate(address));
  EXPECT_NE(sql.text(rows), first) << "the texts of this program are there again";
  EXPECT_EQ(sql.text("SELECT hash FROM waybill.schema_functions"), embedded_functions().hash);
}

TEST_F(Migrating, AnOlderProgramLeavesTheFunctionsOfANewerOneAlone) {
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("new")));
  auto known = migrations();
  known.pop_back();
  ASSERT_TRUE(migrate(address, {}, known, saying("old")));
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "new");
}

TEST_F(Migrating, FunctionsThatCannotBeAppliedChangeNothing) {
  ASSERT_TRUE(migrate(address, {}, migrations(), saying("good")));
  auto broken = saying("bad");
  broken.sql += "CREATE OR REPLACE FUNCTION said() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;";
  const auto done = migrate(address, {}, migrations(), broken);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().what.starts_with("schema/functions: ")) << done.error().what;
  EXPECT_EQ(sql.text("SELECT waybill.said()"), "good");
}

// An older program of the same version would take a change back: so each change has a migration, which states the hash of what it
// brings.
TEST_F(Migrating, TheNewestMigrationThatBringsFunctionsStatesTheirHash) {
  constexpr std::string_view kMark = "-- Functions: ";
  std::string stated = "none";
  for (const auto& migration : migrations())
    if (const auto at = migration.sql.find(kMark); at != std::string_view::npos)
      stated = migration.sql.substr(at + kMark.size(), migration.sql.find('\n', at) - at - kMark.size());
  EXPECT_EQ(stated, embedded_functions().hash)
      << "schema/functions has changed: add a migration with the line " << kMark << embedded_functions().hash;
}

// Each function that the schema has stands in the file of its name.
TEST_F(Migrating, EveryFunctionHasItsFile) {
  ASSERT_TRUE(migrate(address));
  const auto all = embedded_functions().sql;
  std::size_t seen = 0;
  for (const auto& row : sql.rows("SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'waybill'::regnamespace")) {
    ++seen;
    EXPECT_NE(all.find("CREATE OR REPLACE FUNCTION " + *row[0] + "("), std::string::npos) << *row[0];
  }
  EXPECT_GT(seen, 30u);
}

TEST_F(Migrating, ADatabaseThatIsAwayIsUnavailable) {
  const auto done = migrate({"postgresql://nobody@/nowhere?host=/nonexistent", "waybill"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace waybill::testing
