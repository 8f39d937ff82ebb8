// Pages of intents and of submissions: complete, in order, of one organisation, and read by an index however long the history is.
// D5
#include <map>
#include <sstream>

#include "docs/snippets.h"
#include "store/submission_list.h"
#include "store/tenant_link.h"
#include "store_world.h"

namespace waybill::testing {
namespace {

constexpr std::size_t kFilled = 20'000;

class Lists : public StoreWorld {
 protected:
  // Ended intents of organisation 1 with two targets, one of them rare, each a second older than the one before; and as many
  // forms.
  void fill() {
    const auto count = std::to_string(kFilled);
    for (const char* kind : {"intent", "form"})
      sql.execute(
          std::string(
              "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at,"
              " completed_at) SELECT 0, nextval('object_ids') * 1024, 1, '") +
          kind + "', '" + kind + "-' || n, '" + kind + "', CASE WHEN n % 4000 = 0 THEN 'rare' ELSE 'common' END, " +
          "CASE WHEN '" + kind + "' = 'form' THEN 'routed' WHEN n % 5000 = 0 THEN 'rejected' ELSE 'accepted' END," +
          " '\\x00', now() - n * interval '1 second', now() FROM generate_series(1, " + count + ") n");
    sql.execute("ANALYZE submissions");
  }

  std::vector<std::string> refs(const SubmissionPage& page) {
    std::vector<std::string> all;
    for (const auto& one : page.items) all.push_back(one.view.client_ref);
    return all;
  }
  // All pages behind each other.
  std::vector<std::string> all_intents(const SubmissionFilter& filter, std::size_t most, OrgId org = kDefaultOrg) {
    std::vector<std::string> all;
    std::optional<DeliveryCursor> after;
    do {
      const auto page = reader->intents(org, filter, most, after);
      EXPECT_TRUE(page) << page.error().what;
      if (!page) return all;
      EXPECT_LE(page->items.size(), most);
      for (auto& ref : refs(*page)) all.push_back(std::move(ref));
      after = page->next;
    } while (after);
    return all;
  }

