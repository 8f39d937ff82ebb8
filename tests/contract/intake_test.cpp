// Submissions are stored once under their key, whoever hands them in.  M2 M10
#include <atomic>
#include <thread>

#include "contract/store_world.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

using How = SubmitResult::How;

class IntakeContract : public StoreWorld {};

TEST_F(IntakeContract, ANewSubmissionIsWrittenWholeAndAtOnceDue) {  // M2 M6
  const std::string payload = "{ \"text\": \"Zoë \\u0000 \\\"quoted\\\" \\\\ ''\" }";
  const auto answers = submit({item("a \"b\" \\ {c},'d' Zoë", payload)});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].how, How::created);
  EXPECT_EQ(answers[0].view.client_ref, "a \"b\" \\ {c},'d' Zoë");
  EXPECT_EQ(answers[0].view.state, "pending");
  EXPECT_EQ(answers[0].view.target, "sms.primary");
  EXPECT_EQ(answers[0].view.org, kDefaultOrg);
  EXPECT_FALSE(answers[0].view.completed);
  EXPECT_EQ(sql.number("SELECT micros(created_at) FROM submissions"), answers[0].view.created.micros);
  EXPECT_EQ(sql.text("SELECT convert_from(body, 'UTF8') FROM submissions"), payload);
  EXPECT_EQ(sql.text("SELECT encode(payload_hash, 'hex') FROM submissions"), to_hex(as_view(sha256(payload))));
  EXPECT_EQ(sql.text("SELECT r.status || ' ' || r.attempt_count || ' ' || r.lease_lost || ' ' || r.maybe_sent || ' ' || r.replay "
                     "FROM ready r"),
            "due 0 0 false 0");
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE due_at <= now()"), 1);
  EXPECT_EQ(sql.number("SELECT count(DISTINCT xmin::text) FROM (SELECT xmin FROM submissions UNION ALL "
                       "SELECT xmin FROM ready) x"),
            1)
      << "one transaction";
}

TEST_F(IntakeContract, TheSameAgainIsExistingAndAnythingElseUnderItsKeyAConflict) {  // M2
  const auto first = submit({item("a", "{\"n\":1}")});
  const auto answers = submit({item("b"), item("a", "{\"n\":1}"), item("c")});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].how, How::created);
  EXPECT_EQ(answers[1].how, How::existing);
  EXPECT_EQ(answers[1].view.id, first[0].view.id);
  EXPECT_EQ(answers[1].view.created, first[0].view.created);
  EXPECT_EQ(answers[2].how, How::created);
  EXPECT_EQ(answers[2].view.client_ref, "c");
  for (const auto& other : {item("a", "{\"n\":2}"), item("a", "{\"n\": 1}"), item("a", "{\"n\":1}", "sms.secondary")}) {
    const auto answer = submit({other});
    EXPECT_EQ(answer[0].how, How::conflict);
    EXPECT_EQ(answer[0].view.target, "sms.primary") << "it shows what is stored";
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 3);
}

TEST_F(IntakeContract, OrganisationsDoNotShareKeys) {  // M2
  sql.execute("INSERT INTO organisations (name) VALUES ('other')");
  const OrgId other{sql.number("SELECT org_id FROM organisations WHERE name = 'other'")};
  const auto answers = submit({item("a", "1"), item("a", "2", "sms.primary", other)});
  EXPECT_EQ(answers[0].how, How::created);
  EXPECT_EQ(answers[1].how, How::created);
  EXPECT_EQ(answers[1].view.org, other);
}

TEST_F(IntakeContract, AnEndedSubmissionIsAnsweredWithItsEnd) {  // M2
  submit({item("a")});
  const auto row = claim(route(), 1).rows.at(0);
  settled({ending(row, {1}, Status::rejected, "invalid_request")});
  const auto again = submit({item("a")});
  EXPECT_EQ(again[0].how, How::existing);
  EXPECT_EQ(again[0].view.state, "rejected");
  EXPECT_EQ(again[0].view.reason, "invalid_request");
  EXPECT_EQ(again[0].view.completed, row.created + Seconds(2));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 0) << "it is not queued again";
}

TEST_F(IntakeContract, SessionsThatSubmitTheSameAtOnceAgreeOnOne) {  // M2 M18
  constexpr int kSessions = 4, kRounds = 25, kItems = 20;
  std::vector<std::vector<NewSubmission>> rounds(kRounds);
  for (int round = 0; round < kRounds; ++round)
    for (int i = 0; i < kItems; ++i) rounds[round].push_back(item("r" + std::to_string(round) + "-" + std::to_string(i)));
  std::atomic<int> created = 0, existing = 0, failed = 0;
  std::array<std::array<std::vector<std::int64_t>, kRounds>, kSessions> ids;
  {
    std::vector<std::jthread> threads;
    for (int session = 0; session < kSessions; ++session)
      threads.emplace_back([&, session] {
        const auto own = make_intake_store(address);
        for (int round = 0; round < kRounds; ++round) {
          auto items = rounds[round];
          const auto answers = own->submit(0, items, std::nullopt);
          if (!answers) {
            ++failed;
            continue;
          }
          for (const auto& answer : *answers) {
            ++(answer.how == How::created ? created : existing);
            if (answer.how == How::conflict) ++failed;
            ids[session][round].push_back(answer.view.id.value);
          }
        }
      });
  }
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(created, kRounds * kItems);
  EXPECT_EQ(existing, (kSessions - 1) * kRounds * kItems);
  for (int session = 1; session < kSessions; ++session) EXPECT_EQ(ids[session], ids[0]) << "every caller gets the same answer";
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), kRounds * kItems);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), kRounds * kItems);
}

