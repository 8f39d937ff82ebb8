// An organisation's rows of every table in one database, its file, and another database, in which nearly all ids of it are taken.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/hex.h"
#include "contract/full_tenants_world.h"
#include "domain/contract.h"
#include "domain/idempotency.h"
#include "domain/pipeline_definition.h"
#include "domain/pipeline_reader.h"
#include "maintenance/org_export.h"
#include "maintenance/org_import.h"
#include "store/organisations/import_columns.h"

namespace waybill::testing {

using Lines = std::vector<std::string>;
using Tables = std::map<std::string, std::vector<nlohmann::json>>;

class ImportTarget final : public RolesWorld {
 public:
  void start() {
    SetUp();
    write_submission(3072, "routed");
    for (const char* sequence :
         {"object_ids", "contract_snapshots_route_id_seq", "alert_events_event_no_seq", "pipeline_versions_version_id_seq"})
      sql.execute("SELECT setval('" + std::string(sequence) + "', 5000)");
  }
  void TestBody() override {}
  using RolesWorld::address;
  using RolesWorld::list;
  using RolesWorld::sql;
};

class OrgImport : public FullTenants {
 protected:
  void SetUp() override {
    FullTenants::SetUp();
    target.start();
    if (HasFatalFailure()) return;
    sql.execute("SET session_replication_role = replica");  // until each row has those that it refers to
    const Contract contract{.target = "sms.primary", .action_type = "sms", .destination = "{}", .policy = Policy::one_shot};
    sql.execute("UPDATE contract_snapshots SET contract = $c$" + to_json(contract) + "$c$ WHERE org_id = 2");
    for (const char* change :
         {"UPDATE edited_payloads SET body = '{}'",
          "UPDATE channels c SET type = 'webhook', route_id = s.route_id FROM contract_snapshots s WHERE s.org_id = c.org_id",
          "UPDATE alert_events e SET rule_id = r.rule_id FROM alert_rules r WHERE r.org_id = e.org_id",
          "UPDATE rule_channels b SET rule_id = r.rule_id, channel_id = c.channel_id FROM alert_rules r JOIN channels c USING "
          "(org_id) "
          "WHERE b.org_id = r.org_id",
          "UPDATE notification_events n SET event_no = e.event_no FROM alert_events e WHERE e.org_id = n.org_id",
          "UPDATE pipeline_submissions p SET routes = ARRAY[s.route_id, s.route_id], parent = p.submission_id "
          "FROM contract_snapshots s WHERE s.org_id = p.org_id",
          "UPDATE ready r SET route_id = s.route_id, status = 'claimed', claim_token = 77, claimed_by = 3, claimed_at = now(), "
          "lease_until = now() + interval '1 minute' FROM contract_snapshots s WHERE s.org_id = r.org_id",
          "UPDATE deliveries d SET route_id = s.route_id FROM contract_snapshots s WHERE s.org_id = d.org_id",
          "UPDATE dead_letters SET replay_delivery = id + 100", "UPDATE notification_replays SET notification = 3172",
          "UPDATE notification_windows SET latest = 3272"})
      sql.execute(change);
    sql.execute(
        "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at) "
        "SELECT 0, 4096, 2, 'notification', 'told', 'intent', 'channel:' || channel_id, 'as_delivery', '', now() FROM channels "
        "WHERE org_id = 2");
    sql.execute(
        "INSERT INTO notifications (shard, delivery_id, org_id, channel_id, created_at, bytes, latest) "
        "SELECT 0, 4096, 2, channel_id, now(), 2, 4096 FROM channels WHERE org_id = 2");
    store_pipeline();
    sql.execute("SET session_replication_role = DEFAULT");
  }

