// What a page of any list costs: whatever it is asked for, it looks at a bounded number of rows, also where there are a million.
// T16
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "store/notifications/notify_rows.h"
#include "store/operations/dead_rows.h"
#include "store/pg/tenant_link.h"
#include "store_world.h"

namespace waybill::testing {
namespace {

constexpr int kFilled = 20'000;  // rows of each table; the planner is told of a million
constexpr int kWalked = 500;

// Organisation 1 with as many rows of everything, among as many of another one.
class ListPlans : public StoreWorld {
 protected:
  void SetUp() override {
    StoreWorld::SetUp();
    sql.execute("INSERT INTO organisations (org_id, name) OVERRIDING SYSTEM VALUE VALUES (2, 'acme')");
    sql.execute("SET session_replication_role TO replica");  // no triggers, no foreign keys
    const std::string rows = " FROM generate_series(1, " + std::to_string(kFilled) + ") n";
    const std::string uuid = "('00000000-0000-0000-0000-00000000000' || n % 4)::uuid", org = "1 + n % 2",
                      when = "now() - (" + std::to_string(kFilled) + " - n) * interval '1 second'";
    for (const std::string kind : {"intent", "form", "pipeline"})
      sql.execute(
          "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at)"
          " SELECT 0, nextval('object_ids') * 1024, " +
          org + ", '" + kind + "', n::text, '" + kind + "', 'target-' || n % 4, CASE WHEN '" + kind +
          "' = 'intent' THEN 'as_delivery' ELSE 'routed' END, '\\x00', " + when + rows);
    sql.execute(
        "INSERT INTO notifications (shard, delivery_id, org_id, rule_id, channel_id, created_at, bytes, latest) SELECT 0, n * "
        "1024, " +
        org + ", " + uuid + ", " + uuid + ", " + when + ", 2, n * 1024" + rows);
    sql.execute(
        "INSERT INTO dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, "
        "reason, died_at)"
        " SELECT 0, n * 1024, " +
        org + ", n * 1024, 'intent', n::text, 'target-' || n % 4, 1, 'sms', 'reason-' || n % 4, " + when + rows);
    sql.execute(
        "INSERT INTO pipeline_submissions (shard, submission_id, org_id, version_id, pipeline, state, step, routes, metadata, "
        "reference,"
        " created_at) SELECT 0, id, org_id, 1, 'pipeline-' || client_ref::int % 4, 'state-' || client_ref::int % 4, 1, '{}', "
        "'{}',"
        " 'reference-' || client_ref::int % 4, created_at FROM submissions WHERE kind = 'pipeline'");
    sql.execute(
        "INSERT INTO pipeline_steps (shard, submission_id, step, org_id, pipeline, state, entered_at, actions, first_action)"
        " SELECT shard, submission_id, walked, org_id, pipeline, state, created_at, '{}', 1"
        " FROM pipeline_submissions, generate_series(1, 3) AS walked");
    fill_channels();
    sql.execute("INSERT INTO organisations (org_id, name) OVERRIDING SYSTEM VALUE SELECT 10 + n, 'org-' || n" + rows);
    sql.execute(
        "INSERT INTO failure_digests (org_id, digest_id, tick, by_hand, begun_at, targets, problems, failures, by_status) "
        "SELECT " +
        org + ", n, now(), false, now(), '{}', '{}', 0, '{}'" + rows);
    sql.execute(
        "INSERT INTO contract_snapshots (route_id, org_id, hash, contract) OVERRIDING SYSTEM VALUE "
        "SELECT 1 + n, 1, convert_to('x' || n, 'UTF8'), '{\"target\":\"target-' || n || '\"}' FROM generate_series(0, 3) n");
    sql.execute(
        "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, reason, ended_at)"
        " SELECT shard, (1::bigint << 52) + id, org_id, id, 1, 'sms', 1 + client_ref::int % 4, 'exhausted', 'max_attempts', "
        "created_at FROM "
        "submissions"
        " WHERE kind = 'intent'");
    sql.execute(
        "INSERT INTO ready (shard, action_order, org_id, delivery_id, submission_id, due_at, route_id, status) SELECT shard, 2, "
        "org_id, "
        "(3::bigint << 52) + id, id, created_at, 1 + client_ref::int / 2 % 4, 'due' FROM submissions WHERE kind = 'intent' AND "
        "org_id = 1");
    sql.execute("INSERT INTO target_outages (org_id, target, until, reason) SELECT " + org + ", 'target-' || n, now(), 'r'" +
                rows);
    sql.execute("INSERT INTO target_pauses (org_id, target, reason, actor) SELECT " + org + ", 'target-' || n, 'r', 'ada'" +
                rows);
    for (const char* table :
         {"submissions", "ready", "deliveries", "target_outages", "target_pauses", "notifications", "dead_letters",
          "pipeline_submissions", "pipeline_steps", "channels", "alert_rules", "organisations", "failure_digests"}) {
      sql.execute(std::string("ANALYZE ") + table);
      sql.execute(std::string("UPDATE pg_class SET reltuples = reltuples * 50 WHERE oid = '") + table + "'::regclass");
    }
  }

