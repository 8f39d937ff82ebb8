// What a page of any list costs: whatever it is asked for, it looks at a bounded number of rows, also where there are a million.
// T16
#include <map>
#include <regex>
#include <set>

#include "store/dead_rows.h"
#include "store/notify_rows.h"
#include "store/tenant_link.h"
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
    for (const char* table : {"submissions", "notifications", "dead_letters", "pipeline_submissions"}) {
      sql.execute(std::string("ANALYZE ") + table);
      sql.execute(std::string("UPDATE pg_class SET reltuples = reltuples * 50 WHERE oid = '") + table + "'::regclass");
    }
  }

  // As a host's session runs it for a tenant. A line for each fault.
  std::string faults(const std::string& name, const std::string& parameters) {
    std::string plan, faults;
    for (const auto& row :
         session->rows("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE " + name + "(" + parameters + ")"))
      plan += *row.at(0) + "\n";
    static const std::regex kRows(R"(rows=(\d+)(?:\.\d+)? loops=(\d+)|Rows Removed by [A-Za-z ]+: (\d+))");
    for (auto at = std::sregex_iterator(plan.begin(), plan.end(), kRows); at != std::sregex_iterator(); ++at) {
      const auto rows = (*at)[3].matched ? std::stol((*at)[3]) : std::stol((*at)[1]) * std::stol((*at)[2]);
      if (rows > kWalked + 100) faults += at->str() + " of " + name + "(" + parameters + ")\n" + plan;
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
      {"dead_letters_of_ids", combinations({{"1"},
                                            {"NULL", "'none'"},
                                            {"NULL"},
                                            {"NULL"},
                                            {"0"},
                                            {"true", "false"},
                                            {kEnd, kMiddle},
                                            {"0"},
                                            {"51"},
                                            {"'{1024,2048,77}'"}})}};
  std::set<std::string> names;
  for (const auto& [name, calls] : lists) names.insert(name);
  prepare(names);
  std::size_t asked = 0;
  for (const auto& [name, calls] : lists)
    for (const auto& parameters : calls) {
      ++asked;
      const auto found = faults(name, parameters);
      ASSERT_EQ(found, "");
    }
  EXPECT_GT(asked, 250u);
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
