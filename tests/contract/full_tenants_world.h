// Two organisations with a row of every table that organisations have rows of, whatever that row says.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "contract/tenants_world.h"

namespace waybill::testing {

// Values that checks ask for, by table and column; and by type.
inline const std::map<std::string, std::string> kChecked{{"alert_rules.status", "'draft'"},
                                                         {"alerts.kind", "'stuck'"},
                                                         {"channels.config", "'{\"url\":\"x\"}'"},
                                                         {"dead_letter_edits.field", "'fields'"}};
inline const std::map<std::string, std::string> kByType{{"smallint", "0"},
                                                        {"integer", "1"},
                                                        {"bigint", "1"},
                                                        {"text", "'1'"},
                                                        {"boolean", "false"},
                                                        {"uuid", "gen_random_uuid()"},
                                                        {"bytea", "'\\x00'"},
                                                        {"jsonb", "'{}'"},
                                                        {"timestamp with time zone", "now()"},
                                                        {"delivery_status", "'due'"}};

class FullTenants : public Tenants {
 protected:
  void SetUp() override {
    Tenants::SetUp();
    sql.execute("SET session_replication_role = replica");  // of a row that stands alone
    for (const auto& table : tables(true))
      for (const std::string org : {"1", "2"})
        if (sql.number("SELECT count(*) FROM " + table + " WHERE org_id = " + org) == 0) add_row(table, org);
    sql.execute("SET session_replication_role = DEFAULT");
    sql.execute("INSERT INTO token_uses SELECT token_id, now() FROM api_tokens");
  }
  std::vector<std::string> tables(bool of_orgs) {
    return list(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'waybill'::regnamespace AND c.relkind IN ('r', 'p') AND NOT "
        "c.relispartition AND "
        "EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped) = " +
        std::string(of_orgs ? "true" : "false") + " ORDER BY 1");
  }
  std::map<std::string, std::int64_t> rows_of(int org) {
    std::map<std::string, std::int64_t> rows;
    for (const auto& table : tables(true))
      rows[table] = sql.number("SELECT count(*) FROM " + table + " WHERE org_id = " + std::to_string(org));
    return rows;
  }

 private:
  void add_row(const std::string& table, const std::string& org) {
    std::string columns, values;
    for (const auto& row : sql.rows("SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = '" + table +
                                    "'::regclass AND attnum > 0 AND NOT attisdropped AND attnotnull AND NOT atthasdef AND "
                                    "attidentity = '' ORDER BY attnum")) {
      const auto checked = kChecked.find(table + "." + *row[0]);
      const auto by_type = kByType.find(*row[1]);
      columns += (columns.empty() ? "" : ", ") + ("\"" + *row[0] + "\"");
      values += (values.empty() ? "" : ", ") + (*row[0] == "org_id"         ? org
                                                : checked != kChecked.end() ? checked->second
                                                : by_type != kByType.end()  ? by_type->second
                                                                            : std::string("'{}'"));
    }
    sql.execute("INSERT INTO " + table + " (" + columns + ") VALUES (" + values + ")");
  }
};

}  // namespace waybill::testing