  Link link{address, "read"};
  TenantLink tenant{link, WithoutTenantRole::rely_on_statements};
};

// D5
TEST_F(Lists, PagesOfIntentsAreCompleteAndInOrderWhileOthersArrive) {
  submit_many(5, "ref-");  // in one statement: created at one time
  submit_many(2, "late-");
  const auto first = reader->intents(kDefaultOrg, {}, 3, {});
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(refs(*first), (std::vector<std::string>{"late-1", "late-0", "ref-4"}));
  submit_many(3, "new-");
  const auto second = reader->intents(kDefaultOrg, {}, 3, first->next);
  EXPECT_EQ(refs(*second), (std::vector<std::string>{"ref-3", "ref-2", "ref-1"}));
  const auto third = reader->intents(kDefaultOrg, {}, 3, second->next);
  EXPECT_EQ(refs(*third), std::vector<std::string>{"ref-0"});
  EXPECT_FALSE(third->next);
}

// D5
TEST_F(Lists, AreFilteredByTargetStatusAndTime) {
  submit({item("a"), item("b", "{}", "push.primary"), item("c")});
  const auto rows = claim(route(), 2).rows;
  settled({ending(rows.at(0), {1}, Status::accepted), ending(rows.at(1), {1}, Status::rejected, "invalid_request")});
  EXPECT_EQ(all_intents({.target = "push.primary", .status = {}}, 10), std::vector<std::string>{"b"});
  EXPECT_EQ(all_intents({.target = {}, .status = "pending"}, 10), std::vector<std::string>{"b"});
  EXPECT_EQ(all_intents({.target = {}, .status = "accepted"}, 10).size(), 1u);
  EXPECT_EQ(all_intents({.target = "sms.primary", .status = "rejected"}, 10).size(), 1u);
  EXPECT_EQ(all_intents({.target = {}, .status = {}, .only_targets = {"push.primary", "nobody"}}, 10),
            std::vector<std::string>{"b"});
  const auto created = reader->find(kDefaultOrg, "intent", "a").value()->created;
  EXPECT_EQ(all_intents({.target = {}, .status = {}, .only_targets = {}, .since = created}, 2).size(), 3u);
  EXPECT_EQ(all_intents({.target = {}, .status = {}, .only_targets = {}, .since = {}, .until = created}, 2).size(), 0u);
}

// D5
TEST_F(Lists, HaveNothingOfAnotherOrganisationWhateverTheDatabaseWouldShow) {
  rely_on_statements();
  sql.execute("INSERT INTO organisations (org_id, name) OVERRIDING SYSTEM VALUE VALUES (2, 'acme')");
  submit({item("mine"), item("theirs", "{}", "sms.primary", {2})});
  EXPECT_EQ(all_intents({}, 10), std::vector<std::string>{"mine"});
  EXPECT_EQ(all_intents({.target = "sms.primary", .status = {}}, 10, {2}), std::vector<std::string>{"theirs"});
  for (const std::string org : {"1", "2"})
    sql.execute(
        "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at) VALUES "
        "(0, " +
        org + ", " + org + ", 'form', '" + (org == "1" ? "mine" : "theirs") +
        "', 'form', 'sms.primary', 'received', '\\x00', now())");
  for (const auto& filter : {SubmissionFilter{}, SubmissionFilter{.target = "sms.primary", .status = {}}}) {
    const auto page = list_submissions(tenant, {2}, filter, 10, {});
    ASSERT_TRUE(page) << page.error().what;
    EXPECT_EQ(refs(*page), std::vector<std::string>{"theirs"});
  }
}

// D5: a page of something rare ends where the walk does, and the next one goes on there
TEST_F(Lists, NoPageWalksFurtherThanItMay) {
  fill();
  const SubmissionFilter rejected{.target = {}, .status = "rejected"};
  std::optional<DeliveryCursor> after;
  std::vector<std::string> all;
  std::size_t pages = 0;
  do {
    const auto page = list_intents(tenant, kDefaultOrg, rejected, 3, after, 900);
    ASSERT_TRUE(page) << page.error().what;
    for (auto& ref : refs(*page)) all.push_back(std::move(ref));
    after = page->next;
    ASSERT_LE(++pages, kFilled / 900 + 2);
  } while (after);
  EXPECT_EQ(all, (std::vector<std::string>{"intent-5000", "intent-10000", "intent-15000", "intent-20000"}));
  EXPECT_GE(pages, kFilled / 900);
}

// D5: the plans with the settings of a host's session, on a filled table
TEST_F(Lists, AreReadByTheirIndexWithoutASortOrAScanOfTheHistory) {
  fill();
  submit({item("last")});
  sql.execute("ANALYZE submissions");
  SqlClient session(as_role(url, "waybill_host"));
  session.execute(
      "SET search_path TO waybill; SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off; SET enable_hashjoin TO "
      "off;"
      " SET enable_mergejoin TO off; SET enable_bitmapscan TO off; SET enable_material TO off; SET jit TO off");
  const std::map<std::string, std::pair<std::string, std::string>> wanted{
      {"list_intents", {"submissions_intents ", ", NULL, NULL"}},
      {"list_intents_of", {"submissions_intents_of ", ", NULL, 'common'"}},
      {"list_forms_of", {"submissions_forms_of ", ", NULL, 'common'"}},
      {"list_submissions", {"submissions_listed ", ", NULL"}}};
  std::size_t seen = 0;
  for (const auto& statement : all_statements()) {
    const auto found = wanted.find(statement.name);
    if (found == wanted.end()) continue;
    ++seen;
    session.execute(std::string("PREPARE ") + statement.name + " AS " + statement.sql);
    std::string plan;
    for (const auto& row :
         session.rows("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE " + found->first +
                      "(1, 0, 253402300799000000, 253402300799000000, 0, 20000, 51" + found->second.second + ")"))
      plan += *row.at(0) + "\n";
    EXPECT_EQ(plan.find("Seq Scan"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
    const auto at = plan.find("using " + found->second.first);
    ASSERT_NE(at, std::string::npos) << plan;
    const auto rows = plan.find("rows=", at);
    EXPECT_LE(std::stoi(plan.substr(rows + 5)), 60) << "it stops once the page is full\n" << plan;
  }
  EXPECT_EQ(seen, wanted.size());
}

// D5: whoever makes the indexes before the migration gets the same ones
TEST_F(Lists, TheUpgradingPageHasTheIndexesOfTheMigration) {
  const auto definitions = [&] {
    return sql.text(
        "SELECT string_agg(pg_get_indexdef(indexrelid), E'\\n' ORDER BY indexrelid::regclass::text) FROM pg_index"
        " WHERE indrelid = 'submissions'::regclass");
  };
  const auto before = definitions();
  std::size_t made = 0;
  for (const auto& snippet : snippets_of(source_folder() / "docs/operations/upgrading.md")) {
    std::istringstream lines(snippet.text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("CREATE INDEX CONCURRENTLY ")) continue;
      ++made;
      std::istringstream words(line.substr(26));
      std::string name;
      words >> name;
      sql.execute("DROP INDEX " + name);
      sql.execute(line);
    }
  }
  EXPECT_EQ(made, 4u);
  EXPECT_EQ(definitions(), before);
}

}  // namespace
}  // namespace waybill::testing
