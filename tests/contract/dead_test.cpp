// Dead letters against PostgreSQL: replays at their turns and never beside a running one, edits that are kept, clones, purges.
// F10
#include <latch>
#include <thread>

#include "contract/store_world.h"
#include "settle/settlement.h"
#include "store/forms/form_store.h"
#include "store/operations/dead_store.h"

namespace waybill::testing {
namespace {

constexpr std::size_t kRate = 4;                                // replays a second
constexpr std::int64_t kGap = 1'000'000 / std::int64_t{kRate};  // microseconds

class DeadLetters : public StoreWorld {
 protected:
  static FormAction action(int order) {
    return {.order = order,
            .action_type = "email_raw",
            .destination = "desk@example.org",
            .template_id = {},
            .subject_template = {},
            .happyfox_category = {}};
  }
  static Form form(int actions = 1) {
    Form made{.id = "contact", .name = "Contact", .actions = {}};
    for (int order = 1; order <= actions; ++order) made.actions.push_back(action(order));
    return made;
  }

  void hand_in(const std::string& reference, int actions = 1, std::vector<NewAttachment> attachments = {},
               std::optional<Timestamp> kept_until = {}) {
    const Form contact = form(actions);
    std::vector<Contract> contracts;
    for (const auto& one : contact.actions) contracts.push_back(contract_of_action(one));
    const auto made = forms->submit({.org = kDefaultOrg,
                                     .client_ref = reference,
                                     .form_id = contact.id,
                                     .fields = R"({"name":"Ada","phone":"1"})",
                                     .attachments_json = "[]",
                                     .attachments = std::move(attachments),
                                     .kept_until = kept_until,
                                     .hash = sha256(reference),
                                     .actions = contact.actions,
                                     .contracts = contracts,
                                     .finalize = true});
    ASSERT_TRUE(made) << made.error().what;
  }
  static Contract contract_of_action(const FormAction& one) { return waybill::contract_of(form(one.order), one, nullptr); }

  std::vector<ClaimedRow> claim_all() {
    auto due = queue->due_routes(0);
    EXPECT_TRUE(due);
    std::vector<ClaimedRow> rows;
    for (const auto& [route, org, first] : due->routes)
      for (auto& row : claim(route, 1000).rows) rows.push_back(std::move(row));
    return rows;
  }
  void settle_as(const ClaimedRow& row, Status status, const std::string& reason = {}) {
    auto s = ending(row, {1}, status, reason);
    s.submission_state = s.from_state = "";
    s.action = action_audit(status, s.action_type);
    s.of_form = true;
    if (status != Status::accepted) make_dead(s);
    s.result = R"({"accepted":["a@example.org"]})";
    ASSERT_EQ(settled({s}).size(), 1u);
  }
  static void make_dead(Settlement& s) {
    s.dead_letter = true;
    s.alert = DeadLetterAlert{"contact/1:" + s.reason, "it died"};
  }
  // Everything that is due ends badly.
  void kill_all(const std::string& reason = "max_attempts") {
    for (const auto& row : claim_all()) settle_as(row, Status::exhausted, reason);
  }
  DeliveryId died(const std::string& reference) {
    hand_in(reference);
    kill_all();
    return newest();
  }
  DeliveryId lost_intent(const std::string& reference) {
    submit({item(reference, R"({"to":"+49"})")});
    auto s = ending(claim_all().at(0), {1}, Status::exhausted, "worker_lost");
    make_dead(s);
    EXPECT_EQ(settled({s}).size(), 1u);
    return newest();
  }
  DeliveryId newest() { return {sql.number("SELECT id FROM dead_letters ORDER BY died_at DESC, id DESC LIMIT 1")}; }
  Replays replay(const DeadFilter& filter, bool dry_run = false) {
    auto done = dead->replay(kDefaultOrg, filter, "ada", dry_run);
    EXPECT_TRUE(done) << done.error().what;
    return done.value_or(Replays{});
  }
  static DeadFilter one(DeliveryId id) {
    DeadFilter filter;
    filter.ids = {id};
    filter.replayed = true;
    return filter;
  }
  std::string refusal(DeliveryId id) {
    const auto replays = replay(one(id));
    return replays.items.empty() ? "" : replays.items.front().refused;
  }
  std::vector<DeadLetter> listed(const DeadFilter& filter) {
    auto page = dead->list(kDefaultOrg, filter, 100, {});
    EXPECT_TRUE(page) << page.error().what;
    return page ? page->letters : std::vector<DeadLetter>{};
  }
  // Everything that a replay could write, in one text.
  std::string all_rows() {
    std::string all;
    for (const auto* table : {"submissions", "form_submissions", "deliveries", "ready", "dead_letters", "audit_log",
                              "replay_turns", "edited_payloads", "contract_snapshots"})
      all += sql.text(std::string("SELECT coalesce(string_agg(t::text, '|' ORDER BY t::text), '') FROM ") + table + " t") + "\n";
    return all;
  }
  std::vector<std::int64_t> due_times() {
    std::vector<std::int64_t> all;
    for (const auto& row : sql.rows("SELECT micros(due_at) FROM ready ORDER BY due_at")) all.push_back(std::stoll(*row[0]));
    return all;
  }
  // So far ahead that the clock of this test's machine has no say. When the latest is due.
  std::int64_t turns_given_until_an_hour_from_now() {
    return sql.number("INSERT INTO replay_turns VALUES (1, now() + interval '1 hour') RETURNING micros(last_at)");
  }

