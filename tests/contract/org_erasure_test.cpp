// An organisation is erased from every table there is, alone, and the certificate says what was erased.  O7
#include "maintenance/org_erasure.h"

#include <map>
#include <nlohmann/json.hpp>

#include "contract/full_tenants_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// Tables without org_id, and why they have nothing of an organisation. A new table stands here or has the column.
const std::map<std::string, std::string> kOfNobody{
    {"access_rules", "rights"},
    {"action_words", "words"},
    {"channel_types", "words"},
    {"claims", "numbers of deliveries, forgotten with the next claim"},
    {"cut_off_hosts", "hosts"},
    {"erasures", "what this is about"},
    {"failure_check_hosts", "hosts"},
    {"failure_check_targets", "targets of the registry"},
    {"failure_checks", "one row"},
    {"form_actions", "the registry"},
    {"forms", "the registry"},
    {"host_facts", "hosts"},
    {"host_registries", "hosts"},
    {"hosts", "hosts"},
    {"host_drains", "hosts"},
    {"known_hosts", "hosts"},
    {"migration_progress", "the schema"},
    {"registry_changes", "the registry"},
    {"registry_files", "the registry"},
    {"registry_versions", "the registry"},
    {"id_keys", "one row"},
    {"installation", "one row"},
    {"kept_defaults", "settings"},
    {"listing", "one row"},
    {"pipeline_moves", "the registry"},
    {"pipeline_versions", "the registry"},
    {"reload_requests", "operators"},
    {"restores", "moments"},
    {"schema_functions", "one row"},
    {"schema_migrations", "the schema"},
    {"token_uses", "erased by their tokens"},
};

class OrgErasure : public FullTenants {
 protected:
  void SetUp() override {
    FullTenants::SetUp();
    erasures = make_erasure_store(address(kAdmin));
  }
  Result<std::string> erase(int pages = 128) {
    return erase_organisation(*erasures, {.name = "acme", .actor = "ada", .pages = pages});
  }
  void disable(const std::string& ago = "1 hour") {
    sql.execute("UPDATE organisations SET disabled_at = now() - interval '" + ago + "' WHERE name = 'acme'");
  }

  std::unique_ptr<ErasureStore> erasures;
};

// O7
TEST_F(OrgErasure, NothingOfItRemainsInAnyTableAndNothingOfOthersGoes) {
  for (const auto& table : tables(false))
    EXPECT_TRUE(kOfNobody.contains(table)) << table << " has no org_id: is it covered by its parent?";
  disable();
  const auto before = rows_of(2), others = rows_of(1);
  for (const auto& [table, rows] : before) EXPECT_GT(rows, 0) << table << ": this test has no row of it";
  const auto done = erase();
  ASSERT_TRUE(done) << done.error().what;
  for (const auto& [table, rows] : rows_of(2)) EXPECT_EQ(rows, 0) << table;
  for (const auto& [table, rows] : rows_of(1)) EXPECT_GE(rows, others.at(table)) << table;
  EXPECT_EQ(sql.number("SELECT count(*) FROM token_uses"), 1);

  const auto certificate = json::parse(*done);
  EXPECT_EQ(certificate["organisation"]["name"], "acme");
  EXPECT_EQ(certificate["actor"], "ada");
  std::map<std::string, std::int64_t> certified;
  std::int64_t all = 0;
  for (const auto& table : certificate["tables"]) {
    certified[table["table"]] = table["rows"];
    all += table["rows"].get<std::int64_t>();
    EXPECT_EQ(table["digest"].get<std::string>().size(), 64u);
  }
  EXPECT_EQ(certificate["rows"], all);
  for (const auto& [table, rows] : before) EXPECT_EQ(certified[table], table == "organisations" ? 0 : rows) << table;
  EXPECT_EQ(certified["token_uses"], 1);
  EXPECT_EQ(sql.text("SELECT metadata ->> 'digest' FROM audit_log WHERE action = 'organisation_erased' AND org_id = 1"),
            certificate["digest"]);
  const auto again = erase();
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(json::parse(*again), certificate) << "it is kept";
}

// O7: killed between two transactions, and run again
TEST_F(OrgErasure, AnInterruptedOneGoesOnAndCertifiesAllOfIt) {
  sql.execute(
      "INSERT INTO attempts (shard, delivery_id, number, org_id, started_at, outcome) SELECT 0, 9999, n, 2, now(), 'error' FROM "
      "generate_series(1, 1000) n");
  disable();
  const auto before = rows_of(2);
  const auto tables = erasures->tables();
  ASSERT_TRUE(tables) << tables.error().what;
  EXPECT_EQ(tables->front().name, "ready") << "nothing more is sent";
  std::int64_t erased = 0;
  for (std::size_t i = 0; i < tables->size() / 2; ++i) erased += erasures->erase({2}, (*tables)[i], 0, 1).value_or(0);
  EXPECT_GT(erased, 0);
  const auto done = erase(1);
  ASSERT_TRUE(done) << done.error().what;
  std::int64_t all = 1;  // and the use of its token
  for (const auto& [table, rows] : before) all += table == "organisations" ? 0 : rows;
  EXPECT_EQ(json::parse(*done)["rows"], all);
}

// O7
TEST_F(OrgErasure, OneThatHasBegunIsNotEnabledAgainAndErasesNothingOfAnEnabledOne) {
  disable();
  const auto tables = erasures->tables();
  ASSERT_TRUE(tables) << tables.error().what;
  ASSERT_GT(erasures->erase({2}, tables->front(), 0, 1).value_or(0), 0);
  const auto enabled = make_org_store(address(kAdmin))->set_disabled("acme", false);
  ASSERT_FALSE(enabled);
  EXPECT_NE(enabled.error().what.find("is being erased"), std::string::npos) << enabled.error().what;
  sql.execute("UPDATE organisations SET disabled_at = NULL WHERE name = 'acme'");  // by hand
  const auto before = rows_of(2);
  EXPECT_FALSE(erasures->erase({2}, tables->back(), 0, 1));
  EXPECT_EQ(rows_of(2), before);
}

// O7
TEST_F(OrgErasure, OneThatIsInUseOrUnknownIsRefused) {
  EXPECT_EQ(erase().error().kind, Error::Kind::conflict);
  disable("30 seconds");
  EXPECT_NE(erase().error().what.find("hosts may still write"), std::string::npos);
  const auto rows = rows_of(2);
  EXPECT_EQ(erase_organisation(*erasures, {.name = "nobody", .actor = "ada"}).error().kind, Error::Kind::not_found);
  EXPECT_EQ(rows_of(2), rows);
}

// O7 F14: what may be erased of the logs is a disabled organisation's, by the owner
TEST_F(OrgErasure, NothingElseIsErasedOfTheLogs) {
  for (const auto* log : {"attempts", "audit_log"}) {
    const std::string erasing = "SET waybill.erased_org = '2'; DELETE FROM " + std::string(log) + " WHERE org_id = ";
    EXPECT_NE(refusal(kAdmin, erasing + "2").find("is not allowed"), std::string::npos) << "it is not disabled";
    disable();
    EXPECT_NE(refusal(kAdmin, erasing + "1").find("is not allowed"), std::string::npos) << "another's rows";
    EXPECT_TRUE(permission_denied(kHost, erasing + "2"));
    sql.execute("UPDATE organisations SET disabled_at = NULL");
  }
}

}  // namespace
}  // namespace waybill::testing
