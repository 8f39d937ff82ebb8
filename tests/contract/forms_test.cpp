// Submissions of forms against PostgreSQL: handed in, made ready, moved on by their actions' ends, swept, purged.  F1 F3 F5 F6
#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "domain/builtin_pipelines.h"
#include "maintenance/periodic_tasks.h"
#include "settle/settlement.h"
#include "store/forms/form_store.h"
#include "store/pg_stores.h"
#include "store_world.h"
#include "support/call_builders.h"

namespace waybill::testing {
namespace {

class FormContract : public StoreWorld {
 protected:
  FormContract() {
    for (int order = 1; order <= 3; ++order)
      form.actions.push_back({.order = order, .action_type = "letter", .destination = "to-" + std::to_string(order)});
    for (const auto& action : form.actions) contracts.push_back(waybill::contract_of(form, action, nullptr));
  }

  void SetUp() override {
    StoreWorld::SetUp();
    forms = make_form_store(address, 1, Seconds(86'400));
  }

  NewFormSubmission submission(const std::string& ref, std::vector<std::string> attachments = {}, bool finalize = false) {
    NewFormSubmission made{.org = kDefaultOrg,
                           .client_ref = ref,
                           .form_id = form.id,
                           .fields = R"({"name":"Zoe"})",
                           .attachments_json = "[]",
                           .hash = sha256(ref),
                           .actions = form.actions,
                           .contracts = contracts,
                           .finalize = finalize};
    for (const auto& id : attachments)
      made.attachments.push_back(
          {.id = id, .name = id + ".pdf", .content_type = "application/pdf", .size = 7, .object_uri = "gs://b/" + id});
    return made;
  }

  SubmitResult handed_in(const NewFormSubmission& wanted) {
    auto answer = forms->submit(wanted);
    EXPECT_TRUE(answer) << answer.error().what;
    return answer.value_or(SubmitResult{});
  }

  // Its retention ended in 1970, at that second.
  void expire(const std::string& ref, int second = 1) {
    sql.execute("UPDATE form_submissions f SET retention_expires_at = to_timestamp(" + std::to_string(second) +
                ") FROM submissions s WHERE s.id = f.submission_id AND s.client_ref = '" + ref + "'");
  }

  FormView view(const std::string& ref) {
    auto found = forms->find(kDefaultOrg, ref);
    EXPECT_TRUE(found && *found) << ref;
    return found && *found ? **found : FormView{};
  }
  std::string state(const std::string& ref) { return view(ref).submission.state; }
  std::vector<std::string> statuses(const std::string& ref) {
    std::vector<std::string> words;
    for (const auto& d : view(ref).deliveries) words.emplace_back(to_string(d.status));
    return words;
  }
  std::vector<std::string> audit(const std::string& ref) {
    std::vector<std::string> words;
    for (const auto& a : view(ref).audit) words.push_back(a.action);
    return words;
  }

  // Claims whatever is due of the form's actions, as host `host` with a token of its own.
  std::vector<ClaimedRow> claim_due(ClaimToken token = {1}) {
    std::vector<ClaimedRow> rows;
    const auto due = queue->due_routes(0);
    for (const auto& route : due->routes) {
      auto claimed = claim(route.route, 100, token);
      rows.insert(rows.end(), claimed.rows.begin(), claimed.rows.end());
    }
    return rows;
  }

  static Settlement end(const ClaimedRow& row, Status status, const std::string& reason = {}, ClaimToken token = {1}) {
    auto s = ending(row, token, status, reason);
    s.action_type = "letter";
    s.submission_state = s.from_state = "";
    s.action = action_audit(status, s.action_type);
    s.ended = row.created;
    s.of_form = true;
    s.dead_letter = status == Status::rejected || status == Status::exhausted;
    if (s.dead_letter) s.alert = DeadLetterAlert{"contact/" + std::to_string(row.action_order) + ":" + reason, "it died"};
    return s;
  }
  static Settlement again(const ClaimedRow& row, ClaimToken token = {1}) {
    auto s = retrying(row, token, row.due);
    s.of_form = true;
    return s;
  }
  SettleResult settle_all(const std::vector<Settlement>& batch) {
    auto settled = settle->settle(0, batch);
    EXPECT_TRUE(settled) << settled.error().what;
    return settled.value_or(SettleResult{});
  }
  // Ends the one action that is due.
  SettleResult end_next(Status status, const std::string& reason = {}) {
    const auto rows = claim_due();
    EXPECT_EQ(rows.size(), 1u);
    return rows.empty() ? SettleResult{} : settle_all({end(rows[0], status, reason)});
  }

  using Words = std::vector<std::string>;
  Form form{.id = "contact", .name = "Contact us", .actions = {}};
  std::vector<Contract> contracts;
  std::unique_ptr<FormStore> forms;
};

// F1
TEST_F(FormContract, TheDatabaseAllowsTheMovesOfTheTableAndNoOthers) {
  std::set<std::vector<std::string>> rows, moves;
  for (const auto& row : sql.rows("SELECT pipeline, from_state, to_state FROM pipeline_moves"))
    rows.insert({*row[0], *row[1], *row[2]});
  for (const char* pipeline : {"intent", "form"})
    for (const auto& m : builtin_pipeline(pipeline).transitions) moves.insert({pipeline, m.from, m.to});
  EXPECT_EQ(rows, moves);
  handed_in(submission("a"));
  std::string from = "received";
  for (const char* to : {"processing", "failed", "processing", "routed", "purged"}) {
    for (const char* other : {"received", "processing", "routed", "failed", "purged", "accepted"})
      if (other != from && !moves.contains({"form", from, other})) {
        EXPECT_TRUE(refused("UPDATE submissions SET state = '" + std::string(other) + "'", "cannot move from " + from))
            << from << " to " << other;
      }
    sql.execute("UPDATE submissions SET state = '" + std::string(to) + "'");
    from = to;
  }
}

// F4
TEST_F(FormContract, TheSameSubmissionAgainIsTheExistingOneAndAnotherOneAConflict) {
  EXPECT_EQ(handed_in(submission("a", {"a-1"})).how, SubmitResult::How::created);
  EXPECT_EQ(handed_in(submission("a", {"a-1"})).how, SubmitResult::How::existing);
  auto other = submission("a", {"a-1"});
  other.hash = sha256("other");
  EXPECT_EQ(handed_in(other).how, SubmitResult::How::conflict);
  other = submission("a", {"a-1"});
  other.form_id = "other";
  EXPECT_EQ(handed_in(other).how, SubmitResult::How::conflict);
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attachments"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'waiting'"), 3);
}

// F4
TEST_F(FormContract, ManyCallersOfOneSubmissionMakeItOnce) {
  std::atomic<int> created{0}, existing{0};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      const auto store = make_form_store(address, 1, Seconds(60));
      const auto answer = store->submit(submission("a", {"a-1", "a-2"}, true));
      ASSERT_TRUE(answer) << answer.error().what;
      (answer->how == SubmitResult::How::created ? created : existing) += 1;
    });
  callers.clear();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(existing, 7);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 3);
}

