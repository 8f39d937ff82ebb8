// Attempts and audit are written once, whoever asks, and by whatever name: also as the owner's member, also a partition.  F14 M11
#include "contract/roles_world.h"

namespace waybill::testing {
namespace {

class AppendOnly : public RolesWorld {
 protected:
  std::vector<std::string> logs() {
    return list(
        "SELECT oid::regclass::text FROM pg_class WHERE oid IN ('attempts'::regclass, 'audit_log'::regclass) OR oid IN"
        " (SELECT inhrelid FROM pg_inherits WHERE inhparent IN ('attempts'::regclass, 'audit_log'::regclass))");
  }
  static std::vector<std::string> changes_of(const std::string& table) {
    const bool audit = table.find("audit_log") != std::string::npos;
    const std::string key = audit ? "(shard, submission_id, created_at, id)" : "(shard, delivery_id, number, started_at)";
    return {"UPDATE " + table + " SET org_id = 7",
            "UPDATE " + table + " SET org_id = 7 WHERE false",
            "DELETE FROM " + table,
            "TRUNCATE " + table,
            "MERGE INTO " + table + " t USING (SELECT 1) one ON t.org_id = 1 WHEN MATCHED THEN DELETE",
            "INSERT INTO " + table + " OVERRIDING SYSTEM VALUE SELECT * FROM " + table + " ON CONFLICT " + key +
                " DO UPDATE SET org_id = 7"};
  }
  std::int64_t written() {
    return sql.number(
        "SELECT (SELECT count(*) FROM attempts WHERE org_id = 1) + (SELECT count(*) FROM audit_log WHERE org_id = 1)");
  }
};

// F14
TEST_F(AppendOnly, NobodyChangesTheLogsNorAnyPartitionOfThem) {
  ASSERT_GE(logs().size(), 10u);
  for (const char* role : {kSuperuser, kOwner, kAdmin, kHost, kAnalyst, kNobody})
    for (const auto& table : logs())
      for (const auto& change : changes_of(table)) {
        const bool has_rights = role == std::string(kSuperuser) || role == std::string(kOwner) || role == std::string(kAdmin);
        if (has_rights)
          EXPECT_NE(refusal(role, change).find("is not allowed"), std::string::npos) << role << ": " << change;
        else
          EXPECT_TRUE(permission_denied(role, change)) << role << ": " << change;
      }
  EXPECT_EQ(written(), 10);
}

// F14: what copies of a database use to write as told
TEST_F(AppendOnly, NotEvenASessionThatPassesOverOrdinaryTriggersChangesThem) {
  as(kSuperuser).execute("SET session_replication_role = replica");
  for (const auto& table : logs())
    for (const auto& change : changes_of(table)) EXPECT_NE(refusal(kSuperuser, change), "") << change;
  EXPECT_NE(refusal(kSuperuser, "UPDATE dead_letter_edits SET actor = 'bob'"), "");
  EXPECT_EQ(written(), 10);
}

// F14
TEST_F(AppendOnly, APartitionThatIsMadeLaterIsAsGuarded) {
  EXPECT_EQ(as(kHost).number("SELECT make_partitions(3)"), 2);
  const auto made = list(
      "SELECT max(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'audit_log'::regclass"
      " AND inhrelid::regclass::text <> 'audit_log_default'");
  for (const auto& change : changes_of(made.at(0)))
    EXPECT_NE(refusal(kAdmin, change).find("is not allowed"), std::string::npos) << change;
  EXPECT_EQ(sql.text("SELECT relowner::regrole::text FROM pg_class WHERE relname = '" + made.at(0) + "'"), kOwner);
  EXPECT_TRUE(permission_denied(kHost, "SELECT * FROM " + made.at(0)));
}

// F14
TEST_F(AppendOnly, APartitionStaysGuardedWhenItIsDetachedAndBecomesSoWhenOneIsAttached) {
  as(kAdmin).execute("ALTER TABLE audit_log DETACH PARTITION audit_log_default");
  for (const auto& change : changes_of("audit_log_default")) EXPECT_NE(refusal(kAdmin, change), "") << change;
  as(kAdmin).execute("SET ROLE waybill_owner");
  as(kAdmin).execute("CREATE TABLE by_hand (LIKE audit_log INCLUDING ALL EXCLUDING IDENTITY)");
  as(kAdmin).execute(
      "INSERT INTO by_hand (shard, submission_id, created_at, id, org_id, action, trigger, actor, actor_type)"
      " OVERRIDING SYSTEM VALUE VALUES (0, 1024, '2001-01-01', 1, 1, 'x', 'x', 'x', 'admin')");
  as(kAdmin).execute("ALTER TABLE audit_log ATTACH PARTITION by_hand DEFAULT");
  EXPECT_NE(refusal(kAdmin, "DELETE FROM by_hand"), "");  // at once
  as(kHost).execute("SELECT make_partitions(2)");         // and wholly when a host has looked
  for (const auto& change : changes_of("by_hand")) EXPECT_NE(refusal(kAdmin, change), "") << change;
}

// F14: not theirs to guard, but no reason to stop making partitions
TEST_F(AppendOnly, APartitionOfAnotherOwnerIsGuardedRowByRow) {
  as(kSuperuser).execute("ALTER TABLE audit_log_default OWNER TO waybill_nobody");
  as(kSuperuser).execute("DROP TRIGGER append_only ON audit_log_default");
  EXPECT_EQ(refusal(kHost, "SELECT make_partitions(3)"), "");
  as(kSuperuser).execute("SET session_replication_role = replica");
  EXPECT_NE(refusal(kSuperuser, "DELETE FROM audit_log_default").find("is not allowed"), std::string::npos);
}

// F14
TEST_F(AppendOnly, EditsOfDeadLettersAreWrittenOnceAndGoWithTheirSubmission) {
  for (const char* role : {kSuperuser, kOwner, kAdmin})
    for (const char* change : {"UPDATE dead_letter_edits SET after = 'x'", "TRUNCATE dead_letter_edits"})
      EXPECT_NE(refusal(role, change).find("is not allowed"), std::string::npos) << role << ": " << change;
  for (const char* role : {kHost, kAnalyst, kNobody})
    for (const char* change : {"UPDATE dead_letter_edits SET after = 'x'", "TRUNCATE dead_letter_edits"})
      EXPECT_TRUE(permission_denied(role, change)) << role << ": " << change;
  for (const char* role : {kAnalyst, kNobody}) EXPECT_TRUE(permission_denied(role, "DELETE FROM dead_letter_edits")) << role;
  EXPECT_EQ(refusal(kHost,
                    "INSERT INTO dead_letter_edits (shard, dead_letter_id, submission_id, org_id, actor, field, before, after)"
                    " VALUES (0, 1, 1024, 1, 'ann', 'fields', '{}', '{}')"),
            "");
  EXPECT_EQ(refusal(kHost, "DELETE FROM dead_letter_edits WHERE submission_id = 2048"), "");
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letter_edits"), 2);
}

}  // namespace
}  // namespace waybill::testing