  std::unique_ptr<FormStore> forms = make_form_store(address, 1, std::chrono::hours{24});
  std::unique_ptr<DeadStore> dead = make_dead_store(address, 1, kRate);
};

TEST_F(DeadLetters, AreFoundByReferenceFormReasonTimeAndIdNewestFirst) {
  const auto first = died("f-1");
  hand_in("f-2");
  kill_all("no_such_mailbox");
  const auto second = newest();
  const auto all = listed({});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, second);
  EXPECT_EQ(all[1].reference, "f-1");
  const auto ids = [&](const DeadFilter& filter) {
    std::vector<DeliveryId> found;
    for (const auto& letter : listed(filter)) found.push_back(letter.id);
    return found;
  };
  using Ids = std::vector<DeliveryId>;
  EXPECT_EQ(ids({.reference = "f-1"}), Ids{first});
  EXPECT_EQ(ids({.reason = "no_such_mailbox"}), Ids{second});
  EXPECT_EQ(ids({.form_id = "contact"}).size(), 2u);
  EXPECT_TRUE(ids({.form_id = "other"}).empty());
  EXPECT_EQ(ids({.before = all[0].died}), Ids{first});
  EXPECT_EQ(ids({.after = all[0].died}), Ids{second});
  EXPECT_EQ(ids({.ids = {first}}), Ids{first});
  const auto page = dead->list(kDefaultOrg, {}, 1, {});
  ASSERT_TRUE(page && page->next);
  const auto rest = dead->list(kDefaultOrg, {}, 1, page->next);
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->letters.size(), 1u);
  EXPECT_EQ(rest->letters[0].id, first);
  EXPECT_FALSE(rest->next);
}

TEST_F(DeadLetters, AListShowsNothingOfAnotherOrganisation) {  // F10
  rely_on_statements();
  died("f-1");
  EXPECT_EQ(dead->list(kDefaultOrg, {}, 100, {})->letters.size(), 1u);
  EXPECT_TRUE(dead->list({2}, {}, 100, {})->letters.empty());
}

// F10: an id is a number that anybody can guess
TEST_F(DeadLetters, AnAdminOfAnotherOrganisationNeitherSeesNorTouchesOne) {
  rely_on_statements();
  const OrgId stranger{2};
  const auto id = died("f-1");
  const auto before = all_rows();
  const auto view = dead->show(stranger, id);
  ASSERT_TRUE(view) << view.error().what;
  EXPECT_FALSE(*view);
  for (const bool dry_run : {true, false}) {
    const auto replays = dead->replay(stranger, one(id), "eve", dry_run);
    ASSERT_TRUE(replays) << replays.error().what;
    EXPECT_EQ(replays->count, 0u);
    ASSERT_EQ(replays->items.size(), 1u);
    EXPECT_EQ(replays->items[0].refused, no_such_letter(id));
    EXPECT_EQ(replays->items[0].letter.reference, "") << "nothing of it is shown";
  }
  const auto edited = dead->edit(stranger, id, {.fields = {}, .destination = "eve@example.org"}, "eve");
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().kind, Error::Kind::not_found);
  const auto cloned = dead->clone(stranger, id, "f-2", {{1, contract_of_action(action(1))}}, "eve");
  ASSERT_FALSE(cloned);
  EXPECT_EQ(cloned.error().kind, Error::Kind::not_found);
  EXPECT_EQ(all_rows(), before);
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letter_edits"), 0);
}