// F4
TEST_F(FormContract, AnAttachmentBelongsToOneSubmission) {
  handed_in(submission("a", {"a-1"}));
  const auto taken = forms->submit(submission("b", {"b-1", "a-1"}));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, Error::Kind::conflict);
  EXPECT_NE(taken.error().what.find("\"a-1\""), std::string::npos);
  EXPECT_EQ(sql.number("SELECT count(*) FROM submissions"), 1) << "nothing is half done";
  EXPECT_EQ(handed_in(submission("b", {"b-1"})).how, SubmitResult::How::created) << "the session is good for more";
}

// F3
TEST_F(FormContract, BeginsWhenFinalizedAndCleanWhicheverComesLast) {
  handed_in(submission("none"));
  EXPECT_EQ((*forms->finalize(kDefaultOrg, "none"))->state, "processing");
  handed_in(submission("one call", {}, true));
  EXPECT_EQ(state("one call"), "processing");
  handed_in(submission("scanned last", {"a-1", "a-2"}, true));
  EXPECT_EQ((*forms->scan(kDefaultOrg, "a-1", Scan::clean, "clam"))->state, "received");
  EXPECT_EQ(statuses("scanned last"), (Words{"waiting", "waiting", "waiting"}));
  EXPECT_EQ((*forms->scan(kDefaultOrg, "a-2", Scan::clean, "clam"))->state, "processing");
  handed_in(submission("finalized last", {"b-1"}));
  EXPECT_EQ((*forms->scan(kDefaultOrg, "b-1", Scan::clean, "clam"))->state, "received");
  EXPECT_EQ((*forms->finalize(kDefaultOrg, "finalized last"))->state, "processing");
  for (const char* ref : {"none", "one call", "scanned last", "finalized last"})
    EXPECT_EQ(statuses(ref), (Words{"due", "waiting", "waiting"})) << ref;
}

// F3 F5
TEST_F(FormContract, TwoWhoSeeAllCleanAtOnceBeginItOnce) {
  for (int round = 0; round < 10; ++round) {
    const std::string ref = "s" + std::to_string(round);
    handed_in(submission(ref, {ref + "-1", ref + "-2"}));
    std::vector<std::jthread> callers;
    callers.emplace_back([&] { EXPECT_TRUE(make_form_store(address, 1, Seconds(60))->finalize(kDefaultOrg, ref)); });
    for (const char* n : {"-1", "-2"})
      callers.emplace_back(
          [&, n] { EXPECT_TRUE(make_form_store(address, 1, Seconds(60))->scan(kDefaultOrg, ref + n, Scan::clean, "clam")); });
    callers.clear();
    EXPECT_EQ(state(ref), "processing");
    EXPECT_EQ(statuses(ref), (Words{"due", "waiting", "waiting"}));
  }
}

// F3
TEST_F(FormContract, CallingAgainChangesNothing) {
  handed_in(submission("a", {"a-1"}));
  for (int i = 0; i < 2; ++i) EXPECT_EQ((*forms->finalize(kDefaultOrg, "a"))->state, "received");
  const auto finalized = view("a").finalized;
  for (int i = 0; i < 2; ++i) EXPECT_EQ((*forms->scan(kDefaultOrg, "a-1", Scan::clean, "clam"))->state, "processing");
  EXPECT_EQ((*forms->finalize(kDefaultOrg, "a"))->state, "processing");
  EXPECT_EQ(view("a").finalized, finalized);
  EXPECT_EQ(statuses("a"), (Words{"due", "waiting", "waiting"}));
}

// F3 F11 F13
TEST_F(FormContract, AnInfectedAttachmentFailsItAndSendsNothing) {
  handed_in(submission("a", {"a-1", "a-2"}, true));
  forms->scan(kDefaultOrg, "a-1", Scan::clean, "clam");
  EXPECT_EQ((*forms->scan(kDefaultOrg, "a-2", Scan::infected, "clam"))->state, "failed");
  EXPECT_EQ(statuses("a"), (Words{"cancelled", "cancelled", "cancelled"}));
  EXPECT_EQ(audit("a"), (Words{"submission_route_failed"}));
  EXPECT_EQ(view("a").audit[0].actor, "clam");
  EXPECT_EQ(view("a").submission.reason, "infected_attachment");
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 0);
  EXPECT_EQ(sql.text("SELECT incident || ' ' || message FROM alerts"),
            "infected_attachment:contact form submission a of contact has an infected attachment; nothing of it was sent");
  EXPECT_EQ(sql.text("SELECT trigger || ' ' || actor_type || ' ' || metadata::text FROM audit_log WHERE delivery_id IS NULL"),
            R"(scan_result system {"reason": "infected_attachment"})");
  EXPECT_EQ((*forms->finalize(kDefaultOrg, "a"))->state, "failed");
  const auto clean = forms->scan(kDefaultOrg, "a-2", Scan::clean, "clam");
  ASSERT_FALSE(clean);
  EXPECT_EQ(clean.error().kind, Error::Kind::conflict);
}

