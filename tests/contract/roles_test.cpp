// What each role may do and see: the application what the program needs, the reader nothing purged, everybody else nothing.  F14
#include <array>

#include "contract/roles_world.h"

namespace waybill::testing {
namespace {

class DatabaseRoles : public RolesWorld {
 protected:
  std::vector<std::string> tables() { return relations("relkind IN ('r', 'p')"); }
  std::vector<std::string> relations(const std::string& kind) {  // partitions apart
    return list("SELECT relname FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND " + kind +
                " AND NOT relispartition ORDER BY 1");
  }
  std::int64_t seen(const char* role, const std::string& table) { return as(role).number("SELECT count(*) FROM " + table); }
};

// F14
TEST_F(DatabaseRoles, EveryTableHasARuleAndEveryTableThatShowsASubmissionIsHiddenWithIt) {
  EXPECT_EQ(relations("relkind IN ('r', 'p', 'v')"), list("SELECT table_name FROM access_rules ORDER BY 1"))
      << "a migration that makes a table adds its row to access_rules";
  EXPECT_EQ(list("SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'waybill' AND column_name IN"
                 " ('submission_id', 'delivery_id', 'client_ref') AND table_name IN (SELECT table_name FROM access_rules)"
                 " AND table_name NOT IN (SELECT viewname FROM pg_views WHERE schemaname = 'waybill') ORDER BY 1"),
            list("SELECT table_name FROM access_rules WHERE seen_with IS NOT NULL ORDER BY 1"));
  EXPECT_EQ(relations("relkind = 'v' AND NOT coalesce('security_invoker=true' = ANY (reloptions), false)"),
            std::vector<std::string>{})
      << "a view shows what its tables show to whoever asks";
  EXPECT_EQ(list("SELECT table_name FROM access_rules WHERE reader IS NULL"), std::vector<std::string>{});
  for (const char* role : {kHost, kAnalyst})
    for (const auto& table : tables())
      EXPECT_EQ(sql.text("SELECT has_any_column_privilege('" + std::string(role) + "', '" + table + "', 'SELECT')"), "t")
          << role << ": " << table;
}

// F14
TEST_F(DatabaseRoles, TheReaderSeesNothingOfAPurgedSubmissionAndTheApplicationAll) {
  const auto showing = list("SELECT table_name FROM access_rules WHERE seen_with IS NOT NULL");
  ASSERT_GE(showing.size(), 11u);
  for (const auto& table : showing) {
    const auto all = seen(kHost, table);
    EXPECT_GE(all, 2) << table << ": the world has a row of each submission";
    EXPECT_EQ(seen(kAnalyst, table), all / 2) << table;
  }
  EXPECT_EQ(as(kAnalyst).text("SELECT string_agg(client_ref, ' ') FROM submissions"), "ref-1024");
  sql.execute("UPDATE submissions SET state = 'purged'");
  for (const auto& table : showing) EXPECT_EQ(seen(kAnalyst, table), 0) << table;
  as(kHost).execute(
      "INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type)"
      " VALUES (0, 0, now(), 1, 'admin_reload_yaml', 'start', 'box:1', 'system')");
  EXPECT_EQ(seen(kAnalyst, "audit_log"), 1) << "what is about no submission stays";
}

// F14: an intent's delivery has no row of its own before its end
TEST_F(DatabaseRoles, TheReaderSeesTheAttemptsOfAnUnfinishedIntent) {
  as(kHost).execute(
      "INSERT INTO attempts (shard, delivery_id, number, org_id, started_at, outcome) VALUES (0, 4096, 1, 1, now(), 'error')");
  const std::string seen = "SELECT count(*) FROM attempts WHERE delivery_id = 4096";
  EXPECT_EQ(as(kAnalyst).text(seen), "0");
  as(kHost).execute(
      "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body) "
      "VALUES"
      " (0, 4096, 1, 'intent', 'i-1', 'intent', 'sms', 'as_delivery', '\\x00', now(), '{}');"
      "INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status) VALUES"
      " (0, 4096, 1, 4096, 1, 1, now(), 'due')");
  EXPECT_EQ(as(kAnalyst).text(seen), "1");
}

// F14: neither by a partition's name, nor by a function that tells what it is given
TEST_F(DatabaseRoles, TheReaderFindsNoWayAroundThat) {
  for (const auto& partition : list("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent IN ('attempts'::regclass,"
                                    " 'audit_log'::regclass)")) {
    EXPECT_TRUE(permission_denied(kAnalyst, "SELECT * FROM " + partition)) << partition;
    EXPECT_TRUE(permission_denied(kHost, "SELECT * FROM " + partition)) << partition;
    sql.execute("GRANT SELECT ON " + partition + " TO waybill_reader");  // by mistake, as with ALL TABLES IN SCHEMA
    EXPECT_EQ(seen(kAnalyst, partition), 0) << partition;
  }
  as(kAnalyst).execute("CREATE TEMP TABLE told (what text)");
  as(kAnalyst).execute(
      "CREATE FUNCTION pg_temp.tell(what text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS"
      " $$ BEGIN INSERT INTO told VALUES (what); RETURN true; END $$");
  as(kAnalyst).execute("SELECT * FROM submissions WHERE pg_temp.tell(client_ref)");
  as(kAnalyst).execute("SELECT * FROM dead_letters WHERE pg_temp.tell(client_ref)");
  EXPECT_EQ(as(kAnalyst).text("SELECT string_agg(DISTINCT what, ' ') FROM told"), "ref-1024");
  EXPECT_NE(refusal(kAnalyst, "SET row_security = off; SELECT * FROM submissions"), "");
}

// F14
TEST_F(DatabaseRoles, TheReaderWritesNothingAndSeesNoHashOfAToken) {
  for (const auto& table : tables()) {
    EXPECT_TRUE(permission_denied(kAnalyst, "DELETE FROM " + table)) << table;
    EXPECT_TRUE(permission_denied(kAnalyst, "TRUNCATE " + table)) << table;
    EXPECT_TRUE(permission_denied(kAnalyst, "INSERT INTO " + table + " DEFAULT VALUES")) << table;
    for (const char* privilege : {"INSERT", "UPDATE", "REFERENCES"})
      EXPECT_EQ(sql.text("SELECT has_any_column_privilege('waybill_analyst', '" + table + "', '" + privilege + "')"), "f")
          << table;
  }
  for (const char* statement :
       {"SELECT nextval('object_ids')", "SELECT make_partitions(2)", "SELECT raise_alert(1, 'stuck', 'x', 'x')",
        "SELECT apply_access()", "CREATE TABLE mine (n int)", "SELECT hash FROM api_tokens"})
    EXPECT_TRUE(permission_denied(kAnalyst, statement)) << statement;
  EXPECT_EQ(refusal(kAnalyst, "SELECT name, role, revoked_at FROM api_tokens"), "");
}

// F14
TEST_F(DatabaseRoles, TheApplicationChangesNoSchemaNoRightsAndNoStateByATrick) {
  for (const char* statement : {"CREATE TABLE mine (n int)",
                                "DROP TABLE audit_log_default",
                                "ALTER TABLE audit_log DISABLE TRIGGER ALL",
                                "ALTER TABLE audit_log DETACH PARTITION audit_log_default",
                                "DROP TRIGGER submissions_moves ON submissions",
                                "CREATE POLICY mine ON submissions USING (true)",
                                "ALTER TABLE submissions DISABLE ROW LEVEL SECURITY",
                                "UPDATE installation SET application_role = NULL",
                                "UPDATE access_rules SET application = 'ALL'",
                                "SELECT grant_access('waybill_app', 'waybill_reader')",
                                "SELECT apply_access()",
                                "SELECT take_access('PUBLIC')",
                                "SELECT setval('object_ids', 1)",
                                "DELETE FROM submissions",
                                "DELETE FROM deliveries",
                                "UPDATE deliveries SET status = 'accepted'",
                                "UPDATE api_tokens SET hash = 'x'",
                                "SET session_replication_role = replica",
                                "SET ROLE waybill_owner",
                                "UPDATE pipeline_moves SET to_state = 'received'",
                                "DELETE FROM schema_migrations",
                                "TRUNCATE ready"})
    EXPECT_TRUE(permission_denied(kHost, statement)) << statement << ": " << refusal(kHost, statement);
  as(kHost).execute("CREATE TEMP TABLE pipeline_moves AS SELECT 'form' pipeline, 'purged' from_state, 'received' to_state");
  EXPECT_NE(refusal(kHost, "UPDATE submissions SET state = 'received' WHERE state = 'purged'").find("cannot move"),
            std::string::npos);
  as(kHost).execute("CREATE TEMP TABLE attempts (n int)");
  EXPECT_EQ(refusal(kHost, "SELECT make_partitions(3)"), "");
}

// F14 N3: its plans and the owner's are those of a superuser, for whom row level security does not exist
TEST_F(DatabaseRoles, TheApplicationPaysNothingForRowLevelSecurity) {
  for (const std::string statement :
       {"UPDATE ready SET status = 'claimed' WHERE shard = 0 AND ctid = ANY (ARRAY(SELECT ctid FROM ready WHERE shard = 0 AND "
        "route_id = 1"
        " AND queued AND status = 'due' AND due_at <= now() ORDER BY due_at, delivery_id LIMIT 9 FOR UPDATE SKIP LOCKED)) "
        "RETURNING "
        "delivery_id",
        "SELECT s.client_ref, s.body FROM ready r JOIN submissions s ON s.shard = 0 AND s.id = r.submission_id WHERE r.shard = 0 "
        "AND r.delivery_id = 1124",
        "UPDATE submissions SET state = 'routed' WHERE shard = 0 AND org_id = 1 AND kind = 'form' AND client_ref = 'x'",
        "INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type)"
        " SELECT 0, submission_id, now(), 1, 'x', 'x', 'x', 'admin' FROM ready WHERE shard = 0"}) {
    const auto plan = [&](const char* role) {
      as(role).execute("SET enable_seqscan TO off");
      std::string all;
      for (const auto& row : as(role).rows("EXPLAIN (COSTS OFF, VERBOSE) " + statement)) all += *row[0] + "\n";
      return all;
    };
    EXPECT_EQ(plan(kHost), plan(kSuperuser));
    EXPECT_EQ(plan(kAdmin), plan(kSuperuser)) << "the owner, under forced policies";
  }
}

// F14
TEST_F(DatabaseRoles, EverybodyElseHasNothing) {
  EXPECT_TRUE(permission_denied(kNobody, "SELECT * FROM waybill.submissions"));
  EXPECT_TRUE(permission_denied(kNobody, "SELECT waybill.make_partitions(2)"));
  for (const std::string& catalog :
       {std::string("pg_class c, aclexplode(coalesce(relacl, acldefault(CASE WHEN relkind = 'S' THEN 's' ELSE 'r' END::\"char\","
                    " relowner))) a WHERE relnamespace"),
        std::string("pg_proc c, aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE pronamespace"),
        std::string(
            "pg_type c, aclexplode(coalesce(typacl, acldefault('T', typowner))) a WHERE typtype IN ('e', 'd') AND typnamespace"),
        std::string("pg_namespace c, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) a WHERE oid")})
    EXPECT_EQ(list("SELECT c::text FROM " + catalog + " = 'waybill'::regnamespace AND a.grantee = 0"),
              std::vector<std::string>{});
}

// F14
TEST_F(DatabaseRoles, WhatAMemberOfTheOwnerMakesBelongsToTheOwner) {
  EXPECT_EQ(list("SELECT DISTINCT relowner::regrole::text FROM pg_class WHERE relnamespace = 'waybill'::regnamespace"),
            std::vector<std::string>{kOwner});
  EXPECT_EQ(sql.text("SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'make_partitions' AND prosecdef"), kOwner);
}

// F14
TEST_F(DatabaseRoles, ATableOfALaterMigrationHasItsRightsWithIt) {
  as(kAdmin).execute("SET ROLE waybill_owner");
  as(kAdmin).execute("CREATE TABLE later (shard smallint, submission_id bigint)");
  as(kAdmin).execute("INSERT INTO access_rules VALUES ('later', 'SELECT, INSERT', 'SELECT', 'submission')");
  as(kAdmin).execute("SELECT apply_access()");
  as(kHost).execute("INSERT INTO later VALUES (0, 1024), (0, 2048)");
  EXPECT_EQ(seen(kHost, "later"), 2);
  EXPECT_EQ(seen(kAnalyst, "later"), 1);
  EXPECT_TRUE(permission_denied(kHost, "DELETE FROM later"));
}

// F14
TEST_F(DatabaseRoles, SettingThemUpAgainChangesNothingAndOtherNamesTakeTheirPlace) {
  const std::string rights =
      "SELECT string_agg(oid::regclass || relacl::text, ' ' ORDER BY oid) FROM pg_class"
      " WHERE relnamespace = 'waybill'::regnamespace AND relkind IN ('r', 'p', 'S')";
  const auto before = sql.text(rights);
  const auto again = set_up_roles(address(kAdmin), {}, {});
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->roles.application, "waybill_app");
  EXPECT_EQ(again->owner, kOwner);
  EXPECT_TRUE(again->created.empty());
  EXPECT_EQ(sql.text(rights), before);
  const auto other = set_up_roles(address(kSuperuser), "it's \"another\"", {});
  ASSERT_TRUE(other) << other.error().what;
  EXPECT_EQ(other->created, std::vector<std::string>{"it's \"another\""});
  EXPECT_EQ(other->roles.reader, "waybill_reader");
  EXPECT_TRUE(permission_denied(kHost, "SELECT * FROM waybill.submissions"));
  sql.execute("SET ROLE \"it's \"\"another\"\"\"");
  EXPECT_EQ(sql.number("SELECT count(*) FROM waybill.submissions"), 2);
  sql.execute("RESET ROLE");
  EXPECT_EQ(seen(kAnalyst, "submissions"), 1);
}

// F14
TEST_F(DatabaseRoles, NamesThatWouldKeepNothingFromAnybodyAreRefusedInWords) {
  sql.execute("GRANT waybill_reader TO waybill_analyst");
  cluster().create_role("waybill_mixed");
  sql.execute("GRANT waybill_app TO waybill_mixed");
  const std::vector<std::array<std::string, 3>> wrong{{"one", "one", "two roles"},
                                                      {kSuperuser, "waybill_reader", "superuser"},
                                                      {kAdmin, "waybill_reader", "member"},
                                                      {"waybill_app", kOwner, "owner"},
                                                      {"waybill_app", "waybill_mixed", "not only read"},
                                                      {"", "waybill_reader", "no name"},
                                                      {"pg_mine", "waybill_reader", "no name"},
                                                      {std::string(64, 'a'), "waybill_reader", "no name"}};
  for (const auto& [application, reader, word] : wrong) {
    const auto done = set_up_roles(address(kSuperuser), application, reader);
    ASSERT_FALSE(done) << application << " " << reader;
    EXPECT_EQ(done.error().kind, Error::Kind::invalid);
    EXPECT_NE(done.error().what.find(word), std::string::npos) << done.error().what;
  }
  const auto not_owner = set_up_roles(address(kHost), {}, {});
  ASSERT_FALSE(not_owner);
  EXPECT_NE(not_owner.error().what.find("database.owner_url"), std::string::npos) << not_owner.error().what;
  const auto may_not_create = set_up_roles(address(kAdmin), "new one", "waybill_reader");
  ASSERT_FALSE(may_not_create);
  EXPECT_NE(may_not_create.error().what.find("CREATE ROLE \"new one\" NOLOGIN;"), std::string::npos)
      << may_not_create.error().what;
}

class OneRole : public RolesWorld {
 protected:
  void SetUp() override { ASSERT_TRUE(migrate(address(kAdmin))); }
};

// F14: nobody has to have roles
TEST_F(OneRole, TheOwnerDoesEverythingAndSeesEverythingWhenNoRolesAreSetUp) {
  write_submission(1024, "routed");
  write_submission(2048, "purged");
  EXPECT_EQ(as(kAdmin).number("SELECT count(*) FROM audit_log"), 4);
  EXPECT_EQ(as(kAdmin).number("SELECT make_partitions(3)"), 2);
  const auto due = make_queue_store(address(kAdmin))->due_routes(0);
  ASSERT_TRUE(due) << due.error().what;
  EXPECT_EQ(due->routes.size(), 1u);
  EXPECT_EQ(list("SELECT DISTINCT policyname::text || ' ' || roles::text FROM pg_policies WHERE schemaname = 'waybill' AND "
                 "policyname <> 'tenant'"),
            std::vector<std::string>{"engine {waybill_owner}"});
}

// F14
TEST_F(OneRole, MigratingWithoutTheRightToIsRefusedInWordsUnlessThereIsNothingToDo) {
  const auto hidden = migrate(address(kHost));
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().kind, Error::Kind::invalid);
  EXPECT_NE(hidden.error().what.find("database.owner_url"), std::string::npos) << hidden.error().what;
  ASSERT_TRUE(set_up_roles(address(kSuperuser), {}, {}));
  sql.execute("GRANT waybill_app TO waybill_host");
  const auto nothing = migrate(address(kHost));
  ASSERT_TRUE(nothing) << nothing.error().what;
  EXPECT_TRUE(nothing->empty());
  sql.execute("DELETE FROM schema_migrations WHERE version = (SELECT max(version) FROM schema_migrations)");
  const auto behind = migrate(address(kHost));
  ASSERT_FALSE(behind);
  EXPECT_NE(behind.error().what.find("may not change it"), std::string::npos) << behind.error().what;
}

}  // namespace
}  // namespace waybill::testing