  // Another pipeline is started by that of the organisation's submission.
  void store_pipeline() {
    const auto defined = [](const std::string& name, std::vector<std::shared_ptr<const PipelineDefinition>> starts) {
      const auto text = R"({"pipeline":")" + name +
                        R"(","initial":"s","states":{"s":{},"t":{"terminal":true}},"transitions":[{"from":"s","to":"t",)"
                        R"("trigger":"end","actor":"admin","role":"admin"}]})";
      auto read = read_pipeline(text, "test", PipelineOrigin::stored);
      if (!read) throw std::runtime_error(to_string(read.error().front()));
      return std::make_shared<const PipelineDefinition>(define_pipeline(std::move(*read), text, {}, std::move(starts)));
    };
    const auto started = defined("q", {}), starting = defined("p", {started});
    const auto hash = [](const PipelineDefinition& one) { return "'\\x" + to_hex(as_view(one.hash)) + "'"; };
    sql.execute("UPDATE pipeline_versions SET hash = " + hash(*starting) + ", definition = $d$" + starting->text + "$d$");
    sql.execute("INSERT INTO pipeline_versions (pipeline, number, hash, definition) VALUES ('q', 1, " + hash(*started) + ", $d$" +
                started->text + "$d$)");
  }

  static Lines exported_from(const DatabaseAddress& owner, const std::string& name) {
    Lines lines;
    const auto done = export_organisation(*make_export_store(owner), {.name = name, .actor = "ada"},
                                          [&](const std::string& line) -> Result<void> {
                                            lines.push_back(line);
                                            return {};
                                          });
    EXPECT_TRUE(done) << done.error().what;
    return lines;
  }
  Lines exported() { return exported_from(address(kAdmin), "acme"); }

  Result<OrgImported> imported(const Lines& lines, const ImportOrder& order = {.name = "", .actor = "ada"},
                               const std::function<void(std::int64_t)>& progress = {}) {
    std::stringstream file;
    for (const auto& line : lines) file << line << "\n";
    return import_organisation(*make_import_store(target.address(kAdmin), vault), order, file, progress);
  }
  std::string refusal(const Lines& lines, const ImportOrder& order = {.name = "", .actor = "ada"}) {
    const auto before = state_of_target();
    const auto done = imported(lines, order);
    EXPECT_FALSE(done);
    EXPECT_EQ(state_of_target(), before) << "something is left";
    return done ? "" : done.error().what;
  }
  // How many rows each table of the target has.
  std::map<std::string, std::int64_t> state_of_target() {
    std::map<std::string, std::int64_t> rows;
    for (const auto& table :
         target.list("SELECT relname FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND relkind IN ('r', 'p')"))
      rows[table] = target.sql.number("SELECT count(*) FROM " + table);
    return rows;
  }

  static Tables rows_in(const Lines& lines) {
    Tables rows;
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      auto line = nlohmann::json::parse(lines[i]);
      rows[line.at("table")].push_back(line.at("row"));
    }
    return rows;
  }
  // The file with another last line, which fits the others.
  static Lines sealed_again(Lines lines) {
    nlohmann::json last{{"rows", lines.size() - 2}, {"tables", nlohmann::json::object()}};
    std::string before;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) before += lines[i] + "\n";
    for (const auto& [table, rows] : rows_in(lines)) last["tables"][table] = rows.size();
    last["sha256"] = to_hex(as_view(sha256(before)));
    lines.back() = last.dump();
    return lines;
  }
  // The first row of a table changed. Answers its line, from 1 on.
  static std::size_t change_row(Lines& lines, const std::string& table, const std::function<void(nlohmann::json&)>& change) {
    for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
      auto line = nlohmann::json::parse(lines[i]);
      if (line.at("table") != table) continue;
      change(line.at("row"));
      lines[i] = line.dump();
      lines = sealed_again(std::move(lines));
      return i + 1;
    }
    throw std::runtime_error("no row of " + table);
  }
  static Lines without(const Lines& lines, const std::string& table) {
    Lines rest;
    for (const auto& line : lines)
      if (line.find("{\"table\":\"" + table + "\"") != 0) rest.push_back(line);
    return sealed_again(std::move(rest));
  }

  std::shared_ptr<const Vault> vault =
      std::make_shared<const Vault>(std::vector{Secret("a master key that has thirty-two bytes")});
  ImportTarget target;
};

}  // namespace waybill::testing