// F10: a lock would be held up by, and would hold up, the organisation that the submission belongs to
TEST_F(DeadLetters, AnAdminOfAnotherOrganisationLocksNoSubmission) {
  rely_on_statements();
  const auto id = died("f-1");
  SqlClient owner_at_work(url);
  owner_at_work.execute("BEGIN");
  owner_at_work.execute("SELECT FROM waybill.submissions FOR UPDATE");
  const auto replays = dead->replay({2}, one(id), "eve", false);
  ASSERT_TRUE(replays) << "it waited for another organisation's row: " << replays.error().what;
  EXPECT_EQ(replays->items.at(0).refused, no_such_letter(id));
  owner_at_work.execute("ROLLBACK");
}

// F7
TEST_F(DeadLetters, AReplayIsADeliveryOfItsOwnThatKnowsWhatHappenedBefore) {
  const auto id = died("f-1");
  EXPECT_EQ(sql.text("SELECT state FROM submissions"), "failed");
  const auto replays = replay(one(id));
  ASSERT_EQ(replays.count, 1u);
  EXPECT_EQ(sql.text("SELECT state || coalesce(reason, '') || coalesce(completed_at::text, '') FROM submissions"), "processing");
  EXPECT_EQ(sql.number("SELECT count(*) FROM form_submissions WHERE processing_since IS NOT NULL"), 1);
  EXPECT_EQ(sql.text("SELECT string_agg(replay || ':' || status, ' ' ORDER BY replay) FROM deliveries"), "0:exhausted");
  EXPECT_EQ(sql.text("SELECT replay || ':' || status FROM ready"), "1:due");
  const auto rows = claim_all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].delivery, replays.items[0].replay);
  EXPECT_TRUE(rows[0].history.maybe_sent) << "its plugin searches before it sends";
  EXPECT_NE(rows[0].progress.find("a@example.org"), std::string::npos) << "who has it does not get it again";
  EXPECT_EQ(rows[0].history.attempt_count, 0u);
  settle_as(rows[0], Status::accepted);
  EXPECT_EQ(sql.text("SELECT state FROM submissions"), "routed");
  EXPECT_EQ(sql.text("SELECT actor || ' ' || actor_type || ' ' || from_state || ' ' || to_state FROM audit_log "
                     "WHERE action = 'dead_letter_replayed'"),
            "ada admin failed processing");
  EXPECT_TRUE(listed({}).empty());
  EXPECT_EQ(listed({.replayed = true}).at(0).replayed_by, "ada");
}

TEST_F(DeadLetters, AReplayThatDiesIsADeadLetterAgain) {
  const auto id = died("f-1");
  replay(one(id));
  kill_all("still_broken");
  const auto letters = listed({});
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_NE(letters[0].id, id);
  EXPECT_EQ(letters[0].reason, "still_broken");
  EXPECT_EQ(sql.text("SELECT state FROM submissions"), "failed");
  EXPECT_EQ(replay({.reference = "f-1"}).count, 1u);
  EXPECT_EQ(sql.number("SELECT max(replay) FROM ready"), 2);
}

