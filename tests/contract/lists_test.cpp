// Pages of intents and of submissions: complete, in order, of one organisation, and read by an index however long the history is.
// D5

#include "store/intake/intent_listing.h"
#include "store/pg/tenant_link.h"
#include "store/submissions/submission_list.h"
#include "store_world.h"

namespace waybill::testing {
namespace {

constexpr std::size_t kIntents = 20'000;

class Lists : public StoreWorld {
 protected:
  // Ended intents of organisation 1 with two targets, one of them rare, each a second younger than the one before; and as many
  // forms.
  void fill() {
    const auto count = std::to_string(kIntents);
    for (const char* kind : {"intent", "form"})
      sql.execute(
          std::string(
              "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at,"
              " completed_at) SELECT 0, nextval('object_ids') * 1024, 1, '") +
          kind + "', '" + kind + "-' || n, '" + kind + "', CASE WHEN n % 4000 = 0 THEN 'rare' ELSE 'common' END, " +
          "CASE WHEN '" + kind + "' = 'form' THEN 'routed' WHEN n % 5000 = 0 THEN 'rejected' ELSE 'accepted' END," +
          " '\\x00', now() - (" + count + " - n) * interval '1 second', now() FROM generate_series(1, " + count + ") n");
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
    const auto page = list_intents(tenant, kDefaultOrg, 1, rejected, 3, after, 900);
    ASSERT_TRUE(page) << page.error().what;
    for (auto& ref : refs(*page)) all.push_back(std::move(ref));
    after = page->next;
    ASSERT_LE(++pages, 2 * kIntents / 900 + 2) << "forms are passed over as well";
  } while (after);
  EXPECT_EQ(all, (std::vector<std::string>{"intent-20000", "intent-15000", "intent-10000", "intent-5000"}));
  EXPECT_GE(pages, kIntents / 900);
}

// D5, T35: what came in is found before and after it is listed, in batches as in one, whatever is asked for
TEST_F(Lists, AreTheSameBeforeAndAfterIntentsAreListed) {
  sql.execute("INSERT INTO organisations (org_id, name) OVERRIDING SYSTEM VALUE VALUES (2, 'acme')");
  for (int i = 0; i < 30; ++i)
    submit({item("mine-" + std::to_string(i), "{}", i % 7 == 0 ? "push.primary" : "sms.primary"),
            item("theirs-" + std::to_string(i), "{}", "sms.primary", {2})});
  const auto middle = reader->find(kDefaultOrg, "intent", "mine-15").value()->created;
  const std::vector<SubmissionFilter> filters{{},
                                              {.target = "push.primary", .status = {}},
                                              {.target = "nobody", .status = {}},
                                              {.target = {}, .status = "pending"},
                                              {.target = {}, .status = "accepted"},
                                              {.target = "sms.primary", .status = "pending", .only_targets = {}, .since = middle},
                                              {.target = {}, .status = {}, .only_targets = {}, .since = {}, .until = middle},
                                              {.target = {}, .status = {}, .only_targets = {"push.primary", "nobody"}}};
  std::vector<std::vector<std::string>> before;
  for (const auto& filter : filters) before.push_back(all_intents(filter, 4));
  const auto theirs = all_intents({}, 4, {2});
  ASSERT_EQ(before[0].size(), 30u);
  ASSERT_EQ(before[0].front(), "mine-29");
  ASSERT_EQ(theirs.size(), 30u);
  Link link_of_tasks{address, "tasks"};
  IntentListing listing;
  ASSERT_TRUE(listing.extend(link_of_tasks, {1, 9})) << "looks only";
  ASSERT_TRUE(listing.extend(link_of_tasks, {1, 9}));
  ASSERT_GE(sql.number("SELECT count(*) FROM listed_intents WHERE org_id = 1"), 3);
  submit({item("late")});
  for (auto& refs_of : before)
    if (!refs_of.empty() && refs_of.front() == "mine-29") refs_of.insert(refs_of.begin(), "late");
  for (std::size_t i = 0; i < filters.size(); ++i) EXPECT_EQ(all_intents(filters[i], 4), before[i]) << i;
  EXPECT_EQ(all_intents({}, 4, {2}), theirs);
  for (std::size_t most : {1u, 7u, 31u, 500u}) EXPECT_EQ(all_intents({}, most), before[0]) << most;
}

// T35: an id is given out before its intent is there; nothing is listed past one that may still appear
TEST_F(Lists, AnIntentThatIsCommittedLateIsListedAllTheSame) {
  Link link_of_tasks{address, "tasks"};
  IntentListing listing;
  SqlClient slow(url);
  slow.execute("SET search_path TO waybill; BEGIN");
  slow.execute(
      "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at) VALUES"
      " (0, nextval('object_ids') * 1024, 1, 'intent', 'slow', 'intent', 'sms.primary', 'as_delivery', '\\x00', now())");
  submit_many(5, "quick-");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(listing.extend(link_of_tasks, {1, 100}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM listed_intents"), 0);
  EXPECT_EQ(all_intents({}, 10).size(), 5u);
  slow.execute("COMMIT");
  EXPECT_EQ(all_intents({}, 10).size(), 6u);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(listing.extend(link_of_tasks, {1, 100}));
  EXPECT_EQ(sql.number("SELECT sum(intents) FROM listed_intents"), 6);
  EXPECT_EQ(all_intents({}, 10), (std::vector<std::string>{"quick-4", "quick-3", "quick-2", "quick-1", "quick-0", "slow"}));
}

// T35: after a failover numbers may begin again below those that were seen, so nothing that was seen before counts
TEST_F(Lists, ANewSessionOfTheListingLooksAnew) {
  IntentListing listing;
  submit_many(5);
  {
    Link first{address, "tasks"};
    ASSERT_TRUE(listing.extend(first, {1, 100}));
  }
  Link second{address, "tasks"};
  ASSERT_TRUE(listing.extend(second, {1, 100}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM listed_intents"), 0);
  ASSERT_TRUE(listing.extend(second, {1, 100}));
  EXPECT_EQ(sql.number("SELECT sum(intents) FROM listed_intents"), 5);
}

// T35: hosts take turns, and wait for none of the others
TEST_F(Lists, OneHostListsAtATime) {
  submit_many(5);
  Link link_of_tasks{address, "tasks"};
  IntentListing listing;
  ASSERT_TRUE(listing.extend(link_of_tasks, {1, 100}));
  SqlClient other(url);
  other.execute("SET search_path TO waybill; BEGIN; SELECT upto FROM listing FOR UPDATE");
  ASSERT_TRUE(listing.extend(link_of_tasks, {1, 100}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM listed_intents"), 0);
  other.execute("COMMIT");
  ASSERT_TRUE(listing.extend(link_of_tasks, {1, 100}));
  EXPECT_EQ(sql.number("SELECT sum(intents) FROM listed_intents"), 5);
}

// T35: what retention deleted leaves the lists, and their rows as well once all of it is gone
TEST_F(Lists, WhatIsDeletedLeavesNoEntry) {
  submit_many(4);
  Link link_of_tasks{address, "tasks"};
  IntentListing listing;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(listing.extend(link_of_tasks, {1, 100}));
  submit_many(2, "young-");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(listing.extend(link_of_tasks, {1, 100}));
  ASSERT_EQ(sql.number("SELECT count(*) FROM listed_intents"), 2);
  const auto forget_all = [&](Millis age) {
    ListedPlace place;
    for (auto last = maintenance->forget_listed(place, age, 1); last && *last; last = maintenance->forget_listed(place, age, 1))
      place = **last;
  };
  sql.execute("DELETE FROM submissions WHERE client_ref IN ('ref-0', 'ref-1', 'ref-3')");
  sql.execute("UPDATE listed_intents SET newest = now() - interval '2 days' WHERE above = 0");
  EXPECT_EQ(all_intents({}, 10), (std::vector<std::string>{"young-1", "young-0", "ref-2"}));
  forget_all(std::chrono::hours(24));
  EXPECT_EQ(sql.number("SELECT count(*) FROM listed_intents"), 2) << "one is left";
  sql.execute("DELETE FROM submissions WHERE client_ref LIKE 'ref-%' OR client_ref = 'young-0'");
  forget_all(std::chrono::hours(72));
  EXPECT_EQ(sql.number("SELECT count(*) FROM listed_intents"), 2) << "it is young";
  forget_all(std::chrono::hours(24));
  EXPECT_EQ(sql.number("SELECT count(*) FROM listed_intents"), 1);
  EXPECT_EQ(all_intents({}, 10), std::vector<std::string>{"young-1"});
}

// T35: an intent has no entry in an index but those of its id and its reference
TEST_F(Lists, CostAnIntentNoIndexEntry) {
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_index WHERE indrelid = 'submissions'::regclass AND indpred IS NULL"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_index WHERE indrelid = 'submissions'::regclass AND indpred IS NOT NULL"
                       " AND pg_get_expr(indpred, indrelid) LIKE '%intent%'"),
            0);
}

}  // namespace
}  // namespace waybill::testing
