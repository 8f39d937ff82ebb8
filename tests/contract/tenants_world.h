// A database with two organisations, each with a row of everything, and sessions of the tenant role.
#pragma once

#include <string>
#include <vector>

#include "contract/roles_world.h"

namespace waybill::testing {

inline constexpr const char* kTenant = "waybill_tenant";

// Organisation 1 with submission 1024 and 2 with submission 3072, and a row of everything else for each.
class Tenants : public RolesWorld {
 protected:
  void SetUp() override {
    RolesWorld::SetUp();
    sql.execute("INSERT INTO organisations (name) VALUES ('acme')");
    write_submission(3072, "routed", 2);
    for (const std::string org : {"1", "2"})
      for (const std::string& insert :
           {"alerts (org_id, incident, kind, message) VALUES (" + org + ", 'i', 'stuck', 'm')",
            "api_tokens (org_id, name, role, hash) VALUES (" + org + ", 't', 'owner', '\\x0" + org + "')",
            "contract_snapshots (org_id, hash, contract) VALUES (" + org + ", '\\x00', '{}')",
            "failure_digests VALUES (" + org + ", 1, now(), false, now(), now(), '{}', '{}', 0, '{}')",
            "provider_failures VALUES (" + org + ", now(), 'sms', 't', 'r', now(), 1)",
            "replay_turns VALUES (" + org + ", now())", "target_rates VALUES (" + org + ", 't', now())",
            "target_outages (org_id, target, until, reason) VALUES (" + org + ", 't', now(), 'r')",
            "host_findings VALUES (" + org + ", 't', 1, now(), now(), 'r')"})
        sql.execute("INSERT INTO " + insert);
  }

  std::vector<std::string> tables_with_org() {  // and partitions
    return list(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'"
        " WHERE c.relnamespace = 'waybill'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1");
  }
  // The tenant role with every right on every table that there is: only row level security is left.
  SqlClient& careless() {
    if (!careless_) {
      sql.execute("GRANT ALL ON ALL TABLES IN SCHEMA waybill TO waybill_tenant");
      careless_ = std::make_unique<SqlClient>(url);
      careless_->execute("SET search_path TO waybill; SET ROLE waybill_tenant");
    }
    return *careless_;
  }
  std::string seen_by(SqlClient& session, const std::string& table) {
    return session.text("SELECT coalesce(string_agg(DISTINCT org_id::text, ' '), 'none') FROM " + table);
  }
  // How many rows a statement changed, whoever refuses the rest of them.
  std::int64_t changed(SqlClient& session, const std::string& statement) {
    try {
      return session.number("WITH change AS (" + statement + " RETURNING 1) SELECT count(*) FROM change");
    } catch (const std::exception& e) {
      EXPECT_NE(std::string(e.what()).find("not allowed"), std::string::npos) << e.what();  // append-only
      return 0;
    }
  }

 private:
  std::unique_ptr<SqlClient> careless_;
};

}  // namespace waybill::testing