TEST_F(DeadLetters, OfManyWhoReplayOneLetterAtOnceExactlyOneDoes) {
  const auto id = died("f-1");
  constexpr int kMany = 8;
  std::vector<std::size_t> counts(kMany);
  std::latch go(kMany);
  {
    std::vector<std::jthread> threads;
    for (auto& count : counts)
      threads.emplace_back([&] {
        const auto store = make_dead_store(address, 1, kRate);
        static_cast<void>(store->show(kDefaultOrg, id));  // connected
        go.arrive_and_wait();
        const auto done = store->replay(kDefaultOrg, one(id), "ada", false);
        ASSERT_TRUE(done) << done.error().what;
        count = done->count;
      });
  }
  std::size_t sum = 0;
  for (const auto count : counts) sum += count;
  EXPECT_EQ(sum, 1u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM deliveries"), 1);
  EXPECT_NE(refusal(id).find("replayed already, by ada"), std::string::npos) << refusal(id);
}

// F7
TEST_F(DeadLetters, NothingIsReplayedBesideADeliveryOfTheSameActionThatRuns) {
  const auto id = died("f-1");
  replay(one(id));
  sql.execute("UPDATE dead_letters SET replayed_at = NULL");  // as if its mark were lost
  EXPECT_NE(refusal(id).find("has not ended"), std::string::npos) << "while it is due: " << refusal(id);
  const auto rows = claim_all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NE(refusal(id).find("has not ended"), std::string::npos) << "while it is out: " << refusal(id);
  EXPECT_EQ(sql.number("SELECT count(*) FROM deliveries"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 1);
}

TEST_F(DeadLetters, AnActionIsReplayedWhileAnotherOfItsSubmissionStillRuns) {
  hand_in("f-1", 2);
  kill_all();
  auto rest = claim_all();  // action 2
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(replay({.reference = "f-1"}).count, 1u);
  EXPECT_EQ(sql.text("SELECT state FROM submissions"), "processing");
  settle_as(rest[0], Status::accepted);
  EXPECT_EQ(sql.text("SELECT state FROM submissions"), "processing") << "the replay has not ended";
  for (const auto& row : claim_all()) settle_as(row, Status::accepted);
  EXPECT_EQ(sql.text("SELECT state FROM submissions"), "routed");
}

TEST_F(DeadLetters, ReplaysAreExactlyAsFarApartAsTheRateSaysAlsoAcrossCalls) {
  for (int i = 0; i < 5; ++i) hand_in("f-" + std::to_string(i));
  kill_all();
  const auto latest = turns_given_until_an_hour_from_now();
  EXPECT_EQ(replay({.reference = "f-4"}).items.at(0).due.micros, latest + kGap);
  const auto rest = replay({.form_id = "contact"});
  ASSERT_EQ(rest.count, 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rest.items[i].due.micros, latest + kGap * static_cast<std::int64_t>(i + 2));
  EXPECT_EQ(due_times(), (std::vector<std::int64_t>{latest + kGap, latest + 2 * kGap, latest + 3 * kGap, latest + 4 * kGap,
                                                    latest + 5 * kGap}));
}

TEST_F(DeadLetters, TurnsStayApartWhenManyReplayAtOnceAndWhenEarlierOnesAreDone) {
  for (int i = 0; i < 6; ++i) hand_in("f-" + std::to_string(i));
  kill_all();
  const auto latest = turns_given_until_an_hour_from_now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        const auto done =
            make_dead_store(address, 1, kRate)->replay(kDefaultOrg, {.reference = "f-" + std::to_string(i)}, "ada", false);
        EXPECT_TRUE(done) << done.error().what;
      });
  }
  std::vector<std::int64_t> wanted;
  for (std::int64_t i = 1; i <= 6; ++i) wanted.push_back(latest + i * kGap);
  EXPECT_EQ(due_times(), wanted);
  sql.execute("DELETE FROM ready");  // they are done; their turns were given all the same
  hand_in("f-late");
  kill_all();
  EXPECT_EQ(replay({.reference = "f-late"}).items.at(0).due.micros, latest + 7 * kGap);
}

TEST_F(DeadLetters, AReplayAfterAQuietTimeIsDueAtOnce) {
  const auto id = died("f-1");
  sql.execute("INSERT INTO replay_turns VALUES (1, now() - interval '1 hour')");
  const auto replays = replay(one(id));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE due_at <= now()"), 1);
  EXPECT_EQ(sql.number("SELECT micros(last_at) FROM replay_turns"), replays.items.at(0).due.micros);
}

TEST_F(DeadLetters, ADryRunTellsTheCountAndWritesNothing) {
  for (int i = 0; i < 3; ++i) hand_in("f-" + std::to_string(i));
  kill_all();
  ASSERT_TRUE(dead->edit(kDefaultOrg, newest(), {.fields = {}, .destination = "else@example.org"}, "ada"));
  const auto before = all_rows();
  const auto replays = replay({.form_id = "contact"}, true);
  EXPECT_EQ(replays.count, 3u);
  EXPECT_EQ(replays.items.size(), 3u);
  EXPECT_EQ(all_rows(), before);
  EXPECT_EQ(replay({.form_id = "contact"}).count, 3u);
}

