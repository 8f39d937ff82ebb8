// What the database shows and takes from the tenant role: the rows of the transaction's organisation, of every table.  N3
#include <array>
#include <thread>

#include "contract/tenants_world.h"
#include "store/pg/tenant_link.h"

namespace waybill::testing {
namespace {

// Tables and partitions with an org_id that row level security does not keep, and what is missing of it.
constexpr const char* kUnguarded =
    "SELECT c.relname || ': ' || CASE WHEN NOT c.relrowsecurity THEN 'not enabled' WHEN NOT c.relforcerowsecurity THEN 'not "
    "forced'"
    " ELSE 'its policies' END FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'"
    " WHERE c.relnamespace = 'waybill'::regnamespace AND c.relkind IN ('r', 'p') AND NOT ("
    "   c.relrowsecurity AND c.relforcerowsecurity"
    "   AND EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'waybill' AND p.tablename = c.relname AND p.policyname = "
    "'engine'"
    "               AND p.roles = ARRAY[pg_get_userbyid(c.relowner)] AND p.cmd = 'ALL' AND p.qual = 'true' AND p.with_check = "
    "'true')"
    "   AND EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'waybill' AND p.tablename = c.relname AND p.policyname = "
    "'tenant'"
    "               AND p.roles = ARRAY['waybill_tenant'::name] AND p.cmd = 'ALL' AND p.qual LIKE '(org_id = ( SELECT % "
    "tenant_org))'"
    "               AND p.with_check = p.qual)"
    "   AND NOT EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'waybill' AND p.tablename = c.relname"
    "                   AND 'public' = ANY (p.roles))) ORDER BY 1";

// N3
TEST_F(Tenants, EveryTableAndPartitionWithAnOrganisationIsUnderForcedPolicies) {
  sql.execute("SELECT make_partitions(20)");
  EXPECT_EQ(list(kUnguarded), std::vector<std::string>{})
      << "apply_access() does it, for every table with an org_id: a migration that is not run by `waybill migrate` calls it";
  EXPECT_GT(tables_with_org().size(), 40u);
  sql.execute("CREATE TABLE forgotten (org_id integer)");
  EXPECT_EQ(list(kUnguarded), std::vector<std::string>{"forgotten: not enabled"}) << "and this test sees it";
  sql.execute("ALTER TABLE forgotten OWNER TO waybill_owner");
  as(kAdmin).execute("SET ROLE waybill_owner");
  as(kAdmin).execute("SELECT apply_access()");
  EXPECT_EQ(list(kUnguarded), std::vector<std::string>{});
}

// N3
TEST_F(Tenants, WithoutASettingOfItsOwnTheTenantRoleSeesAndChangesNothing) {
  for (const auto& table : tables_with_org()) EXPECT_NE(seen_by(sql, table), "") << table;
  for (const std::string setting : {"", " ", "x", "0", "-1", "1 OR true", "1.0", "3", "99999999999999999999", "NULL", "''"}) {
    careless().execute("SET waybill.org TO '" + (setting == "''" ? "''''" : setting) + "'");
    for (const auto& table : tables_with_org()) {
      const auto column = table == "organisations" ? "name" : "org_id";
      EXPECT_EQ(seen_by(careless(), table), "none") << table << ": " << setting;
      EXPECT_EQ(changed(careless(), std::string("UPDATE ") + table + " SET " + column + " = " + column), 0)
          << table << ": " << setting;
      EXPECT_EQ(changed(careless(), "DELETE FROM " + table), 0) << table << ": " << setting;
    }
  }
  SqlClient fresh(url);  // which never had the setting
  fresh.execute("SET search_path TO waybill; SET ROLE waybill_tenant");
  for (const auto& table : tables_with_org()) EXPECT_EQ(seen_by(fresh, table), "none") << table;
}

// N3
TEST_F(Tenants, AnOrganisationSeesAndChangesItsOwnRowsOnly) {
  careless().execute("SET waybill.org TO '2'");
  std::size_t with_rows = 0;
  for (const auto& table : tables_with_org()) {
    const bool has_rows = seen_by(sql, table).find('2') != std::string::npos;
    with_rows += has_rows ? 1 : 0;
    EXPECT_EQ(seen_by(careless(), table), has_rows ? "2" : "none") << table;
  }
  EXPECT_GE(with_rows, 20u);
  const std::string with_org =
      "SELECT table_name FROM access_rules r JOIN pg_class c ON c.oid = table_name::regclass WHERE EXISTS"
      " (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'org_id') AND relkind ";
  EXPECT_EQ(list(with_org + "<> 'v' AND NOT EXISTS (SELECT FROM pg_policies WHERE tablename = table_name AND policyname ="
                            " 'tenant')"),
            std::vector<std::string>{});
  const auto views = list(with_org + "= 'v'");
  EXPECT_GE(views.size(), 3u);
  for (const auto& view : views) EXPECT_EQ(careless().number("SELECT count(*) FROM " + view + " WHERE org_id <> 2"), 0) << view;
  // Neither written as another's, nor given to another, nor taken from it.
  EXPECT_NE(careless().refusal("INSERT INTO replay_turns VALUES (3, now())").find("row-level security"), std::string::npos);
  EXPECT_NE(careless().refusal("UPDATE alerts SET org_id = 1, incident = 'j'").find("row-level security"), std::string::npos);
  EXPECT_EQ(changed(careless(), "UPDATE alerts SET message = 'mine'"), 1);
  EXPECT_EQ(changed(careless(), "DELETE FROM target_outages WHERE org_id = 1"), 0);
  EXPECT_EQ(sql.text("SELECT message FROM alerts WHERE org_id = 1"), "m");
  EXPECT_NE(
      careless()
          .refusal("INSERT INTO target_rates VALUES (1, 't', now()) ON CONFLICT (org_id, target) DO UPDATE SET next_at = 'epoch'")
          .find("row-level security"),
      std::string::npos);
}

// N3: what is not named in access_rules, the role cannot even ask about
TEST_F(Tenants, TheTenantRoleHasTheRightsThatAccessRulesNamesAndNoOthers) {
  for (const auto& table :
       list("SELECT relname FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND relkind IN ('r', 'p', 'v')"))
    for (const std::string right : {"SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"}) {
      const auto rule = sql.text("SELECT coalesce((SELECT tenant FROM access_rules WHERE table_name = '" + table + "'), '')");
      const std::string ask = right == "DELETE" || right == "TRUNCATE" || right == "TRIGGER" ? "has_table" : "has_any_column";
      EXPECT_EQ(sql.text("SELECT " + ask + "_privilege('waybill_tenant', '" + table + "', '" + right + "')"),
                rule.find(right) == std::string::npos ? "f" : "t")
          << table << " " << right;
    }
  EXPECT_EQ(
      list("SELECT table_name FROM access_rules a WHERE tenant IS NOT NULL AND table_name NOT IN ('action_words', 'listing', "
           "'channel_types', "
           "'pipeline_moves', 'pipeline_versions', 'restores') AND NOT EXISTS"
           " (SELECT FROM pg_attribute WHERE attrelid = a.table_name::regclass AND attname = 'org_id')"),
      std::vector<std::string>{})
      << "without an org_id it must say the same to every organisation";
  for (const char* call : {"SELECT make_partitions(2)", "SELECT apply_access()", "SELECT grant_tenant('waybill_tenant')",
                           "SELECT take_permits(1, 't', 1, '1 s', 1)", "SELECT setval('object_ids', 1)",
                           "SELECT hash FROM api_tokens", "CREATE TABLE mine (n int)"}) {
    SqlClient tenant(url);
    tenant.execute("SET search_path TO waybill; SET ROLE waybill_tenant");
    EXPECT_NE(tenant.refusal(call).find("permission denied"), std::string::npos) << call << ": " << tenant.refusal(call);
  }
}

// N3: a value that an organisation chooses never collides with another's
TEST_F(Tenants, NoFunctionWithItsOwnersRightsIsTheTenantsOrEverybodys) {
  EXPECT_EQ(list("SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'waybill'::regnamespace AND p.prosecdef AND p.proname "
                 "<> 'refuse'"
                 " AND (has_function_privilege('waybill_tenant', p.oid, 'EXECUTE') OR has_function_privilege('public', p.oid, "
                 "'EXECUTE'))"),
            std::vector<std::string>{});
}

TEST_F(Tenants, EveryKeyWithATextOfATenantBeginsInItsOrganisation) {
  EXPECT_EQ(list("SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
                 " WHERE i.indisunique AND c.relnamespace = 'waybill'::regnamespace AND NOT c.relispartition"
                 " AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id')"
                 " AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey)"
                 "             AND a.atttypid IN ('text'::regtype, 'bytea'::regtype))"
                 " AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey)"
                 "                 AND a.attname = 'org_id') ORDER BY 1"),
            (std::vector<std::string>{"api_tokens_hash_key", "api_tokens_public_id_key", "organisations_name_key"}))
      << "a token's hash and id are random, and operators choose the names of organisations";
  EXPECT_EQ(list("SELECT conname FROM pg_constraint k WHERE contype = 'f' AND connamespace = 'waybill'::regnamespace"
                 " AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = k.conrelid AND attname = 'org_id')"
                 " AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = k.confrelid AND attname = 'org_id')"
                 " AND k.confrelid <> 'contract_snapshots'::regclass"
                 " AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = k.conrelid AND attnum = ANY (k.conkey) AND attname "
                 "= 'org_id')"),
            std::vector<std::string>{})
      << "a foreign key between tables with an org_id has it; the number of a route is no tenant's value";
}

// N3: the role and the setting end with the transaction, whoever the host logs in as
TEST_F(Tenants, ATransactionOfOneOrganisationLeavesNothingBehind) {
  constexpr Statement kWho{"who", "SELECT current_user, coalesce(current_setting('waybill.org', true), '')"};
  constexpr Statement kSeen{"seen", "SELECT string_agg(client_ref, ' ') FROM submissions"};
  for (const std::string login : {kSuperuser, kAdmin, kHost}) {
    Link link(address(login), "read");
    TenantLink tenant(link, WithoutTenantRole::refuse);
    const auto ours = tenant.read({2}, kSeen);
    ASSERT_TRUE(ours) << login << ": " << ours.error().what;
    EXPECT_EQ(ours->text(0, 0), "ref-3072") << login;
    EXPECT_EQ(tenant.read({7}, kSeen)->text(0, 0), "") << login;
    const auto inside = tenant.read({2}, kWho);
    EXPECT_EQ(inside->text(0, 0), kTenant) << login;
    EXPECT_EQ(inside->text(0, 1), "2") << login;
    const auto failed = tenant.transact({2}, [](Connection&) -> Result<void> { return fail(Error::Kind::conflict, "no"); });
    EXPECT_FALSE(failed);
    const auto after = link.run(kWho);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->text(0, 0), login);
    EXPECT_EQ(after->text(0, 1), "");
    EXPECT_EQ(link.run(kSeen)->text(0, 0), "ref-1024 ref-2048 ref-3072") << login;
  }
}

// N3
TEST_F(Tenants, WithoutTheRoleWhatNeedsItIsRefusedInWordsAndTheRestReliesOnItsStatements) {
  constexpr Statement kSeen{"seen", "SELECT count(*) FROM submissions"};
  cluster().create_role("waybill_stranger", "LOGIN");
  sql.execute(
      "GRANT SELECT ON ALL TABLES IN SCHEMA waybill TO waybill_stranger; GRANT USAGE ON SCHEMA waybill TO waybill_stranger");
  sql.execute("REVOKE waybill_tenant FROM waybill_app");
  Link link(address(kHost), "read");
  TenantLink needs(link, WithoutTenantRole::refuse), manages(link, WithoutTenantRole::rely_on_statements);
  const auto refused = needs.read({1}, kSeen);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  for (const char* word : {kTenant, "waybill roles"})
    EXPECT_NE(refused.error().what.find(word), std::string::npos) << refused.error().what;
  ASSERT_TRUE(manages.read({1}, kSeen));
  EXPECT_EQ(manages.read({1}, kSeen)->number(0, 0), 3);
  ASSERT_TRUE(set_up_roles(address(kSuperuser), {}, {}));
  const auto again = needs.read({1}, kSeen);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->number(0, 0), 2);
}