  // Deleted ones stay as rows; of those that live an organisation has a thousand at most.
  void fill_channels() {
    const std::string rows = " FROM generate_series(1, " + std::to_string(kFilled) + ") n";
    const std::string deleted = "CASE WHEN n % 20 > 1 THEN now() END", org = "1 + n % 2";
    sql.execute("INSERT INTO channels (org_id, shard, route_id, name, type, config, key_id, secret, deleted_at) SELECT " + org +
                ", 0, 1, 'channel-' || n, 'webhook', '{\"url\":\"x\"}', 1, '\\x00', " + deleted + rows);
    sql.execute("INSERT INTO alert_rules (org_id, name, status, created_at, deleted_at) SELECT " + org +
                ", 'rule', 'active', now() - n * interval '1 second', " + deleted + rows);
    sql.execute(
        "INSERT INTO rule_channels (org_id, rule_id, channel_id) SELECT org_id, '00000000-0000-0000-0000-000000000001', "
        "channel_id "
        "FROM channels WHERE deleted_at IS NULL");
  }

  // As a host's session runs it for a tenant. A line for each fault.
  std::string faults(const std::string& name, const std::string& parameters, int most = kWalked + 100) {
    std::string plan, faults;
    for (const auto& row :
         session->rows("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE " + name + "(" + parameters + ")"))
      plan += *row.at(0) + "\n";
    static const std::regex kRows(R"(rows=(\d+)(?:\.\d+)? loops=(\d+)|Rows Removed by [A-Za-z ]+: (\d+))");
    for (auto at = std::sregex_iterator(plan.begin(), plan.end(), kRows); at != std::sregex_iterator(); ++at) {
      const auto rows = (*at)[3].matched ? std::stol((*at)[3]) : std::stol((*at)[1]) * std::stol((*at)[2]);
      if (rows > most) faults += at->str() + " of " + name + "(" + parameters + ")\n" + plan;
    }
    return faults;
  }

  // All statements whose names begin so are prepared.
  void prepare(const std::set<std::string>& names) {
    session.emplace(url);
    session->execute(
        "SET search_path TO waybill; SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off; SET enable_hashjoin "
        "TO "
        "off; SET enable_mergejoin TO off; SET enable_bitmapscan TO off; SET enable_material TO off; SET jit TO off;"
        " SET ROLE waybill_tenant; SET waybill.org TO '1'");
    std::size_t found = 0;
    for (const auto& statement : all_statements()) {
      if (!names.contains(statement.name)) continue;
      ++found;
      session->execute(std::string("PREPARE ") + statement.name + " AS " + statement.sql);
    }
    ASSERT_EQ(found, names.size());
  }