TEST_F(DeadLetters, AnEditIsSentAndKeptWithWhoMadeIt) {
  const auto id = died("f-1");
  ASSERT_TRUE(dead->edit(kDefaultOrg, id, {.fields = R"({"name":"Ada","phone":"2"})", .destination = {}}, "ada"));
  ASSERT_TRUE(dead->edit(kDefaultOrg, id, {.fields = R"({"name":"Ada","phone":"3"})", .destination = "help@example.org"}, "bob"));
  ASSERT_TRUE(dead->edit(kDefaultOrg, id, {.fields = {}, .destination = "help@example.org"}, "bob")) << "no change is no edit";
  const auto view = dead->show(kDefaultOrg, id);
  ASSERT_TRUE(view && *view);
  ASSERT_EQ((*view)->edits.size(), 3u);
  const auto& edits = (*view)->edits;
  EXPECT_EQ(edits[0].before, R"({"name":"Ada","phone":"1"})");
  EXPECT_EQ(edits[1].before, R"({"name":"Ada","phone":"2"})") << "upon the edit before";
  EXPECT_EQ(edits[1].after, R"({"name":"Ada","phone":"3"})");
  EXPECT_EQ(edits[2].field + ": " + edits[2].before + " -> " + edits[2].after,
            "destination: desk@example.org -> help@example.org");
  EXPECT_EQ(edits[2].actor, "bob");
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'dead_letter_edited' AND actor_type = 'admin'"), 3);
  EXPECT_EQ(sql.text("SELECT metadata ->> 'beforeSha256' FROM audit_log WHERE action = 'dead_letter_edited' "
                     "AND metadata ->> 'field' = 'destination'"),
            to_hex(as_view(sha256("desk@example.org"))));
  const auto found = forms->find(kDefaultOrg, "f-1");
  ASSERT_TRUE(found && *found);
  bool seen = false;
  for (const auto& audit : (*found)->audit)
    seen |= audit.action == "dead_letter_edited" && audit.before == "desk@example.org" && audit.after == "help@example.org";
  EXPECT_TRUE(seen);

  replay(one(id));
  const auto rows = claim_all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NE(rows[0].payload.find(R"("phone":"3")"), std::string::npos) << rows[0].payload;
  EXPECT_NE(queue->contract(rows[0].route)->contract.destination.find("help@example.org"), std::string::npos);
  const auto late = dead->edit(kDefaultOrg, id, {.fields = {}, .destination = "late@example.org"}, "ada");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, Error::Kind::conflict);

  settle_as(rows[0], Status::exhausted, "max_attempts");  // dead again: what was made of it stays
  const auto again = dead->show(kDefaultOrg, newest());
  EXPECT_NE((*again)->payload.find(R"("phone":"3")"), std::string::npos);
  EXPECT_NE((*again)->destination.find("help@example.org"), std::string::npos);
  replay({.reference = "f-1"});
  sql.execute("UPDATE ready SET due_at = now()");  // its turn would come a little later
  EXPECT_NE(claim_all().at(0).payload.find(R"("phone":"3")"), std::string::npos);
}

TEST_F(DeadLetters, APurgeErasesThemWithTheirEditsAndLeavesHashesInTheAudit) {
  const auto id = died("f-1");
  ASSERT_TRUE(dead->edit(kDefaultOrg, id, {.fields = R"({"name":"Grace"})", .destination = "grace@example.org"}, "ada"));
  replay(one(id));
  kill_all();
  sql.execute("UPDATE form_submissions SET retention_expires_at = now() - interval '1 second'");
  ASSERT_EQ(forms->purge(0, 10).value_or(PurgeResult{}).count, 1u);
  EXPECT_TRUE(listed({.replayed = true}).empty());
  for (const auto* table : {"dead_letters", "dead_letter_edits", "edited_payloads"})
    EXPECT_EQ(sql.number(std::string("SELECT count(*) FROM ") + table), 0) << table;
  EXPECT_EQ(sql.number("SELECT count(body) FROM submissions"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE metadata::text ~ '(Grace|grace)'"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE metadata ? 'afterSha256'"), 2);
  EXPECT_NE(refusal(id).find("no dead letter"), std::string::npos) << refusal(id);
  const auto edited = dead->edit(kDefaultOrg, id, {.fields = "{}", .destination = {}}, "ada");
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().kind, Error::Kind::not_found);
}