// F3
TEST_F(FormContract, AnAttachmentFoundInfectedTooLateRaisesAnAlert) {
  handed_in(submission("a", {"a-1"}, true));
  forms->scan(kDefaultOrg, "a-1", Scan::clean, "clam");
  EXPECT_EQ((*forms->scan(kDefaultOrg, "a-1", Scan::infected, "clam"))->state, "processing");
  EXPECT_EQ(sql.text("SELECT incident || ' ' || message FROM alerts"),
            "infected_attachment:contact:late form submission a of contact has an attachment that was found infected when its "
            "actions were under way or done");
  EXPECT_EQ(view("a").attachments[0].scan, "infected");
}

TEST_F(FormContract, WhatIsNotThereIsNone) {  // F4
  rely_on_statements();
  EXPECT_FALSE(*forms->finalize(kDefaultOrg, "a"));
  EXPECT_FALSE(*forms->scan(kDefaultOrg, "a-1", Scan::clean, "clam"));
  EXPECT_FALSE(*forms->find(kDefaultOrg, "a"));
  handed_in(submission("a", {"a-1"}));
  EXPECT_FALSE(*forms->finalize({2}, "a")) << "another organisation's";
  EXPECT_FALSE(*forms->scan({2}, "a-1", Scan::clean, "clam"));
  EXPECT_FALSE(*forms->find({2}, "a"));
}

// F6
TEST_F(FormContract, ActionsRunInOrderAndTheLastEndRoutesIt) {
  handed_in(submission("a", {}, true));
  for (int order = 1; order <= 3; ++order) {
    const auto rows = claim_due();
    ASSERT_EQ(rows.size(), 1u) << "one at a time";
    EXPECT_EQ(rows[0].action_order, order);
    const auto settled = settle_all({end(rows[0], order == 2 ? Status::deferred : Status::accepted)});
    EXPECT_EQ(settled.form_states, order == 3 ? Words{"routed"} : Words{});
  }
  EXPECT_EQ(state("a"), "routed");
  EXPECT_TRUE(view("a").submission.completed);
  EXPECT_EQ(audit("a"), (Words{"letter_success", "letter_success", "submission_routed"}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM form_submissions WHERE processing_since IS NOT NULL"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters"), 0);
}

// F11
TEST_F(FormContract, TheSubmissionsEndComesAfterItsActionsAlsoWhenTheirHostsClockIsAhead) {
  handed_in(submission("a", {}, true));
  for (int i = 0; i < 3; ++i) {
    auto ended = end(claim_due().at(0), Status::accepted);
    ended.ended = ended.ended + Seconds(2);
    settle_all({ended});
  }
  EXPECT_EQ(audit("a"), (Words{"letter_success", "letter_success", "letter_success", "submission_routed"}));
  const auto seen = view("a");
  for (const auto& delivery : seen.deliveries) EXPECT_LE(*delivery.ended, *seen.submission.completed);
}