  Link link{address, "read"};
  TenantLink tenant{link, WithoutTenantRole::rely_on_statements};
  std::optional<SqlClient> session;
};

// Every combination of these, one of each row.
std::vector<std::string> combinations(const std::vector<std::vector<std::string>>& choices) {
  std::vector<std::string> all{""};
  for (const auto& choice : choices) {
    std::vector<std::string> longer;
    for (const auto& one : all)
      for (const auto& next : choice) longer.push_back(one.empty() ? next : one + ", " + next);
    all = std::move(longer);
  }
  return all;
}

const std::string kEnd = "253402300799000000", kAll = "9223372036854775807";
const std::string kMiddle = "(extract(epoch FROM now() - interval '10000 seconds') * 1000000)::bigint";

// The paths of docs/openapi.yaml that answer pages.
std::set<std::string> listing_paths() {
  std::ifstream in(WAYBILL_SOURCE_FOLDER "/docs/openapi.yaml");
  static const std::regex kPath(R"(  (/\S*):)"), kPage(R"(.*required: \[\w+, next\].*)");
  std::set<std::string> paths;
  std::string path;
  std::smatch found;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_match(line, found, kPath)) path = found[1];
    if (std::regex_match(line, kPage)) paths.insert(path);
  }
  return paths;
}