TEST_F(DeadLetters, WhatWasFoundInfectedSinceIsNotSentAgain) {
  hand_in("f-1", 1, {{.id = "a-1", .name = "cv.pdf", .content_type = "application/pdf", .size = 1, .object_uri = "gs://b/o"}});
  ASSERT_TRUE(forms->scan(kDefaultOrg, "a-1", Scan::clean, "scanner"));
  kill_all();
  ASSERT_TRUE(forms->scan(kDefaultOrg, "a-1", Scan::infected, "scanner"));
  EXPECT_NE(refusal(newest()).find("infected"), std::string::npos) << refusal(newest());
  const auto cloned = dead->clone(kDefaultOrg, newest(), "f-2", {{1, contract_of_action(action(1))}}, "ada");
  ASSERT_FALSE(cloned);
  EXPECT_EQ(cloned.error().kind, Error::Kind::conflict);
}

TEST_F(DeadLetters, ACloneIsANewSubmissionWithTheSamePayloadAndAttachments) {
  hand_in("f-1", 1, {{.id = "a-1", .name = "cv.pdf", .content_type = "application/pdf", .size = 1, .object_uri = "gs://b/o"}});
  ASSERT_TRUE(forms->scan(kDefaultOrg, "a-1", Scan::clean, "scanner"));
  kill_all();
  const auto id = newest();
  ASSERT_TRUE(dead->edit(kDefaultOrg, id, {.fields = R"({"name":"Grace"})", .destination = {}}, "ada"));
  const std::vector<CloneAction> actions{{1, contract_of_action(action(1))}};
  const auto cloned = dead->clone(kDefaultOrg, id, "f-1b", actions, "ada");
  ASSERT_TRUE(cloned) << cloned.error().what;
  EXPECT_EQ(cloned->state, "processing");
  const auto view = forms->find(kDefaultOrg, "f-1b");
  ASSERT_TRUE(view && *view);
  ASSERT_EQ((*view)->attachments.size(), 1u);
  EXPECT_EQ((*view)->attachments[0].id + " " + (*view)->attachments[0].scan, "a-1~f-1b clean");
  EXPECT_TRUE((*view)->finalized);
  EXPECT_EQ((*view)->kept_until, (*forms->find(kDefaultOrg, "f-1"))->kept_until) << "kept no longer than the old one";
  const auto rows = claim_all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].client_ref, "f-1b");
  EXPECT_FALSE(rows[0].history.maybe_sent);
  EXPECT_NE(rows[0].payload.find("Grace"), std::string::npos);
  EXPECT_EQ(sql.text("SELECT metadata ->> 'reference' FROM audit_log WHERE action = 'dead_letter_cloned'"), "f-1b");
  const auto again = dead->clone(kDefaultOrg, id, "f-1b", actions, "ada");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Error::Kind::conflict);
  EXPECT_EQ(dead->clone(kDefaultOrg, {1024}, "f-9", actions, "ada").error().kind, Error::Kind::not_found);
}

TEST_F(DeadLetters, AnIntentsLetterIsNotEditedButCloned) {
  const auto id = lost_intent("i-1");
  EXPECT_FALSE(dead->edit(kDefaultOrg, id, {.fields = "{}", .destination = {}}, "ada"));
  const auto cloned = dead->clone(kDefaultOrg, id, "i-2", {{1, contract_of("sms.primary")}}, "ada");
  ASSERT_TRUE(cloned) << cloned.error().what;
  EXPECT_EQ(cloned->state, "pending");
  const auto rows = claim_all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].client_ref + rows[0].payload + rows[0].kind, R"(i-2{"to":"+49"}intent)");
}

