// What waits, in the database: ended as hosts end it, sent elsewhere, rated by operators.  O5
#include <latch>
#include <thread>

#include "contract/store_world.h"
#include "settle/settlement.h"
#include "waiting/waiting_service.h"

namespace waybill::testing {
namespace {

const Operator kKeeper{"ada", "test"};

class NoTypes final : public ActionTypes {
 public:
  const ActionType* find(std::string_view) const override { return nullptr; }
  std::vector<std::string> names() const override { return {}; }
  Problems check_destination(std::string_view, const std::string&) const override { return {}; }
  Problems check_settings(std::string_view, const std::string&) const override { return {}; }
  Problems check_payload(std::string_view, const std::string& payload) const override {
    if (payload.find("wrong") == std::string::npos) return {};
    return {Problem{.file = {}, .line = 0, .field = "text", .message = "is wrong"}};
  }
};

class WaitingContract : public StoreWorld {
 protected:
  WaitingContract() {
    auto other = contract_of("sms.b");
    other.url = "http://other.example.org/";
    auto voice = contract_of("voice.a");
    voice.action_type = "voice";
    auto brief = contract_of("sms.brief", Policy::deadline);
    brief.max_acceptance = Seconds(60);
    registry = std::make_unique<Registry>(std::vector<Contract>{contract_of("sms.a"), other, brief, voice});
  }

  WaitingOrder order(const std::string& target = "sms.a") {
    return {.org = kDefaultOrg, .filter = {.target = target}, .reason = "of no use any more", .by = kKeeper};
  }
  WaitingDone end(const WaitingOrder& wanted) {
    const auto done = end_waiting(*waiting, wanted);
    EXPECT_TRUE(done) << done.error().what;
    return done.value_or(WaitingDone{});
  }
  WaitingDone reroute(const std::string& to = "sms.b", const WaitingOrder* wanted = nullptr) {
    const auto done = reroute_waiting(*waiting, *registry, types, wanted != nullptr ? *wanted : order(), to);
    EXPECT_TRUE(done) << done.error().what;
    return done.value_or(WaitingDone{});
  }
  std::string state(const std::string& ref) {
    return sql.text("SELECT state || coalesce(' ' || reason, '') FROM submission_states WHERE client_ref = '" + ref + "'");
  }
  std::int64_t count_in(const std::string& table) { return sql.number("SELECT count(*) FROM " + table); }
  // One attempt that ended in a retry.
  void attempted(const std::string& ref, bool maybe_sent, const std::string& target = "sms.a") {
    submit({item(ref, "{}", target)});
    const ClaimToken token{++last_token};
    const auto rows = claim(route(target), 9, token).rows;
    for (const auto& row : rows) {
      auto retry = retrying(row, token, row.created + std::chrono::hours(1));
      retry.history.maybe_sent = maybe_sent && row.client_ref == ref;
      settled({retry});
    }
  }