class OneLogin : public RolesWorld {
 protected:
  void SetUp() override { ASSERT_TRUE(migrate(address(kAdmin))); }
};

// N3: nobody has to have roles, until there is a second organisation
TEST_F(OneLogin, AnOwnerThatMayNotCreateRolesIsToldWhatToRunBeforeThereIsASecondOrganisation) {
  sql.execute("UPDATE installation SET tenant_role = 'tenant of this one'");
  ASSERT_TRUE(migrate(address(kAdmin))) << "it works as before";
  const auto store = make_org_store(address(kAdmin));
  const auto refused = store->create("acme");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::unavailable);
  EXPECT_NE(refused.error().what.find("waybill roles"), std::string::npos) << refused.error().what;
  sql.execute("DO $$ BEGIN CREATE ROLE waybill_app NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
  sql.execute("DO $$ BEGIN CREATE ROLE waybill_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
  const auto told = set_up_roles(address(kAdmin), {}, {});
  ASSERT_FALSE(told);
  EXPECT_NE(told.error().what.find("CREATE ROLE \"tenant of this one\" NOLOGIN; GRANT \"tenant of this one\" TO \"waybill_app\", "
                                   "\"waybill_owner\";"),
            std::string::npos)
      << told.error().what;
  sql.execute("CREATE ROLE \"tenant of this one\" NOLOGIN");
  const auto half = set_up_roles(address(kAdmin), {}, {});
  ASSERT_FALSE(half);
  EXPECT_NE(half.error().what.find("GRANT \"tenant of this one\" TO waybill_app; GRANT \"tenant of this one\" TO waybill_owner"),
            std::string::npos)
      << half.error().what;
  ASSERT_TRUE(set_up_roles(address(kSuperuser), {}, {}));
  const auto made = store->create("acme");
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(
      sql.text(
          "SELECT string_agg(policyname || roles::text, ' ' ORDER BY policyname) FROM pg_policies WHERE tablename = 'alerts'"),
      "application{waybill_app} engine{waybill_owner} reader{waybill_reader} tenant{\"tenant of this one\"}");
}

// N3
TEST_F(OneLogin, ALoginThatMayCreateRolesSetsItUpByMigrating) {
  sql.execute("UPDATE installation SET tenant_role = 'made by migrating'");
  ASSERT_TRUE(migrate(address(kSuperuser)));
  const auto made = make_org_store(address(kAdmin))->create("acme");
  EXPECT_TRUE(made) << made.error().what;
}

// N3: one that came by REASSIGN OWNED or with a restore
TEST_F(OneLogin, ANewOwnerGetsItsPoliciesByMigrating) {
  cluster().create_role("waybill_heir");
  sql.execute("REASSIGN OWNED BY waybill_owner TO waybill_heir");
  write_submission(1024, "routed");
  EXPECT_EQ(as("waybill_heir").number("SELECT count(*) FROM ready"), 0) << "not its own yet";
  const auto migrated = migrate(address("waybill_heir"));
  ASSERT_TRUE(migrated) << migrated.error().what;
  EXPECT_EQ(as("waybill_heir").number("SELECT count(*) FROM ready"), 1);
}

// N3
TEST_F(Tenants, ARoleThatWouldSeeEveryOrganisationIsNoTenantRole) {
  cluster().create_role("waybill_strong", "BYPASSRLS");
  cluster().create_role("waybill_both", "NOLOGIN");
  sql.execute("GRANT waybill_reader TO waybill_both");
  const std::vector<std::array<std::string, 2>> wrong{{kSuperuser, "superuser"},
                                                      {"waybill_strong", "BYPASSRLS"},
                                                      {kOwner, "owner"},
                                                      {kAdmin, "member"},
                                                      {"waybill_app", "another one"},
                                                      {"waybill_reader", "another one"},
                                                      {"waybill_both", "application"},
                                                      {"", "no name"}};
  for (const auto& [name, word] : wrong) {
    const auto done = set_up_roles(address(kSuperuser), {}, {}, {}, name);
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().kind, Error::Kind::invalid);
    EXPECT_NE(done.error().what.find(word), std::string::npos) << done.error().what;
  }
  const auto other = set_up_roles(address(kSuperuser), {}, {}, {}, "it's \"tenants\"");
  ASSERT_TRUE(other) << other.error().what;
  EXPECT_EQ(other->created, std::vector<std::string>{"it's \"tenants\""});
  EXPECT_EQ(sql.text("SELECT has_table_privilege('waybill_tenant', 'submissions', 'SELECT')"), "f");
  EXPECT_EQ(list("SELECT DISTINCT roles::text FROM pg_policies WHERE schemaname = 'waybill' AND policyname = 'tenant'").size(),
            1u);
}

// N3: roles are the cluster's
TEST(TenantRole, InstallationsOfOneClusterMayBeginAtOnce) {
  PostgresCluster young;  // nobody has made the role in it
  std::vector<std::string> urls;
  for (int i = 0; i < 4; ++i) urls.push_back(young.create_database());
  std::vector<std::string> wrong(urls.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < urls.size(); ++i)
      threads.emplace_back([&, i] {
        const DatabaseAddress address{urls[i], "waybill"};
        if (const auto applied = migrate(address); !applied) wrong[i] = applied.error().what;
        if (const auto made = make_org_store(address)->create("acme"); !made) wrong[i] += made.error().what;
      });
  }
  EXPECT_EQ(wrong, std::vector<std::string>(urls.size()));
}

}  // namespace
}  // namespace waybill::testing