// T16: each filter and combination that a route can ask for, as if there were a million rows
TEST_F(ListPlans, APageLooksAtABoundedNumberOfRows) {
  const std::string walked = std::to_string(kWalked);
  // The first listed intents are of the older half.
  Link tasks{address, "tasks"};
  IntentListing listing;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(listing.extend(tasks, {1, 400}));
  ASSERT_GT(sql.number("SELECT count(*) FROM listed_intents"), 10);
  sql.execute("ANALYZE listed_intents");
  const std::map<std::string, std::vector<std::string>> lists{
      {"list_new_intents", combinations({{"1"},
                                         {"0", kMiddle},
                                         {kEnd, kMiddle},
                                         {kAll, "20480000"},
                                         {walked},
                                         {"51"},
                                         {"1"},
                                         {"NULL", "'pending'", "'accepted'"},
                                         {"NULL", "'{target-1}'", "'{nobody}'"}})},
      {"list_listed_intents", combinations({{"1"},
                                            {"0", kMiddle},
                                            {kEnd, kMiddle},
                                            {kAll, "3072000"},
                                            {"1"},
                                            {"51"},
                                            {"20"},
                                            {"NULL", "'pending'", "'accepted'"},
                                            {"NULL", "'{target-1}'", "'{nobody}'"}})},
      {"list_forms_of", combinations({{"1"},
                                      {"0", kMiddle},
                                      {kEnd, kMiddle},
                                      {kEnd, kMiddle},
                                      {"0"},
                                      {walked},
                                      {"51"},
                                      {"NULL", "'routed'", "'failed'"},
                                      {"'target-1'", "'nobody'"}})},
      {"list_submissions",
       combinations(
           {{"1"}, {"0", kMiddle}, {kEnd, kMiddle}, {kEnd, kMiddle}, {"0"}, {walked}, {"51"}, {"NULL", "'routed'", "'failed'"}})},
      {"list_notifications",
       combinations({{"1"}, {"NULL"}, {"NULL", "'failed'", "'succeeded'"}, {kEnd, kMiddle}, {"0"}, {"51"}, {walked}})},
      {"list_notifications_of_rule",
       combinations({{"1"},
                     {"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000009'"},
                     {"NULL", "'failed'", "'succeeded'"},
                     {kEnd, kMiddle},
                     {"0"},
                     {"51"},
                     {walked}})},
      {"list_notifications_of_channel",
       combinations({{"1"},
                     {"NULL", "'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000009'"},
                     {"NULL", "'failed'", "'succeeded'"},
                     {kEnd, kMiddle},
                     {"0"},
                     {"51"},
                     {walked},
                     {"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000009'"}})},
      {"list_pipeline_submissions", combinations({{"1"},
                                                  {"NULL", "'pipeline-1'", "'none'"},
                                                  {"NULL", "'state-1'", "'none'"},
                                                  {"NULL"},
                                                  {kAll, "51200000"},
                                                  {"51"},
                                                  {walked}})},
      {"list_pipeline_state", combinations({{"1"},
                                            {"'pipeline-1'", "'none'"},
                                            {"'state-1'", "'none'"},
                                            {"NULL", "'reference-1'", "'none'"},
                                            {kAll, "51200000"},
                                            {"51"},
                                            {walked}})},
      {"list_pipeline_reference", combinations({{"1"},
                                                {"NULL", "'pipeline-1'", "'none'"},
                                                {"NULL", "'state-1'", "'none'"},
                                                {"'reference-1'", "'none'"},
                                                {kAll, "51200000"},
                                                {"51"},
                                                {walked}})},
      {"dead_letters", combinations({{"1"},
                                     {"NULL", "'4711'", "'none'"},
                                     {"NULL", "'target-1'", "'none'"},
                                     {"NULL", "'reason-1'", "'none'"},
                                     {"0", kMiddle},
                                     {"true", "false"},
                                     {kEnd, kMiddle},
                                     {"0"},
                                     {"51"},
                                     {walked}})},
      {"failed_deliveries", combinations({{"1"},
                                          {"NULL", "'4711'"},
                                          {"NULL", "'target-1'", "'none'"},
                                          {"NULL", "'intent'"},
                                          {"NULL", "'none'"},
                                          {"NULL", "'none'"},
                                          {"NULL", "'exhausted'"},
                                          {"0", kMiddle},
                                          {kEnd, kMiddle},
                                          {"0"},
                                          {"51"},
                                          {walked}})},
      {"failed_to_be_resent", combinations({{"1"},
                                            {"NULL", "'4711'"},
                                            {"NULL", "'target-1'", "'none'"},
                                            {"NULL", "'intent'"},
                                            {"NULL"},
                                            {"NULL", "'none'"},
                                            {"NULL", "'exhausted'"},
                                            {"0", kMiddle},
                                            {"0"},
                                            {kEnd, kMiddle},
                                            {walked}})},
      {"failed_of_ids", combinations({{"1"},
                                      {"NULL", "'none'"},
                                      {"NULL", "'target-1'"},
                                      {"NULL"},
                                      {"NULL"},
                                      {"NULL"},
                                      {"NULL"},
                                      {"0"},
                                      {kEnd},
                                      {"ARRAY[(1::bigint << 52) + 1024, (1::bigint << 52) + 2048, 77]"}})},
      {"waiting_deliveries", combinations({{"1"},
                                           {"NULL", "'target-1'", "'none'"},
                                           {"NULL", "'form'"},
                                           {"NULL", "100000"},
                                           {"0", kMiddle},
                                           {"0"},
                                           {"1"},
                                           {"1000"},
                                           {"51"},
                                           {walked}})},
      {"stopped_targets", combinations({{"0", "1"}, {"''", "'target-5'"}, {"51"}})},
      {"registry_changes", combinations({{"0", "100"}, {"51"}})},
      {"dead_letters_of_ids", combinations({{"1"},
                                            {"NULL", "'none'"},
                                            {"NULL"},
                                            {"NULL"},
                                            {"0"},
                                            {"true", "false"},
                                            {kEnd, kMiddle},
                                            {"0"},
                                            {"51"},
                                            {"'{1024,2048,77}'"}})},
      {"list_channels", combinations({{"1"}, {"NULL", "'channel-5'", "'zzz'"}, {"100"}, {"NULL"}})},
      {"bound_channels", combinations({{"1"},
                                       {"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000009'"},
                                       {"NULL", "'channel-5'", "'zzz'"},
                                       {"100"}})},
      {"list_rules", combinations({{"1"}, {"NULL", kMiddle}, {"'00000000-0000-0000-0000-000000000001'"}, {"100"}})},
      {"organisations", combinations({{"''", "'org-5'", "'zzz'"}, {"100"}})},
      {"failure_digests", combinations({{"1"}, {"50"}})},
      {"pipeline_counts", {"1, 100"}},
      {"pipeline_shares_of", combinations({{"1"}, {"'pipeline-2'", "'none'"}, {"100000"}, {"100"}})},
      {"pipeline_level", combinations({{"1"},
                                       {"'pipeline-2'", "'none'"},
                                       {"NULL", "'state-2'", "'none'"},
                                       {"'{}'", "'{state-2}'"},
                                       {"'{}'"},
                                       {"1000"},
                                       {"100000"},
                                       {"50"},
                                       {"500"}})}};
  // T16: a new list of the API stands here with its statements, or this fails
  const std::map<std::string, std::vector<std::string>> statements_of{
      {"/v1/intents", {"list_new_intents", "list_listed_intents"}},
      {"/v1/submissions",
       {"list_submissions", "list_forms_of", "list_pipeline_submissions", "list_pipeline_state", "list_pipeline_reference"}},
      {"/v1/dead", {"dead_letters", "dead_letters_of_ids"}},
      {"/v1/failures", {"failed_deliveries"}},
      {"/v1/registry/versions", {"registry_changes"}},
      {"/v1/targets", {"stopped_targets"}},
      {"/v1/waiting", {"waiting_deliveries"}},
      {"/orgs", {"organisations"}},
      {"/orgs/{org}/channels", {"list_channels"}},
      {"/orgs/{org}/alert-rules", {"list_rules"}},
      {"/orgs/{org}/alert-rules/{rule}/channels", {"bound_channels"}},
      {"/orgs/{org}/deliveries", {"list_notifications", "list_notifications_of_rule", "list_notifications_of_channel"}}};
  const auto described = listing_paths();
  EXPECT_EQ(described.size(), statements_of.size());
  for (const auto& path : described) EXPECT_TRUE(statements_of.contains(path)) << path << " has pages, and no plan is tested";
  for (const auto& [path, statements] : statements_of)
    for (const auto& name : statements) EXPECT_TRUE(lists.contains(name)) << name;
  // Living channels of an organisation are not more than this; pairs of pipeline and state are few.
  const std::set<std::string> of_thousand{"list_channels", "bound_channels"};
  const std::set<std::string> of_each_contract{"waiting_deliveries"};  // of the newest thousand; here there are four
  const std::set<std::string> of_installation{"organisations", "failure_digests", "registry_changes",
                                              "stopped_targets"};  // no tenant's session runs these
  std::set<std::string> names;
  for (const auto& [name, calls] : lists) names.insert(name);
  prepare(names);
  std::size_t asked = 0;
  for (const auto& [name, calls] : lists)
    for (const auto& parameters : calls) {
      session->execute(of_installation.contains(name) ? "RESET ROLE" : "SET ROLE waybill_tenant");
      ++asked;
      const int most = of_thousand.contains(name) ? 1'100 : of_each_contract.contains(name) ? 5 * kWalked + 100 : kWalked + 100;
      const auto found = faults(name, parameters, most);
      ASSERT_EQ(found, "");
    }
  EXPECT_GT(asked, 250u);
}