  std::unique_ptr<WaitingStore> waiting = make_waiting_store(address, 1);
  std::unique_ptr<Registry> registry;
  NoTypes types;
  std::int64_t last_token = 100;
};

// O5
TEST_F(WaitingContract, WhatWaitsEndsAsExhaustedForTheOperatorsReasonAndCanBeSentAgain) {
  submit_many(3, "a-", "sms.a");
  submit_many(2, "b-", "sms.b");
  auto dry = order();
  dry.dry_run = true;
  EXPECT_EQ(end(dry).count, 3u);
  EXPECT_EQ(count_in("deliveries"), 0);
  EXPECT_EQ(end(order()).count, 3u);
  EXPECT_EQ(state("a-0"), "exhausted ended_by_operator");
  EXPECT_EQ(state("b-0"), "pending");
  EXPECT_EQ(count_in("ready"), 2);
  EXPECT_EQ(count_in("attempts"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'waiting_ended' AND actor = 'ada' AND trigger = 'test' AND "
                       "actor_type = 'admin' AND metadata ->> 'reason' = 'of no use any more' AND delivery_id IS NOT NULL"),
            3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'intent_exhausted' AND actor = 'ada'"), 3);
  EXPECT_EQ(end(order()).count, 0u);
}

// O5
TEST_F(WaitingContract, WhatAHostHoldsIsLeftAlone) {
  submit_many(3, "a-", "sms.a");
  const auto held = claim(route("sms.a"), 1).rows.at(0);
  EXPECT_EQ(end(order()).count, 2u);
  settled({ending(held, {1}, Status::accepted)});
  EXPECT_EQ(state(held.client_ref), "accepted");
}

// Two operators, and a host that claims: each delivery is one's.
TEST_F(WaitingContract, ManyAtOnceEndEachDeliveryOnce) {  // O5
  submit_many(500, "a-", "sms.a");
  std::latch all(3);
  WaitingDone first, second;
  std::size_t claimed = 0;
  {
    const std::jthread one([&] {
      all.arrive_and_wait();
      first = end(order());
    });
    const std::jthread other([&] {
      all.arrive_and_wait();
      second = end(order());
    });
    all.arrive_and_wait();
    claimed = claim(route("sms.a"), 100).rows.size();
  }
  EXPECT_EQ(first.count + second.count + claimed +
                static_cast<std::size_t>(sql.number("SELECT count(*) FROM ready WHERE status = 'due'")),
            500u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM deliveries"), static_cast<std::int64_t>(first.count + second.count));
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'waiting_ended'"),
            static_cast<std::int64_t>(first.count + second.count));
}

// Its submission is younger than the first look; here by a clock that the test sets.
TEST_F(WaitingContract, WhatComesInMeanwhileIsLeftAlone) {  // O5
  submit_many(2, "a-", "sms.a");
  sql.execute("UPDATE submissions SET created_at = now() + interval '1 hour' WHERE client_ref = 'a-1'");
  EXPECT_EQ(end(order()).count, 1u);
  EXPECT_EQ(state("a-1"), "pending");
}

// A row that somebody holds locked is passed over; nobody waits for it.
TEST_F(WaitingContract, ALockedRowIsPassedOver) {  // O5
  const auto made = submit({item("a", "{}", "sms.a"), item("b", "{}", "sms.a")});
  RowLock lock(url, DeliveryId{made.at(0).view.id.value});
  const auto done = end(order());
  EXPECT_EQ(done.count, 1u);
  EXPECT_EQ(done.taken_by_others, 1u);
  lock.release();
  EXPECT_EQ(end(order()).count, 1u);
}

// O5
TEST_F(WaitingContract, FiltersAndPages) {
  submit_many(30, "a-", "sms.a");
  sql.execute("UPDATE submissions SET created_at = now() - interval '1 hour' WHERE client_ref IN ('a-1', 'a-2')");
  auto old = order();
  old.filter.older_than = Seconds(600);
  old.dry_run = true;
  EXPECT_EQ(end(old).count, 2u);
  old.filter.kind = "form";
  EXPECT_EQ(end(old).count, 0u);
  std::vector<std::string> listed;
  std::optional<DeliveryCursor> after;
  do {
    const auto page = waiting->list(kDefaultOrg, {.target = "sms.a"}, 7, after);
    ASSERT_TRUE(page) << page.error().what;
    for (const auto& one : page->items) listed.push_back(one.reference);
    after = page->next;
  } while (after);
  EXPECT_EQ(listed.size(), 30u);
  EXPECT_EQ(waiting->list(kDefaultOrg, {.target = "sms.none"}, 7, {})->items.size(), 0u);
  EXPECT_EQ(waiting->list({2}, {}, 7, {})->items.size(), 0u) << "another organisation's";
}

// O5
TEST_F(WaitingContract, EndingIsOfOneOrganisation) {
  sql.execute("INSERT INTO organisations (name) VALUES ('acme')");
  submit_many(2, "a-", "sms.a");
  submit_many(2, "a-", "sms.a", {2});
  auto theirs = order();
  theirs.org = {2};
  EXPECT_EQ(end(theirs).count, 2u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE org_id = 1"), 2);
}

// O5
TEST_F(WaitingContract, WhatIsMeantMustBeSaid) {
  auto none = order("");
  EXPECT_FALSE(end_waiting(*waiting, none));
  auto silent = order();
  silent.reason = "";
  EXPECT_FALSE(end_waiting(*waiting, silent));
  EXPECT_FALSE(reroute_waiting(*waiting, *registry, types, order(), "sms.a"));
  EXPECT_FALSE(reroute_waiting(*waiting, *registry, types, order(), "sms.fuor"));
  submit_many(1, "a-", "sms.a");
  const auto other_type = reroute_waiting(*waiting, *registry, types, order(), "voice.a");
  ASSERT_FALSE(other_type);
  EXPECT_NE(other_type.error().what.find("action type voice"), std::string::npos) << other_type.error().what;
}

// O5
TEST_F(WaitingContract, WhatWasNeverSentGoesElsewhereAndItsHistoryStays) {
  attempted("tried", false);
  submit({item("new", "{}", "sms.a")});
  const auto done = reroute();
  EXPECT_EQ(done.count, 2u);
  EXPECT_EQ(claim(route("sms.a"), 9, {1}).rows.size(), 0u);
  const auto there = queue->due_routes(0);
  ASSERT_TRUE(there);
  ASSERT_EQ(there->routes.size(), 1u);
  const auto rows = claim(there->routes[0].route, 9, {2}).rows;
  ASSERT_EQ(rows.size(), 2u) << "what waited for a retry goes out at once";
  const auto contract = queue->contract(there->routes[0].route);
  EXPECT_EQ(contract->contract.url, "http://other.example.org/");
  for (const auto& row : rows)
    if (row.client_ref == "tried") {
      EXPECT_EQ(row.history.attempt_count, 1u);
      EXPECT_EQ(row.history.uncounted, 1u) << "the other target's attempts do not count here";
    }
  EXPECT_EQ(
      sql.number("SELECT count(*) FROM audit_log WHERE action = 'delivery_rerouted' AND actor = 'ada' AND metadata ->> 'from' = "
                 "'sms.a' AND metadata ->> 'to' = 'sms.b'"),
      2);
  EXPECT_EQ(sql.text("SELECT string_agg(DISTINCT target, ',') FROM submissions"), "sms.a") << "a repetition is still known";
}

// O5
TEST_F(WaitingContract, WhatMayHaveBeenSentAndWhatDoesNotFitStays) {
  attempted("maybe", true);
  submit({item("wrong", R"({"text":"wrong"})", "sms.a"), item("good", "{}", "sms.a"), item("composed", "{}", "sms.a")});
  sql.execute(
      "UPDATE ready SET composed = true WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = 'composed')");
  auto dry = order();
  dry.dry_run = true;
  EXPECT_EQ(reroute("sms.b", &dry).count, 1u);
  const auto done = reroute();
  EXPECT_EQ(done.count, 1u);
  ASSERT_EQ(done.refused, 3u);
  std::map<std::string, std::string> why;
  for (const auto& [one, text] : done.examples) why[one.reference] = text;
  EXPECT_NE(why["maybe"].find("may have been sent"), std::string::npos) << why["maybe"];
  EXPECT_NE(why["wrong"].find("text: is wrong"), std::string::npos) << why["wrong"];
  EXPECT_NE(why["composed"].find("begun it"), std::string::npos) << why["composed"];
  sql.execute("UPDATE ready SET due_at = now() - interval '1 second'");
  EXPECT_EQ(claim(route("sms.a"), 9, {1}).rows.size(), 3u);
}

// A store that notes how many bytes of bodies it gives at once.
class CountedBodies final : public WaitingStore {
 public:
  explicit CountedBodies(WaitingStore& store) : store_(store) {}
  Result<std::optional<OrgId>> organisation(const std::string& name) override { return store_.organisation(name); }
  Result<WaitingPage> list(OrgId org, const WaitingFilter& filter, std::size_t most,
                           const std::optional<DeliveryCursor>& after) override {
    return store_.list(org, filter, most, after);
  }
  Result<std::vector<DeliveryId>> end(OrgId org, std::span<const WaitingDelivery> chosen, const EndOfWaiting& settle,
                                      const std::string& reason, const Operator& by) override {
    return store_.end(org, chosen, settle, reason, by);
  }
  Result<std::map<DeliveryId, std::size_t>> body_sizes(OrgId org, std::span<const WaitingDelivery> chosen) override {
    return store_.body_sizes(org, chosen);
  }
  Result<std::map<DeliveryId, std::string>> bodies(OrgId org, std::span<const WaitingDelivery> chosen) override {
    auto all = store_.bodies(org, chosen);
    std::size_t bytes = 0;
    if (all)
      for (const auto& [id, body] : *all) bytes += body.size();
    given.push_back(bytes);
    return all;
  }
  Result<std::vector<DeliveryId>> reroute(OrgId org, std::span<const WaitingDelivery> chosen, const NewRoute& route,
                                          const Operator& by) override {
    return store_.reroute(org, chosen, route, by);
  }

  Result<std::vector<Settlement>> end_expired(Shard shard, std::size_t most, const EndOfWaiting& settle) override {
    return store_.end_expired(shard, most, settle);
  }

  std::vector<std::size_t> given;

 private:
  WaitingStore& store_;
};

// Q4: the other target's deadline counts from its own time too
TEST_F(WaitingContract, WhatWaitsForItsTimeIsNotPastTheOthersDeadline) {
  auto later = item("later", "{}", "sms.a");
  later.terms = terms_of({.not_before = queue->due_routes(0)->now + std::chrono::hours(1), .expires = {}, .producer = {}});
  submit({later});
  sql.execute("UPDATE submissions SET created_at = created_at - interval '10 minutes'");
  EXPECT_EQ(reroute("sms.brief").count, 1u);
}

// O5: a page is two hundred, and each may be of a megabyte
TEST_F(WaitingContract, OfLargeBodiesFewAreReadAtOnce) {
  const std::string text(std::size_t{3} << 20, 'x');
  for (const auto* ref : {"a", "b", "c", "d", "e"}) submit({item(ref, "{\"text\":\"" + text + "\"}", "sms.a")});
  submit({item("wrong", R"({"text":"wrong"})", "sms.a")});
  submit({item("huge", "{\"text\":\"" + text + text + text + "\"}", "sms.a")});
  CountedBodies store(*waiting);
  const auto done = reroute_waiting(store, *registry, types, order(), "sms.b");
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->count, 6u);
  EXPECT_EQ(done->refused, 1u);
  ASSERT_GE(store.given.size(), 4u);
  for (const auto bytes : store.given)
    EXPECT_TRUE(bytes <= kMaxBodiesHeld || bytes == 3 * text.size() + std::string(R"({"text":""})").size()) << bytes;
}

// The statement looks again: the host may have tried it since the list was read.
TEST_F(WaitingContract, WhatIsTriedMeanwhileStays) {  // O5
  submit({item("a", "{}", "sms.a")});
  const auto page = waiting->list(kDefaultOrg, {.target = "sms.a"}, 9, {});
  ASSERT_EQ(page->items.size(), 1u);
  sql.execute("UPDATE ready SET maybe_sent = true, attempt_count = 1");
  const auto moved = waiting->reroute(kDefaultOrg, page->items, {*registry->find("sms.b"), "sms.a", "sms.b"}, kKeeper);
  ASSERT_TRUE(moved) << moved.error().what;
  EXPECT_TRUE(moved->empty());
}

// O5
TEST_F(WaitingContract, NothingIsReroutedPastItsNewDeadline) {
  submit({item("late", "{}", "sms.a")});
  sql.execute("UPDATE submissions SET created_at = now() - interval '2 minutes'");
  const auto done = reroute("sms.brief");
  EXPECT_EQ(done.count, 0u);
  ASSERT_EQ(done.examples.size(), 1u);
  EXPECT_NE(done.examples[0].second.find("deadline"), std::string::npos) << done.examples[0].second;
}

class RateContract : public StoreWorld {
 protected:
  RateContract() { submit_many(1, "a-", "sms.a"); }
  Result<RateOrder> give(const Rate& rate, std::optional<Seconds> lasts = {}, const std::string& target = "sms.a") {
    return targets->order_rate({"default", target}, rate, lasts, false, kKeeper);
  }
};

// O5
TEST_F(RateContract, AnOperatorsRateIsInForceUntilItIsClearedOrOver) {
  const Rate slow{5, Seconds(1)};
  const auto given = give(slow, Seconds(3600));
  ASSERT_TRUE(given) << given.error().what;
  EXPECT_EQ(*given->until - given->since, std::chrono::hours(1));
  const OrderedRates expected{{{kDefaultOrg, "sms.a"}, slow}};
  EXPECT_EQ(*queue->ordered_rates(), expected);
  sql.execute("UPDATE rate_orders SET until = now() - interval '1 second'");
  EXPECT_TRUE(queue->ordered_rates()->empty());
  EXPECT_TRUE(targets->rates()->empty());
  EXPECT_FALSE(targets->clear_rate({"default", "sms.a"}, kKeeper)) << "it is over";
  ASSERT_TRUE(give({600, std::chrono::minutes(1)}));
  ASSERT_TRUE(give(slow)) << "in place of the earlier one";
  ASSERT_EQ(targets->rates()->size(), 1u);
  EXPECT_EQ(targets->rates()->at(0).order.rate, slow);
  EXPECT_FALSE(targets->rates()->at(0).order.until);
  const auto cleared = targets->clear_rate({"default", "sms.a"}, {"bob", "test"});
  ASSERT_TRUE(cleared) << cleared.error().what;
  EXPECT_EQ(cleared->actor, "ada");
  EXPECT_TRUE(queue->ordered_rates()->empty());
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'target_rate_ordered' AND actor = 'ada'"), 3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'target_rate_cleared' AND actor = 'bob'"), 1);
}

// O5
TEST_F(RateContract, WhatCannotBeMeantIsRefused) {
  EXPECT_EQ(give({5, Seconds(1)}, {}, "sms.fuor").error().kind, Error::Kind::not_found);
  EXPECT_EQ(give({0, Seconds(1)}).error().kind, Error::Kind::invalid);
  EXPECT_EQ(give({kMaxRateCount + 1, Seconds(1)}).error().kind, Error::Kind::invalid);
  EXPECT_EQ(give({5, Seconds(1)}, Seconds(0)).error().kind, Error::Kind::invalid);
  EXPECT_EQ(give({5, Seconds(1)}, kLongestRate + Seconds(1)).error().kind, Error::Kind::invalid);
  EXPECT_EQ(targets->clear_rate({"default", "sms.a"}, kKeeper).error().kind, Error::Kind::not_found);
  EXPECT_EQ(sql.number("SELECT count(*) FROM rate_orders"), 0);
}

// O5
TEST_F(RateContract, ExplainTellsIt) {
  ASSERT_TRUE(give({7, Seconds(1)}));
  const auto found = reader->explain(kDefaultOrg, "intent", "a-0");
  ASSERT_TRUE(found && *found) << (found ? "not there" : found.error().what);
  const auto& position = (*found)->positions.at(0);
  EXPECT_EQ(position.rate, (Rate{7, Seconds(1)}));
  ASSERT_TRUE(position.ordered_rate);
  EXPECT_EQ(position.ordered_rate->actor, "ada");
}

}  // namespace
}  // namespace waybill::testing