// F6 F10 F13
TEST_F(FormContract, AFailedActionBlocksNoOtherAndBecomesADeadLetterWithAnAlert) {
  handed_in(submission("a", {}, true));
  end_next(Status::rejected, "no_such_person");
  end_next(Status::accepted);
  EXPECT_EQ(state("a"), "processing");
  EXPECT_EQ(end_next(Status::exhausted, "max_attempts").form_states, Words{"failed"});
  EXPECT_EQ(statuses("a"), (Words{"rejected", "accepted", "exhausted"}));
  EXPECT_EQ(audit("a"), (Words{"letter_failure", "letter_success", "letter_failure", "submission_route_failed"}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters"), 2);
  EXPECT_EQ(
      sql.text("SELECT string_agg(target || '/' || action_order || ' ' || reason, ', ' ORDER BY action_order) FROM dead_letters"),
      "contact/1 no_such_person, contact/3 max_attempts");
  EXPECT_EQ(sql.text("SELECT string_agg(incident || ' ' || message, ', ' ORDER BY incident) FROM alerts"),
            "dead_letter:contact/1:no_such_person it died, dead_letter:contact/3:max_attempts it died");
}

// F6 F13
TEST_F(FormContract, AuditAndAlertOfAnActionHaveTheWordsOfItsSettlement) {
  handed_in(submission("a", {}, true));
  const auto row = claim_due().at(0);
  Finished expired{.job = {.delivery = row.delivery,
                           .submission = row.submission,
                           .org = row.org,
                           .route = row.route,
                           .token = {1},
                           .created = row.created,
                           .claimed_at = row.created,
                           .contract = std::make_shared<const Contract>(contracts.at(0)),
                           .kind = row.kind,
                           .client_ref = row.client_ref,
                           .action_order = row.action_order},
                   .how = Finished::How::expired,
                   .outcome = std::nullopt,
                   .started_at = row.created,
                   .finished_at = row.created,
                   .not_before = std::nullopt};
  settle_all({settlement_of(expired, {}, 0.5, "box:1")});
  EXPECT_EQ(audit("a"), Words{"letter_failure"});
  EXPECT_EQ(view("a").audit[0].from_state + " " + view("a").audit[0].to_state, "claimed exhausted");
  EXPECT_EQ(sql.text("SELECT incident || ' ' || message FROM alerts"),
            "dead_letter:contact/1:deadline_exceeded form a: contact, action 1 (letter) ended as deadline_exceeded");
  EXPECT_EQ(
      sql.text("SELECT kind || ' ' || client_ref || ': ' || target || ', action ' || action_order || ' (' || action_type || "
               "') ended as ' || reason FROM dead_letters"),
      sql.text("SELECT message FROM alerts"))
      << "the row that the alert is about says the same";
}

// F6
TEST_F(FormContract, ADeferredActionLeavesNoAudit) {
  handed_in(submission("a", {}, true));
  end_next(Status::deferred, "no_credentials");
  EXPECT_EQ(audit("a"), Words{});
}

// F6
TEST_F(FormContract, AnActionTypeWithWordsOfItsOwnIsAuditedByThem) {
  sql.execute("INSERT INTO action_words VALUES ('letter', 'letter_posted', 'letter_came_back')");
  handed_in(submission("a", {}, true));
  end_next(Status::rejected, "no_such_person");
  end_next(Status::accepted);
  EXPECT_EQ(audit("a"), (Words{"letter_came_back", "letter_posted"}));
  EXPECT_EQ(
      sql.text("SELECT string_agg(action_type || ' ' || done || ' ' || failed, ', ' ORDER BY action_type) FROM action_words "
               "WHERE action_type <> 'letter'"),
      "email_raw email_sent email_failed, email_template email_sent email_failed, happyfox_template happyfox_success "
      "happyfox_failure");
}

// D3: whom a report names, and what its end is audited as
TEST_F(FormContract, TheEndsOfAnActionFollowFromItsReport) {
  const auto ends = [&](const std::string& status, const std::string& report, const std::string& before = "null") {
    return sql.text(
        "SELECT string_agg(is_done || ' ' || coalesce(recipients::text, '-'), ', ' ORDER BY is_done DESC) FROM ends_of_action('" +
        status + "', '" + report + "', '" + before + "')");
  };
  const std::string both = R"({"accepted": ["a@x"], "refused": [{"address": "b@x", "code": 550}, {"address": "c@x"}]})";
  EXPECT_EQ(ends("rejected", both), R"(true ["a@x"], false ["b@x", "c@x"])");
  EXPECT_EQ(ends("exhausted", both), R"(true ["a@x"], false ["b@x", "c@x"])");
  EXPECT_EQ(ends("rejected", both, R"({"accepted": ["a@x"]})"), R"(false ["b@x", "c@x"])") << "a had it before this replay";
  EXPECT_EQ(ends("accepted", R"({"accepted": ["a@x", "b@x"], "refused": []})", R"({"accepted": ["a@x"]})"), R"(true ["b@x"])");
  EXPECT_EQ(ends("accepted", R"({"accepted": ["a@x", "b@x"]})"), R"(true ["a@x", "b@x"])");
  for (const char* none : {"null", "{}", "[]", "7", R"({"accepted": true, "refused": {"address": "a@x"}})",
                           R"({"accepted": [7], "refused": [7, {"address": 7}, {}]})"}) {
    EXPECT_EQ(ends("accepted", none), "true -") << none;
    EXPECT_EQ(ends("rejected", none), "false -") << none;
    EXPECT_EQ(ends("accepted", R"({"accepted": ["a@x"]})", none), R"(true ["a@x"])") << none;
  }
  EXPECT_EQ(sql.text("SELECT is_done || ' ' || coalesce(recipients::text, '-') FROM ends_of_action('rejected', NULL, NULL)"),
            "false -");
}

// D3 F11: one end, two rows; the names are read from where a purge deletes them, and the trail itself never has them
TEST_F(FormContract, AMailThatSomeGotIsAuditedForThemAndForTheOthersUntilItIsPurged) {
  handed_in(submission("a", {}, true));
  auto partly = end(claim_due().at(0), Status::rejected, "invalid_recipient");
  partly.result = R"({"accepted":["a@x"],"refused":[{"address":"b@x","code":550,"text":"b@x is unknown"}]})";
  partly.attempt->error = "b@x: 550 b@x is unknown";
  settle_all({partly});
  auto unreached = end(claim_due().at(0), Status::exhausted, "max_attempts");
  unreached.attempt->outcome = "unknown";
  settle_all({unreached});
  end_next(Status::accepted);
  ASSERT_EQ(audit("a"),
            (Words{"letter_success", "letter_failure", "letter_failure", "letter_success", "submission_route_failed"}));
  const auto names = [&](std::size_t row) {
    const auto metadata = nlohmann::json::parse(view("a").audit.at(row).metadata);
    return metadata.at("actionOrder").dump() + " " + metadata.value("recipients", nlohmann::json()).dump() + " " +
           metadata.value("destination", "-");
  };
  EXPECT_EQ(names(0), R"(1 ["a@x"] -)");
  EXPECT_EQ(names(1), R"(1 ["b@x"] -)");
  EXPECT_EQ(names(2), "2 null to-2") << "nobody answered";
  EXPECT_EQ(view("a").audit.at(0).to_state + " " + view("a").audit.at(1).to_state, "accepted rejected");
  const auto& deliveries = view("a").deliveries;
  ASSERT_EQ(deliveries.at(0).history.size(), 1u);
  EXPECT_EQ(deliveries.at(0).history[0].error, "b@x: 550 b@x is unknown");
  EXPECT_EQ(deliveries.at(0).history[0].provider_ref, "gw-1");
  EXPECT_EQ(deliveries.at(0).history[0].maybe_sent, false);
  EXPECT_EQ(deliveries.at(1).history.at(0).outcome, "unknown");
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE metadata::text LIKE '%@x%'"), 0);

  sql.execute("UPDATE form_submissions SET retention_expires_at = now()");
  ASSERT_EQ(forms->purge(0, 10)->count, 1u);
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ(names(row).substr(1), " null -");
  EXPECT_EQ(view("a").deliveries.at(0).history.at(0).error, "");
  EXPECT_EQ(view("a").audit.size(), 6u);
}

// D6
TEST_F(FormContract, TheNextActionWaitsForTheOneThatAHostsDeathInterrupted) {
  handed_in(submission("a", {}, true));
  auto lost = again(claim_due().at(0));
  lost.attempt->outcome = "unknown";
  lost.attempt->finished.reset();
  lost.attempt->counts = false;
  lost.history.uncounted = 1;
  settle_all({lost});
  EXPECT_EQ(statuses("a"), (Words{"due", "waiting", "waiting"}));
  EXPECT_EQ(forms->sweep(0, Seconds(0))->moved, 0u);
  const auto rows = claim_due();
  ASSERT_EQ(rows.size(), 1u);
  auto failed = again(rows[0]);
  failed.history.uncounted = 1;
  settle_all({failed});
  EXPECT_EQ(statuses("a"), (Words{"due", "due", "waiting"})) << "it has been tried again";
}

// D6: an attempt that an outage ended has been seen to end, though it does not count
TEST_F(FormContract, TheNextActionDoesNotWaitForTheEndOfAnOutage) {
  handed_in(submission("a", {}, true));
  auto uncounted = again(claim_due().at(0));
  uncounted.attempt->counts = false;
  uncounted.history.uncounted = 1;
  settle_all({uncounted});
  EXPECT_EQ(statuses("a"), (Words{"due", "due", "waiting"}));
}

// D6 F13
TEST_F(FormContract, ASubmissionThatItsRetentionEndsWhileItRetriesRaisesItsAlert) {
  handed_in(submission("a", {}, true));
  handed_in(submission("done", {}, true));
  for (int i = 0; i < 3; ++i) {
    for (const auto& row : claim_due()) {
      const bool is_done = row.client_ref == "done";
      settle_all({is_done ? end(row, Status::accepted) : again(row)});
    }
  }
  sql.execute("UPDATE form_submissions SET retention_expires_at = now()");
  EXPECT_EQ(forms->purge(0, 10)->count, 2u);
  EXPECT_EQ(state("a"), "purged");
  EXPECT_EQ(audit("a"), (Words{"submission_route_failed", "submission_purged"}));
  EXPECT_EQ(
      sql.text("SELECT kind || ' ' || incident || ' ' || count || ': ' || message FROM alerts"),
      "retention_expired retention_expired:contact 1: form submission a of contact was dropped: its retention ended before these "
      "actions did: 1 (letter, attempts: 3), 2 (letter, attempts: 2), 3 (letter, attempts: 1)");
}

// T1
TEST_F(FormContract, ASubmissionWhoseScanNeverCameFailsWithItsAlertWhenItsRetentionEnds) {
  handed_in(submission("a", {"clean", "late", "later"}, true));
  ASSERT_TRUE(forms->scan(kDefaultOrg, "clean", Scan::clean, "scanner"));
  expire("a");
  EXPECT_EQ(forms->purge(0, 10)->count, 1u);
  EXPECT_EQ(state("a"), "purged");
  EXPECT_EQ(view("a").submission.reason, "retention_expired");
  EXPECT_EQ(audit("a"), (Words{"submission_route_failed", "submission_purged"}));
  EXPECT_EQ(view("a").audit.at(0).from_state + " " + view("a").audit.at(0).to_state, "received failed");
  EXPECT_EQ(statuses("a"), (Words{"cancelled", "cancelled", "cancelled"}));
  EXPECT_EQ(
      sql.text("SELECT kind || ' ' || incident || ' ' || count || ': ' || message FROM alerts"),
      "retention_expired retention_expired:contact 1: form submission a of contact was dropped: its retention ended before these "
      "attachments were scanned, and nothing of it was sent: late, later");
}

// T1: nobody said that it is complete, so nothing of it is missed; its reason says so
TEST_F(FormContract, ASubmissionThatWasNeverFinalizedIsPurgedWithItsReasonAndNoAlert) {
  handed_in(submission("unscanned", {"late"}));
  handed_in(submission("bare"));
  expire("unscanned");
  expire("bare");
  EXPECT_EQ(forms->purge(0, 10)->count, 2u);
  for (const char* ref : {"unscanned", "bare"}) {
    EXPECT_EQ(state(ref), "purged");
    EXPECT_EQ(view(ref).submission.reason, "never_finalized");
    EXPECT_EQ(audit(ref), (Words{"submission_purged"}));
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts"), 0);
}

// T1
TEST_F(FormContract, ASubmissionThatWaitsForAScanForLongIsStuck) {
  handed_in(submission("old", {"1"}, true));
  handed_in(submission("older", {"2", "3"}, true));
  handed_in(submission("scanned", {"4"}, true));
  handed_in(submission("infected", {"5", "6"}, true));
  handed_in(submission("draft", {"7"}));
  handed_in(submission("new", {"8"}, true));
  ASSERT_TRUE(forms->scan(kDefaultOrg, "4", Scan::clean, "scanner"));
  ASSERT_TRUE(forms->scan(kDefaultOrg, "5", Scan::infected, "scanner"));
  sql.execute(
      "UPDATE form_submissions f SET finalized_at = finalized_at - CASE s.client_ref WHEN 'older' THEN interval '3 hours' ELSE "
      "interval '2 hours' END FROM submissions s WHERE s.id = f.submission_id AND s.client_ref <> 'new'");
  const auto found = alerts->stuck(std::chrono::hours(1));
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->at(0).what, StuckWork::What::scan);
  EXPECT_EQ(found->at(0).about, "contact");
  EXPECT_EQ(found->at(0).reference, "older");
  EXPECT_EQ(found->at(0).count, 2u);
  EXPECT_GE(found->at(0).now - found->at(0).since, std::chrono::hours(3));
}

// F6
TEST_F(FormContract, AnActionThatIsTriedAgainLetsTheNextBegin) {
  handed_in(submission("a", {}, true));
  auto rows = claim_due();
  settle_all({again(rows[0])});
  rows = claim_due();
  ASSERT_EQ(rows.size(), 2u) << "the retry and the next action";
  settle_all({end(rows[0], Status::accepted), end(rows[1], Status::accepted)});
  EXPECT_EQ(end_next(Status::accepted).form_states, Words{"routed"});
}

// F6
TEST_F(FormContract, TwoHostsThatEndTheLastTwoActionsAtOnceEndItOnce) {
  for (int round = 0; round < 10; ++round) {
    handed_in(submission("s" + std::to_string(round), {}, true));
    settle_all({again(claim_due()[0])});
    auto rows = claim_due();
    settle_all({again(rows[0]), again(rows[1])});
    rows = claim_due();
    ASSERT_EQ(rows.size(), 3u);
    std::vector<std::jthread> hosts;
    for (const auto& row : rows)
      hosts.emplace_back([&, row] {
        const auto settled = make_settle_store(address)->settle(0, std::vector<Settlement>{end(row, Status::accepted)});
        EXPECT_TRUE(settled) << settled.error().what;
      });
    hosts.clear();
    EXPECT_EQ(state("s" + std::to_string(round)), "routed");
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'submission_routed'"), 10);
}

// F5 F7
TEST_F(FormContract, AStaleClaimMovesNothing) {
  handed_in(submission("a", {}, true));
  const auto rows = claim_due();
  auto stale = end(rows[0], Status::rejected, "no_such_person", {99});
  EXPECT_TRUE(settle_all({stale}).held.empty());
  EXPECT_EQ(statuses("a"), (Words{"claimed", "waiting", "waiting"}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters"), 0);
  EXPECT_TRUE(audit("a").empty());
}

// F6 F7
TEST_F(FormContract, WhatAnAttemptGotDoneStaysWhenTheEndSaysNothingOfIt) {
  handed_in(submission("a", {}, true));
  auto rows = claim_due();
  auto partly = again(rows[0]);
  partly.progress = R"({"accepted":["a@example.org"]})";
  settle_all({partly});
  EXPECT_EQ(view("a").deliveries[0].result, R"({"accepted":["a@example.org"]})");
  rows = claim_due();
  const auto again_claimed = std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.action_order == 1; });
  ASSERT_NE(again_claimed, rows.end());
  EXPECT_EQ(again_claimed->progress, partly.progress);
  ASSERT_EQ(settle_all({end(*again_claimed, Status::exhausted, "max_attempts")}).held.size(), 1u);
  EXPECT_EQ(statuses("a")[0], "exhausted");
  EXPECT_EQ(nlohmann::json::parse(view("a").deliveries[0].result)["accepted"][0], "a@example.org");
}

// F12
TEST_F(FormContract, TheSweepMovesWhatIsStuckAndNothingElse) {
  handed_in(submission("lost end", {}, true));
  handed_in(submission("lost turn", {}, true));
  handed_in(submission("at work", {}, true));
  handed_in(submission("not ready"));
  // As if a host had written the ends of actions and then nothing of what follows from them.
  sql.execute(
      "WITH gone AS (DELETE FROM ready r USING submissions s WHERE s.id = submission_id AND client_ref = 'lost end' RETURNING "
      "r.*)"
      " INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at)"
      " SELECT shard, delivery_id, org_id, submission_id, action_order, 'letter', route_id, 'accepted', now() FROM gone");
  sql.execute(
      "UPDATE ready r SET attempt_count = 1 FROM submissions s WHERE s.id = submission_id AND client_ref = 'lost turn' AND "
      "action_order = 1");
  EXPECT_EQ(forms->sweep(0, Seconds(3600))->moved, 0u) << "they are not old enough";
  EXPECT_EQ(forms->sweep(0, Seconds(0))->moved, 2u);
  EXPECT_EQ(state("lost end"), "routed");
  EXPECT_EQ(statuses("lost turn"), (Words{"due", "due", "waiting"}));
  EXPECT_EQ(statuses("at work"), (Words{"due", "waiting", "waiting"}));
  EXPECT_EQ(state("not ready"), "received");
  EXPECT_EQ(forms->sweep(0, Seconds(0))->moved, 0u);
  EXPECT_EQ(audit("lost end"), (Words{"submission_routed"})) << "no row for the sweep itself";
}

// F12
TEST_F(FormContract, TheSweepSeesMoreThanAPage) {
  handed_in(submission("s", {}, true));
  for (const char* copy :  // of the one submission, 1,099 times
       {"INSERT INTO submissions SELECT shard, id + n * 1048576, org_id, kind, client_ref || n, pipeline, target, state, reason, "
        "payload_hash, "
        "created_at FROM submissions, generate_series(1, 1099) n",
        "INSERT INTO form_submissions SELECT shard, submission_id + n * 1048576, org_id, finalized_at, processing_since, "
        "retention_expires_at "
        "FROM form_submissions, generate_series(1, 1099) n",
        "INSERT INTO ready (shard, action_order, org_id, delivery_id, submission_id, due_at, route_id, status, queued) SELECT "
        "shard, "
        "action_order, org_id, "
        "delivery_id + n * 1048576, submission_id + n * 1048576, due_at, route_id, status, queued FROM ready, generate_series(1, "
        "1099) "
        "n"})
    sql.execute(copy);
  sql.execute("UPDATE ready SET attempt_count = 1 WHERE action_order = 1");
  EXPECT_EQ(forms->sweep(0, Seconds(0))->moved, 1100u);
}

// E8
TEST_F(FormContract, OneThatTheSweepCannotMoveStopsNoOtherAndIsTriedAgainLater) {
  for (const char* ref : {"s0", "s1", "s2"}) handed_in(submission(ref, {}, true));
  sql.execute("UPDATE ready SET attempt_count = 1 WHERE action_order = 1");  // as if what follows from it had been lost
  sql.execute(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken row'; END $$;"
      "CREATE TRIGGER fails BEFORE UPDATE ON ready FOR EACH ROW WHEN (OLD.submission_id = " +
      std::to_string(view("s0").submission.id.value) + ") EXECUTE FUNCTION fail()");
  KeptLog log;
  int wakes = 0;
  const auto task = form_sweep(
      *forms, 1, [&] { ++wakes; }, log);
  sql.execute("UPDATE form_submissions SET processing_since = now() - interval '1 day'");
  const auto first = task.run();
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(log.count("forms.not_swept"), 1u);
  EXPECT_EQ(statuses("s0"), (Words{"due", "waiting", "waiting"}));
  for (const char* ref : {"s1", "s2"}) EXPECT_EQ(statuses(ref), (Words{"due", "due", "waiting"})) << ref;
  ASSERT_TRUE(task.run());
  EXPECT_EQ(log.count("forms.not_swept"), 1u) << "not over and over";
  sql.execute("DROP TRIGGER fails ON ready");
  const auto impatient = make_form_store(address, 1, Seconds(86'400), Millis(0));
  EXPECT_EQ(impatient->sweep(0, Seconds(0))->moved, 1u) << "nothing is lost of it";
  EXPECT_EQ(statuses("s0"), (Words{"due", "due", "waiting"}));
}

// E8
TEST_F(FormContract, ThoseThatTheSweepCannotMoveStarveNobody) {
  for (int i = 0; i < 30; ++i) handed_in(submission("s" + std::to_string(i), {}, true));
  sql.execute("UPDATE ready SET attempt_count = 1 WHERE action_order = 1");
  sql.execute(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken row'; END $$;"
      "CREATE TRIGGER fails BEFORE UPDATE ON ready FOR EACH ROW WHEN (OLD.submission_id <> " +
      std::to_string(view("s29").submission.id.value) + ") EXECUTE FUNCTION fail()");
  std::size_t moved = 0, failed = 0;
  for (int call = 0; call < 2; ++call) {
    const auto swept = forms->sweep(0, Seconds(0));
    ASSERT_TRUE(swept) << swept.error().what;
    moved += swept->moved;
    failed += swept->failures.size();
  }
  EXPECT_EQ(moved, 1u);
  EXPECT_EQ(failed, 29u);
}

// E4 E8
TEST_F(FormContract, ALockedSubmissionKeepsNeitherTheSweepNorTheSettlementsOfOthersWaiting) {
  for (const char* ref : {"held", "free"}) handed_in(submission(ref, {}, true));
  const auto rows = claim_due();
  ASSERT_EQ(rows.size(), 2u);
  SqlClient person(url);
  person.execute("BEGIN");
  person.execute("SELECT FROM waybill.submissions WHERE client_ref = 'held' FOR UPDATE");
  std::vector<DeliveryId> all, locked;
  for (const auto& row : rows) {
    all.push_back(row.delivery);
    if (row.client_ref == "held") locked.push_back(row.delivery);
  }
  EXPECT_EQ(settle->locked(0, all).value(), locked);
  auto hasty = address;
  hasty.timeouts.lock = Millis(100);
  const auto swept = make_form_store(hasty, 1, Seconds(86'400))->sweep(0, Seconds(0));
  ASSERT_TRUE(swept) << swept.error().what;
  ASSERT_EQ(swept->failures.size(), 1u);
  EXPECT_NE(swept->failures[0].error.find("55P03"), std::string::npos) << swept->failures[0].error;
}

// F1 F4
TEST_F(FormContract, WhatIsNotKeptAnyMoreIsErasedAndTheAuditStays) {
  for (const char* ref : {"routed", "received", "kept"}) {
    handed_in(submission(ref, {std::string(ref) + "-1"}, std::string_view(ref) == "routed"));
    if (std::string_view(ref) != "kept") expire(ref);
  }
  forms->scan(kDefaultOrg, "routed-1", Scan::clean, "clam");
  for (int i = 0; i < 3; ++i) end_next(i == 1 ? Status::rejected : Status::accepted, "no_such_person");
  sql.execute("UPDATE deliveries SET result = '{\"accepted\":[\"a@example.org\"]}'");
  EXPECT_EQ(forms->purge(0, 100)->count, 2u);
  EXPECT_EQ(state("routed"), "purged");
  EXPECT_EQ(state("received"), "purged");
  EXPECT_EQ(state("kept"), "received");
  EXPECT_EQ(sql.number("SELECT count(body) FROM submissions"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attachments"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters"), 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 3) << "those of the one that is kept";
  for (const auto& d : view("routed").deliveries) EXPECT_EQ(d.result, "");
  EXPECT_EQ(audit("routed"),
            (Words{"letter_success", "letter_failure", "letter_success", "submission_route_failed", "submission_purged"}));
  EXPECT_EQ(forms->purge(0, 100)->count, 0u);
  const auto again = forms->finalize(kDefaultOrg, "received");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Error::Kind::conflict);
}

// E8
TEST_F(FormContract, OneThatCannotBePurgedStopsNoOtherAndIsTriedAgainLater) {
  for (int i = 0; i < 5; ++i) {
    handed_in(submission("s" + std::to_string(i), {}, false));
    expire("s" + std::to_string(i), i);
  }
  sql.execute(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken row'; END $$;"
      "CREATE TRIGGER fails BEFORE UPDATE ON submissions FOR EACH ROW WHEN (OLD.client_ref = 's0') EXECUTE FUNCTION fail()");
  const auto first = forms->purge(0, 100);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->count, 4u) << "those behind it";
  ASSERT_EQ(first->failures.size(), 1u);
  EXPECT_EQ(first->failures[0].submission, view("s0").submission.id);
  EXPECT_NE(first->failures[0].error.find("broken row"), std::string::npos) << first->failures[0].error;
  const auto soon = forms->purge(0, 100);
  ASSERT_TRUE(soon) << soon.error().what;
  EXPECT_EQ(soon->count + soon->failures.size(), 0u) << "not over and over";
  sql.execute("DROP TRIGGER fails ON submissions");
  const auto impatient = make_form_store(address, 1, Seconds(86'400), Millis(0));
  EXPECT_EQ(impatient->purge(0, 100)->count, 1u) << "nothing is lost of it";
  EXPECT_EQ(state("s0"), "purged");
}

// E8: however many fail at the front, the others have their turn
TEST_F(FormContract, ThoseThatCannotBePurgedStarveNobody) {
  for (int i = 0; i < 6; ++i) {
    handed_in(submission("s" + std::to_string(i), {}, false));
    expire("s" + std::to_string(i));
  }
  sql.execute(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken row'; END $$;"
      "CREATE TRIGGER fails BEFORE UPDATE ON submissions FOR EACH ROW WHEN (OLD.client_ref < 's4') EXECUTE FUNCTION fail()");
  const auto impatient = make_form_store(address, 1, Seconds(86'400), Millis(0));
  std::size_t purged = 0, failed = 0;
  for (int call = 0; call < 3; ++call) {
    const auto done = impatient->purge(0, 2);
    ASSERT_TRUE(done) << done.error().what;
    purged += done->count;
    failed += done->failures.size();
  }
  EXPECT_EQ(purged, 2u);
  EXPECT_EQ(failed, 4u);
  sql.execute("DROP TRIGGER fails ON submissions");
  for (int call = 0; call < 3; ++call) purged += impatient->purge(0, 2)->count;
  EXPECT_EQ(purged, 6u) << "after the last the first ones come again";
}

// F1
TEST_F(FormContract, WhatIsOverdueInProcessingFailsOnceNoHostHoldsIt) {
  handed_in(submission("a", {}, true));
  expire("a");
  const auto rows = claim_due();
  EXPECT_EQ(forms->purge(0, 100)->count, 0u) << "a host holds an action of it";
  EXPECT_EQ(state("a"), "processing");
  EXPECT_EQ(statuses("a"), (Words{"claimed", "cancelled", "cancelled"})) << "the others do not begin any more";
  settle_all({again(rows[0])});
  EXPECT_EQ(forms->purge(0, 100)->count, 1u);
  EXPECT_EQ(audit("a"), (Words{"submission_route_failed", "submission_purged"}));
}

// D2: what could only die later is not stored; what was stored before is still itself
TEST_F(FormContract, APastRetentionOrAFaultIsRefusedUnlessItIsThereAlready) {
  auto past = submission("past");
  past.kept_until = Timestamp{1'000'000};
  const auto refused = forms->submit(past);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::invalid);
  EXPECT_TRUE(refused.error().what.starts_with("retentionExpiresAt is past: 1970-01-01T00:00:01.000000Z is not after "))
      << refused.error().what;
  auto faulty = submission("faulty");
  faulty.fault = "fields.email: no address";
  const auto told = forms->submit(faulty);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, Error::Kind::invalid);
  EXPECT_EQ(told.error().what, "fields.email: no address");
  EXPECT_EQ(sql.number("SELECT (SELECT count(*) FROM submissions) + (SELECT count(*) FROM ready)"), 0);

  handed_in(submission("past"));
  handed_in(submission("faulty"));
  EXPECT_EQ(handed_in(past).how, SubmitResult::How::existing);
  EXPECT_EQ(handed_in(faulty).how, SubmitResult::How::existing);
  faulty.hash = sha256("another");
  EXPECT_EQ(handed_in(faulty).how, SubmitResult::How::conflict);
}

// F2 D4
TEST_F(FormContract, LoadingReplacesAFormsActionsAndIsAudited) {
  const auto load = [&](const std::vector<Form>& all, const std::string& trigger = "reload") {
    auto loaded = forms->load(all, {"alice", "admin", trigger});
    EXPECT_TRUE(loaded) << loaded.error().what;
    return loaded.value_or(FormChanges{});
  };
  const auto stored = [&] {
    return sql.text(
        "SELECT string_agg(form_id || '/' || action_order || ' ' || destination, ', ' ORDER BY form_id, action_order) FROM "
        "form_actions");
  };
  EXPECT_EQ(load({form}, "start").added, Words{"contact"});
  EXPECT_FALSE(load({form}, "start").any());
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'admin_reload_yaml'"), 1)
      << "a start that changes nothing leaves no row";
  Form changed = form, other{.id = "other", .name = "Other", .actions = {form.actions[0]}};
  changed.actions.pop_back();
  changed.actions[0].destination = "somebody else";
  const auto both = load({changed, other});
  EXPECT_EQ(both.changed, Words{"contact"});
  EXPECT_EQ(both.added, Words{"other"});
  EXPECT_EQ(stored(), "contact/1 somebody else, contact/2 to-2, other/1 to-1");
  other.fields_schema = *FieldsSchema::compile(R"({"required":["name"]})");
  EXPECT_EQ(load({changed, other}).changed, Words{"other"}) << "a new schema is a change";
  other.actions[0].cc = "boss@example.org";
  EXPECT_EQ(load({changed, other}).changed, Words{"other"});
  EXPECT_FALSE(load({changed, other}).any());
  EXPECT_EQ(load({other}).removed, Words{"contact"});
  EXPECT_FALSE(load({other}).any());
  EXPECT_EQ(stored(), "other/1 to-1");
  EXPECT_EQ(sql.number(
                "SELECT count(*) FROM audit_log WHERE action = 'admin_reload_yaml' AND actor = 'alice' AND actor_type = 'admin'"),
            7)
      << "every reload is audited";
}

// F2
TEST_F(FormContract, ALoadThatFailsChangesNothing) {
  ASSERT_TRUE(forms->load(std::vector{form}, {"alice", "admin", "reload"}));
  Form bad = form;
  bad.name = "New name";
  bad.actions[0].destination = "new";
  bad.actions[2].order = bad.actions[1].order;  // the registry refuses it; so does the database
  EXPECT_FALSE(forms->load(std::vector{bad}, {"alice", "admin", "reload"}));
  EXPECT_EQ(sql.text("SELECT name FROM forms"), "Contact us");
  EXPECT_EQ(sql.number("SELECT count(*) FROM form_actions"), 3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 1);
}

// E8: of a deferred action the reason is its plugin's own text
TEST_F(FormContract, AReasonOfAnyTextIsWrittenAsItIs) {
  const std::string reason = "say \"no\", \\ {a: 'b'} Zoë \t\x01\x1f";
  handed_in(submission("s-1", {}, true));
  const auto row = claim_due().at(0);
  Finished finished{.job = {.delivery = row.delivery,
                            .submission = row.submission,
                            .org = row.org,
                            .route = row.route,
                            .token = {1},
                            .created = row.created,
                            .contract = std::make_shared<const Contract>(contracts[0]),
                            .kind = row.kind},
                    .outcome = Outcome{.verdict = Verdict::deferred, .reason = reason},
                    .started_at = row.created,
                    .finished_at = row.created};
  EXPECT_EQ(settle_all({settlement_of(finished, {}, 0.5, "box:1")}).held.size(), 1u);
  EXPECT_EQ(sql.text("SELECT reason FROM deliveries WHERE status = 'deferred'"), reason);
}

// E8: a batch may hold two claims of one delivery, of which one is stale
TEST_F(FormContract, AStaleEndInOneBatchWithTheTrueOneLeavesNoTrace) {
  handed_in(submission("s-1", {}, true));
  const auto stale = claim_due({1}).at(0);
  settle_all({again(stale)});
  const auto row = claim_due({2}).at(0);
  const auto settled = settle_all({end(stale, Status::rejected, "invalid_request", {1}), end(row, Status::accepted, {}, {2})});
  EXPECT_EQ(settled.held, std::vector<DeliveryId>{row.delivery});
  EXPECT_EQ(settled.tokens, std::vector<ClaimToken>{ClaimToken{2}});
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters"), 0);
  EXPECT_EQ(statuses("s-1")[0], "accepted");
}

}  // namespace
}  // namespace waybill::testing