TEST_F(IntakeContract, ARouteIsMadeOncePerContentAndOrganisation) {  // M10
  const auto first = route("sms.primary");
  EXPECT_EQ(route("sms.primary"), first);
  EXPECT_EQ(*make_intake_store(address)->route(kDefaultOrg, contract_of("sms.primary")), first);
  EXPECT_NE(route("sms.secondary"), first);
  auto changed = contract_of("sms.primary");
  changed.url = "http://elsewhere.example.org/";
  const auto second = intake->route(kDefaultOrg, changed);
  ASSERT_TRUE(second);
  EXPECT_NE(*second, first);
  const auto back = queue->contract(first);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->contract, contract_of("sms.primary")) << "the snapshot stays as it was";
  EXPECT_EQ(back->org, kDefaultOrg);
  EXPECT_EQ(queue->contract(*second)->contract, changed);
  EXPECT_FALSE(queue->contract({9999}));
}

TEST_F(IntakeContract, SessionsThatMakeTheSameRouteAtOnceAgree) {  // M10 M18
  std::array<std::int64_t, 8> routes{};
  {
    std::vector<std::jthread> threads;
    for (auto& made : routes)
      threads.emplace_back([&made, this] {
        made = make_intake_store(address)->route(kDefaultOrg, contract_of("sms.new")).value_or(RouteId{-1}).value;
      });
  }
  for (const auto made : routes) EXPECT_EQ(made, routes[0]);
  EXPECT_GT(routes[0], 0);
}

TEST_F(IntakeContract, WhatTheDatabaseRefusesIsABugAndStoresNothing) {
  auto bad = item("bad");
  bad.payload = "\xff\xfe";  // no UTF-8
  const std::vector<NewSubmission> group{item("good"), bad};
  const auto answers = intake->submit(0, group, std::nullopt);
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().kind, Error::Kind::bug);
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 0);
  EXPECT_EQ(submit({item("good")})[0].how, How::created) << "the session is good for more";
}

TEST_F(IntakeContract, AGroupKeepsWhatIsEachItemsOwn) {  // M2 M10
  sql.execute("INSERT INTO organisations (name) VALUES ('other')");
  const OrgId other{sql.number("SELECT org_id FROM organisations WHERE name = 'other'")};
  std::vector<NewSubmission> items;
  for (const std::string payload : {"{\"n\":1}", "", "\"Zoë 😀\"", "\"\\n\\\\\"", "[\n]", "{\"n\":22}"})
    for (const auto org : {kDefaultOrg, other})
      for (const auto* target : {"sms.primary", "sms.secondary"})
        items.push_back(item("ref-" + std::to_string(items.size()), payload, target, org));
  submit({items[3], items[10]});  // so that a group has gaps
  const auto answers = submit(items);
  ASSERT_EQ(answers.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& wanted = items[i];
    EXPECT_EQ(answers[i].how, i == 3 || i == 10 ? How::existing : How::created) << i;
    EXPECT_EQ(answers[i].view.client_ref, wanted.client_ref);
    const auto where = " WHERE s.id = " + std::to_string(answers[i].view.id.value);
    EXPECT_EQ(sql.text("SELECT s.org_id || ' ' || s.client_ref || ' ' || s.target || ' ' || encode(s.payload_hash, 'hex') "
                       "FROM submissions s" +
                       where),
              std::to_string(wanted.org.value) + " " + wanted.client_ref + " " + wanted.target + " " +
                  to_hex(as_view(wanted.payload_hash)));
    EXPECT_EQ(sql.text("SELECT convert_from(s.body, 'UTF8') FROM submissions s" + where), wanted.payload);
    EXPECT_EQ(sql.text("SELECT r.route_id || ' ' || r.org_id FROM submissions s JOIN ready r ON r.submission_id = s.id" + where),
              std::to_string(wanted.route.value) + " " + std::to_string(wanted.org.value));
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), static_cast<std::int64_t>(items.size()));
}

TEST_F(IntakeContract, NoPayloadReachesIntoTheNext) {
  auto first = item("a"), second = item("b");
  first.payload = "\"\xc3";  // the halves of one character
  second.payload = "\xa9\"";
  EXPECT_FALSE(intake->submit(0, std::vector<NewSubmission>{first, second}, std::nullopt));
  first.payload = std::string("\"\0\"", 3);
  const auto with_nul = intake->submit(0, std::vector<NewSubmission>{first, item("b")}, std::nullopt);
  ASSERT_FALSE(with_nul);
  EXPECT_EQ(with_nul.error().kind, Error::Kind::bug);
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 0);
}