// E1: its replay is a delivery of its own under the same key, and the intent ends as that does
TEST_F(DeadLetters, AnIntentThatHostsDiedOverIsReplayedUnderItsOwnKey) {
  const auto id = lost_intent("i-1");
  const auto state = [&] {
    return sql.text("SELECT state || coalesce(' ' || reason, '') FROM submission_states WHERE client_ref = 'i-1'");
  };
  ASSERT_EQ(state(), "exhausted worker_lost");
  const auto before = sql.text("SELECT completed_at FROM submission_states");
  EXPECT_EQ(replay({.reason = "worker_lost"}, true).count, 1u);
  const auto done = replay({.reason = "worker_lost"});
  ASSERT_EQ(done.count, 1u) << done.items.front().refused;
  EXPECT_NE(done.items[0].replay, id);
  EXPECT_EQ(state(), "exhausted worker_lost") << "what the client has seen stays until the replay has ended";
  EXPECT_NE(refusal(id).find("replayed already"), std::string::npos) << refusal(id);
  sql.execute("UPDATE ready SET due_at = now()");
  const auto rows = claim_all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].delivery, done.items[0].replay);
  EXPECT_EQ(rows[0].client_ref + rows[0].payload + rows[0].kind, R"(i-1{"to":"+49"}intent)");
  EXPECT_TRUE(rows[0].history.maybe_sent) << "the receiver may have it: a duplicate counts as accepted";
  auto end = ending(rows[0], {1}, Status::accepted);
  end.ended = rows[0].created + Seconds(9);
  ASSERT_EQ(settled({end}).size(), 1u);
  EXPECT_EQ(state(), "accepted");
  EXPECT_NE(sql.text("SELECT completed_at FROM submission_states"), before);
  EXPECT_EQ(
      sql.text(
          "SELECT string_agg(from_state || '>' || to_state, ' ' ORDER BY id) FROM audit_log WHERE action <> 'intent_exhausted'"),
      "exhausted>pending pending>accepted");
  const auto history = reader->history(kDefaultOrg, "intent", "i-1");
  ASSERT_TRUE(history && *history);
  ASSERT_EQ((*history)->attempts.size(), 2u);
  EXPECT_EQ((*history)->attempts[1].outcome, "accepted");
}

// E1
TEST_F(DeadLetters, AReplayOfAnIntentThatEndsBadlyIsItsEndAndMayDieAgain) {
  const auto id = lost_intent("i-1");
  ASSERT_EQ(replay(one(id)).count, 1u);
  sql.execute("UPDATE ready SET due_at = now()");
  auto s = ending(claim_all().at(0), {1}, Status::exhausted, "worker_lost");
  make_dead(s);
  ASSERT_EQ(settled({s}).size(), 1u);
  EXPECT_EQ(listed({}).size(), 1u) << "the replay's own";
  ASSERT_EQ(replay(one(newest())).count, 1u);
  sql.execute("UPDATE ready SET due_at = now()");
  ASSERT_EQ(settled({ending(claim_all().at(0), {1}, Status::rejected, "invalid_request")}).size(), 1u);
  EXPECT_EQ(sql.text("SELECT state || ' ' || reason FROM submission_states"), "rejected invalid_request");
  EXPECT_EQ(sql.number("SELECT max(replay) FROM deliveries"), 2);
}

// E1: by the time that somebody looks, its deadline has passed
TEST_F(DeadLetters, AReplayOfAnIntentWithADeadlineGetsAttemptsInstead) {
  Contract contract = contract_of("sms.brief", Policy::deadline);
  contract.max_acceptance = Seconds(2);
  auto brief = item("i-1", "{}", "sms.brief");
  brief.route = *intake->route(kDefaultOrg, contract);
  submit({brief});
  auto s = ending(claim_all().at(0), {1}, Status::exhausted, "worker_lost");
  make_dead(s);
  ASSERT_EQ(settled({s}).size(), 1u);
  ASSERT_EQ(replay(one(newest())).count, 1u);
  sql.execute("UPDATE ready SET due_at = now()");
  const auto row = claim_all().at(0);
  const auto renewed = queue->contract(row.route);
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->contract.policy, Policy::max_attempts);
  EXPECT_EQ(renewed->contract.max_attempts, 5u);
  EXPECT_EQ(renewed->contract.target, "sms.brief");
}

}  // namespace
}  // namespace waybill::testing