// T16 O5: `waybill queue` and the commands on what waits, however long the queue is and whatever stands still
TEST_F(ListPlans, TheQueueIsToldAndWorkedOnFromABoundedNumberOfRows) {
  sql.execute("UPDATE ready SET due_at = now() + interval '1 hour' WHERE delivery_id / 1024 % 2 = 0");
  sql.execute(
      "INSERT INTO rate_orders (org_id, target, count, per, actor) SELECT org_id, target, 1, 1000000, actor FROM target_pauses");
  sql.execute("ANALYZE ready; ANALYZE rate_orders");
  sql.execute("UPDATE pg_class SET reltuples = reltuples * 50 WHERE oid IN ('ready'::regclass, 'rate_orders'::regclass)");
  const std::string
      walked = std::to_string(kWalked),
      some = "'" +
             sql.text("SELECT array_agg(delivery_id) FROM (SELECT delivery_id FROM ready ORDER BY delivery_id LIMIT 200) r") +
             "'";
  const std::vector<std::string> of_routes{"'{0,0,0,0}'", "'{1,2,3,4}'", walked};
  const std::string routes = of_routes[0] + ", " + of_routes[1] + ", " + of_routes[2];
  const std::map<std::string, std::vector<std::string>> statements{
      {"routes_with_work", combinations({{"NULL", "'target-1'", "'none'"}, {"NULL", "'sms'"}, {walked}})},
      {"routes_of_org_with_work",
       combinations({{"1", "2"}, {"NULL", "'target-1'", "'none'"}, {"NULL", "'sms'"}, {"1"}, {walked}})},
      {"length_of_routes", {routes}},
      {"reasons_of_retries", {routes}},
      {"quarantined_of_queue", combinations({{"NULL", "1"}, {walked}})},
      {"arrivals_of_late", combinations({{"1"}, {walked}, {"300000", "86400000"}})},
      {"ends_of_late", combinations({{"1"}, {walked}, {"300000", "86400000"}})},
      {"keys_of_routes", {"'{1,2,3,4}'"}},
      {"stops_of_queue", combinations({{"NULL", "1", "2", "3"}, {"100"}})},
      {"ordered_rates_of_queue", combinations({{"NULL", "1", "2", "3"}, {"100"}})},
      {"named_organisations", {"'{1,2}'"}},
      {"body_sizes_of_waiting", {"0, 1, " + some}},
      {"bodies_of_waiting", {"0, 1, " + some}},
      {"take_waiting", {"0, 1, " + some + ", -1"}},
      {"reroute_waiting", {"0, 1, " + some + ", 1, 'target-1', 'target-2', 'ada', 'test'"}}};
  std::set<std::string> names;
  for (const auto& [name, calls] : statements) names.insert(name);
  prepare(names);
  session->execute("RESET ROLE");
  for (const auto& [name, calls] : statements)
    for (const auto& parameters : calls) {
      session->execute("BEGIN");
      EXPECT_EQ(faults(name, parameters, 2 * kWalked + 100), "");  // a delivery stands in one of two tables
      session->execute("ROLLBACK");
    }
}

