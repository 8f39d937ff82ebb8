// What forced policies do to the plans of our statements: nothing to the engine's, and no index is lost to the tenant role.  N3
#include <algorithm>
#include <set>

#include "contract/tenants_world.h"

namespace waybill::testing {
namespace {

// With the settings of a host's session, and the statement as it stands.
class TenantPlans : public Tenants {
 protected:
  void set(SqlClient& session) {
    session.execute(
        "SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off; SET enable_hashjoin TO off;"
        " SET enable_mergejoin TO off; SET enable_bitmapscan TO off; SET enable_material TO off; SET jit TO off");
  }
  std::vector<std::string> plan(SqlClient& session, const Statement& statement) {
    std::vector<std::string> lines;
    const std::string name = statement.name;
    session.execute("PREPARE " + name + " AS " + statement.sql);
    const auto nulls = session.text(
        "SELECT coalesce('(' || rtrim(repeat('NULL, ', cardinality(nullif(parameter_types, '{}'))), ', ') || ')', '')"
        " FROM pg_prepared_statements WHERE name = '" +
        name + "'");
    for (const auto& row : session.rows("EXPLAIN (COSTS OFF, VERBOSE) EXECUTE " + name + nulls)) lines.push_back(*row[0]);
    return lines;
  }
};

// N3: what the engine runs costs nothing more: its plans are those of a superuser, for whom row level security does not exist
TEST_F(TenantPlans, NoStatementHasAnotherPlanForForcedPolicies) {
  for (const char* role : {kSuperuser, kAdmin, kHost}) set(as(role));
  int same = 0;
  for (const auto& statement : all_statements()) {
    const auto plan_of = [&](const char* role) {
      std::string all;
      try {
        for (auto line : plan(as(role), statement)) {
          // Of several conditions, those that cannot leak a value are asked first.
          if (line.find("Filter: ") != std::string::npos) std::sort(line.begin(), line.end());
          all += line + "\n";
        }
      } catch (const std::exception& e) {
        all = e.what();
      }
      return all;
    };
    const auto free = plan_of(kSuperuser);
    for (const char* role : {kAdmin, kHost}) {
      const auto kept = plan_of(role);
      if (kept.find("permission denied") != std::string::npos) continue;  // what only an owner or a superuser runs
      EXPECT_EQ(kept, free) << statement.name << " as " << role;
      ++same;
    }
  }
  EXPECT_GT(same, 200);
}

// N3: a policy's condition does not keep the tenant role's reads from the indexes
TEST_F(TenantPlans, WhatReadsForATenantUsesTheIndexesThatItUsedWithout) {
  SqlClient tenant(url);
  tenant.execute("SET search_path TO waybill; SET ROLE waybill_tenant");
  set(tenant);
  set(as(kSuperuser));
  const auto indexes = [](const std::vector<std::string>& lines) {
    std::vector<std::string> used;
    for (const auto& line : lines) {
      EXPECT_EQ(line.find("Seq Scan"), std::string::npos) << line;
      if (const auto at = line.find(" using "); at != std::string::npos) used.push_back(line.substr(at));
    }
    std::sort(used.begin(), used.end());
    return used;
  };
  const std::set<std::string> reads{"find_submission",    "compare_submissions",  "history",        "dead_letters",
                                    "dead_letter_states", "find_form_submission", "attachments_of", "form_deliveries_of",
                                    "audit_of",           "dead_attempts",        "dead_edits"};
  std::size_t seen = 0;
  for (const auto& statement : all_statements()) {
    if (!reads.contains(statement.name)) continue;
    ++seen;
    EXPECT_EQ(indexes(plan(tenant, statement)), indexes(plan(as(kSuperuser), statement))) << statement.name;
  }
  EXPECT_EQ(seen, reads.size());
}

}  // namespace
}  // namespace waybill::testing