TEST_F(IntakeContract, IdsCarryTheirShard) {
  const auto answers = submit({item("a"), item("b")}, 3);
  for (const auto& answer : answers) EXPECT_EQ(shard_of(answer.view.id), 3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE shard = 3 AND delivery_id % 1024 = 3"), 2);
}

TEST_F(IntakeContract, NewOnesAreClaimedInTheCommitThatStoresThem) {  // M2 M18
  submit({item("old")});
  const auto before = sql.text("SELECT now()");
  const std::vector<NewSubmission> items{item("a", R"({"n":1})"), item("old"), item("b", "{}", "sms.other")};
  const auto answers = intake->submit(0, items, InsertClaim{{7}, {99}, Millis(60'000)});
  ASSERT_TRUE(answers) << answers.error().what;
  EXPECT_TRUE((*answers)[0].claimed);
  EXPECT_FALSE((*answers)[1].claimed);
  EXPECT_TRUE((*answers)[2].claimed);
  EXPECT_EQ(
      sql.text("SELECT string_agg(s.client_ref || ' ' || r.status || ' ' || coalesce(r.claim_token::text, 'none'), ', ' ORDER BY "
               "s.client_ref) FROM ready r JOIN submissions s ON s.id = r.submission_id"),
      "a claimed 99, b claimed 99, old due none");
  EXPECT_EQ(
      sql.text("SELECT string_agg(s.client_ref, ' ' ORDER BY s.client_ref) FROM claimed c JOIN submissions s ON s.id = "
               "c.submission_id WHERE c.host_id = 7 AND c.claim_ends = c.lease_until AND c.claimed_by = 7 AND c.claimed_at = "
               "s.created_at AND c.claim_ends = s.created_at + interval '1 minute'"),
      "a b");
  EXPECT_EQ(sql.number("SELECT cardinality(deliveries) FROM claims WHERE token = 99"), 2);
  EXPECT_EQ(claim(route(), 9).rows.size(), 1u) << "the old one only";
  ASSERT_TRUE(queue->give_back(0, {7}, {99}));
  EXPECT_EQ(claim(route(), 9, {2}).rows.at(0).payload, R"({"n":1})");
}

TEST_F(IntakeContract, NothingIsClaimedWhileATargetAmongThemRests) {  // M8
  const std::vector<NewSubmission> items{item("a"), item("b", "{}", "sms.other")};
  const std::vector<Cooldown> rests{
      {kDefaultOrg, "sms.other", Timestamp{sql.number("SELECT micros(now() + interval '1 hour')")}, "outage"}};
  rest(rests);
  const auto answers = intake->submit(0, items, InsertClaim{{7}, {99}, Millis(60'000)});
  ASSERT_TRUE(answers) << answers.error().what;
  for (const auto& answer : *answers) EXPECT_EQ(std::pair(answer.how, answer.claimed), std::pair(How::created, false));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'due' AND claim_token IS NULL AND lease_until IS NULL"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM claims"), 0);
}

TEST_F(IntakeContract, TheSameKeysInReverseOrderOnTwoHostsDoNotDeadlock) {  // E13
  std::vector<NewSubmission> group{item("a"), item("m"), item("z")};
  SqlClient holder{url};  // has the key in the middle, so that each host gets half of its group and waits
  holder.execute(
      "SET search_path TO waybill; BEGIN; INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state,"
      " payload_hash, created_at, body) VALUES (0, 1024, 1, 'intent', 'm', 'intent', 'sms.primary', 'as_delivery', '', now(), "
      "'{}')");
  const auto waiting = [&](std::int64_t count) {
    return eventually([&] { return sql.number("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted") == count; });
  };
  Result<std::vector<SubmitResult>> first = fail(Error::Kind::bug, "not run"), second = first;
  std::vector<std::jthread> hosts;
  hosts.emplace_back([&] { first = make_intake_store(address)->submit(0, group, std::nullopt); });
  EXPECT_TRUE(waiting(1));
  std::vector<NewSubmission> reversed(group.rbegin(), group.rend());
  hosts.emplace_back([&] { second = make_intake_store(address)->submit(0, reversed, std::nullopt); });
  EXPECT_TRUE(waiting(2));
  holder.execute("ROLLBACK");
  hosts.clear();
  ASSERT_TRUE(first) << first.error().what;
  ASSERT_TRUE(second) << second.error().what;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NE((*first)[i].how, (*second)[2 - i].how) << i << ": created by one of them";
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 3);
}

TEST_F(IntakeContract, WhatCameFirstIsDueFirstWhateverItsKey) {  // E13
  submit({item("z"), item("a"), item("m")});
  std::vector<std::string> order;
  for (const auto& row : claim(route(), 3).rows) order.push_back(row.client_ref);
  EXPECT_EQ(order, (std::vector<std::string>{"z", "a", "m"}));
}

}  // namespace
}  // namespace waybill::testing