// T16: a list of what is rare goes on from where a page stopped, and has all of it in the end
TEST_F(ListPlans, WhatIsRareIsFoundOverSeveralPages) {
  sql.execute(
      "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at) SELECT "
      "0, n * 1024, 2,"
      " n * 1024, 1, 'webhook', 1, 'accepted', now() FROM unnest('{1, 7777, 19999}'::bigint[]) n");
  std::vector<std::int64_t> found;
  std::optional<DeliveryCursor> after;
  std::size_t pages = 0;
  do {
    const auto page = list_notifications(tenant, {2}, {.rule = {}, .channel = {}, .status = "succeeded"}, after, 2, kWalked);
    ASSERT_TRUE(page) << page.error().what;
    for (const auto& one : page->items) found.push_back(one.id.value / 1024);
    after = page->next;
    ASSERT_LE(++pages, kFilled / kWalked);
  } while (after);
  EXPECT_EQ(found, (std::vector<std::int64_t>{19999, 7777, 1}));
  EXPECT_GE(pages, kFilled / 2 / kWalked);

  found.clear();
  sql.execute("UPDATE dead_letters SET reason = 'rare' WHERE id / 1024 IN (1, 7777, 19999)");
  Connection connection = Connection::open(address, "read").value();
  do {
    const auto page =
        letters_of(connection, {2}, {.reference = {}, .form_id = {}, .reason = "rare", .after = {}, .before = {}, .ids = {}}, 2,
                   after, kWalked);
    ASSERT_TRUE(page) << page.error().what;
    for (const auto& one : page->letters) found.push_back(one.id.value / 1024);
    after = page->next;
  } while (after);
  EXPECT_EQ(found, (std::vector<std::int64_t>{19999, 7777, 1}));
}

}  // namespace
}  // namespace waybill::testing
