// kill -9 at every stage of a form: no action that was recorded as accepted is sent again, and every submission ends.
#include <gtest/gtest.h>

#include <thread>

#include "crash/forms_under_fire.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// A table that nobody else can write until this is gone: a transaction of the host that gets there waits.
class Blockade {
 public:
  Blockade(const std::string& database_url, const std::string& table) : sql_(database_url) {
    sql_.execute("BEGIN");
    sql_.execute("LOCK TABLE waybill." + table + " IN EXCLUSIVE MODE");
  }
  ~Blockade() { sql_.execute("ROLLBACK"); }
  bool somebody_waits() {
    return eventually([&] {
      return sql_.number(
                 "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation IS NOT NULL AND database = "
                 "(SELECT oid FROM pg_database WHERE datname = current_database())") > 0;
    });
  }

 private:
  SqlClient sql_;
};

class FormStories : public FormsUnderFire {
 protected:
  void kill_and_restart() {
    look();
    host().kill_hard();
    ++kills;
    restart_host();
  }

  // The end of a story with one submission, s-1: who got it how often, where that is not once.
  void expect_end(const std::map<std::string, int>& more_than_once = {}) {
    EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, accepted, accepted, accepted");
    hand_in(story("s-1"));  // as a redelivery would
    finalize("s-1");
    hand_in(story("s-2"));  // one that comes after it: nothing of the first was on its way
    wait_for_form("s-2");
    expect_all_is_well();
    for (const auto& [receipt, count] : receipts()) {
      const auto more = more_than_once.find(receipt.second);
      if (receipt.first != "s-1") continue;
      EXPECT_EQ(count, more == more_than_once.end() ? 1 : more->second) << receipt.second;
    }
  }
};

// ---- stories: one submission, one kill at a known moment ----

struct Moment {
  const char* name;
  std::string at;  // of the conversation with the relay
  std::vector<SmtpStep> steps;
  std::map<std::string, int> more_than_once;
};
void PrintTo(const Moment& moment, std::ostream* out) { *out << moment.name; }

class FormsKilledAt : public FormStories, public ::testing::WithParamInterface<Moment> {};

// F6 F7
TEST_P(FormsKilledAt, NoActionThatWasAcceptedIsSentAgain) {
  const auto& moment = GetParam();
  mail.script().at(moment.at, moment.steps);
  ASSERT_EQ(hand_in(story("s-1")).status, 201);
  ASSERT_TRUE(eventually([&] { return mail.script().count(moment.at) == moment.steps.size() - 1; }));
  const auto all_is_on_record = [&] {
    look();
    return settled.size() == receipts().size() &&
           sql().number("SELECT count(*) FROM waybill.ready WHERE status IN ('due', 'claimed')") == 1;
  };
  // Other actions of the submission may run beside the one that is held: they must have ended, or be waiting for their turn.
  if (moment.more_than_once.empty()) {
    ASSERT_TRUE(eventually(all_is_on_record));
  }
  kill_and_restart();
  expect_end(moment.more_than_once);
}

const SmtpStep kHeld{.held = true};
const SmtpStep kLater{.say = "451 4.7.1 greylisted"};
const std::map<std::string, int> kFirstTwice{{"a@x.test", 2}, {"b@x.test", 2}};

// The step before the last holds its answer; what comes after the kill meets the last one.
INSTANTIATE_TEST_SUITE_P(Conversation, FormsKilledAt,
                         ::testing::Values(Moment{"BeforeTheGreeting", "greeting", {kHeld, {}}, {}},
                                           Moment{"BeforeEhloIsAnswered", "EHLO", {kHeld, {}}, {}},
                                           Moment{"AtTheSender", "MAIL", {kHeld, {}}, {}},
                                           Moment{"BetweenTwoRecipients", "RCPT b@x.test", {kHeld, {}}, {}},
                                           Moment{"BeforeTheData", "DATA", {kHeld, {}}, {}},
                                           Moment{"AtTheAnswer", ".", {kHeld, {}}, kFirstTwice},
                                           Moment{"BetweenTwoActions", "MAIL", {{}, kHeld, {}}, {}},
                                           Moment{"AtTheSecondActionsAnswer", ".", {{}, kHeld, {}}, {{"c@x.test", 2}}},
                                           Moment{"AtTheThirdActionsAnswer", ".", {{}, {}, kHeld, {}}, {{"d@x.test", 2}}},
                                           Moment{"WithOneRecipientLeft", "RCPT b@x.test", {kLater, kHeld, {}}, {}}),
                         [](const auto& moment) { return std::string(moment.param.name); });

// D6 D3
TEST_F(FormStories, TheNextActionDoesNotOvertakeTheOneThatAKillInterrupted) {
  mail.script().at(".", {kHeld, kHeld, {}});
  hand_in(story("s-1"));
  ASSERT_TRUE(eventually([&] { return mail.script().count(".") == 1; }));
  kill_and_restart();
  ASSERT_TRUE(eventually([&] { return mail.script().count(".") == 2; })) << "the first action again, before any other";
  EXPECT_EQ(sql().text("SELECT string_agg(action_order || ' ' || status, ', ' ORDER BY action_order) FROM waybill.ready"),
            "1 claimed, 2 waiting, 3 waiting, 4 waiting");
  const json interrupted = submission_of("s-1").at("deliveries").at(0).at("history").at(0);
  EXPECT_EQ(interrupted.at("outcomeStatus"), "unknown");
  EXPECT_EQ(interrupted.at("mayHaveBeenSent"), true);
  mail.script().release();
  expect_end(kFirstTwice);
}

// F6 F7
TEST_F(FormStories, AKillWhileAMailIsBeingComposedSendsItOnce) {
  host();
  {
    Blockade blockade(setup.database_url, "artifacts");
    hand_in(story("s-1"));
    ASSERT_TRUE(blockade.somebody_waits());
    look();
    host().kill_hard();
    ++kills;
  }
  restart_host();
  expect_end();
}

// F6 F7
TEST_F(FormStories, AKillBetweenTwoActionsLeavesTheFirstAsItIs) {
  mail.script().at(".", {kHeld, {}});
  hand_in(story("s-1"));
  ASSERT_TRUE(eventually([&] { return mail.script().count(".") == 1; }));
  {
    Blockade blockade(setup.database_url, "artifacts");
    mail.script().release();
    ASSERT_TRUE(blockade.somebody_waits()) << "the second action is composed";
    look();
    EXPECT_EQ(settled.size(), 2u) << "both recipients of the first action are on record";
    host().kill_hard();
    ++kills;
  }
  restart_host();
  expect_end();
}

// F6 F7
TEST_F(FormStories, AnAnswerThatWasNotRecordedCostsOneMoreMailAndNoMore) {
  host();
  {
    Blockade blockade(setup.database_url, "attempts");
    hand_in(story("s-1"));
    ASSERT_TRUE(blockade.somebody_waits());
    EXPECT_EQ(mail.received().size(), 1u);
    look();
    EXPECT_TRUE(settled.empty());
    host().kill_hard();
    ++kills;
  }
  restart_host();
  expect_end(kFirstTwice);
}

// F6 F7
TEST_F(FormStories, AKillAtTheSubmissionsEndRepeatsItsLastActionAlone) {
  gateway.script("", {{.body = R"({"id": 7})", .held = true}, {.body = R"({"id": 8})"}});
  hand_in(story("s-1"));
  ASSERT_TRUE(gateway.wait_for_count("", 1));
  {
    Blockade blockade(setup.database_url, "submissions");
    gateway.release();
    ASSERT_TRUE(blockade.somebody_waits());
    look();
    EXPECT_EQ(settled.size(), 4u) << "all who got mail";
    host().kill_hard();
    ++kills;
  }
  restart_host();
  expect_end({{"ticket", 2}});
}

// F7 F9
TEST_F(FormStories, ATicketThatADeadHostHadMadeIsFoundAndNotMadeAgain) {
  gateway.script("", {{.body = R"({"id": 7})", .held = true}, {.body = R"({"id": 8})"}});
  hand_in(story("s-1"));
  ASSERT_TRUE(gateway.wait_for_count("", 1));
  const json ticket{{"id", 7}, {"subject", json::parse(gateway.received("")[0].body).at("subject")}};
  gateway.script(kSearch, {{.body = json{{"data", {ticket}}}.dump()}});
  kill_and_restart();
  EXPECT_EQ(wait_for_form("s-1").at("happyfoxTicketId"), "7");
  gateway.script(kSearch, {{.body = R"({"data": []})"}});
  expect_end();
}

// F3 F7
TEST_F(FormStories, AKillAtFinalizeLeavesTheSubmissionAsItWasOrRunsIt) {
  ASSERT_EQ(hand_in(story("s-1", false)).status, 201);
  {
    Blockade blockade(setup.database_url, "form_submissions");
    std::jthread caller([port = host().port()] { HttpClient(port).try_request("POST", "/v1/submissions/s-1/finalize"); });
    ASSERT_TRUE(blockade.somebody_waits());
    host().kill_hard();
    ++kills;
  }
  restart_host();
  EXPECT_EQ(submission_of("s-1").at("status"), "received");
  EXPECT_EQ(finalize("s-1").status, 202);
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, accepted, accepted, accepted");
  expect_all_is_well();
}

// F3 F7
TEST_F(FormStories, AKillWhileAScanResultComesInLosesItWholeAndItsRepeatRunsTheForm) {
  auto body = story("s-1");
  body["attachments"] = json::array({attachment("a-1"), attachment("a-2")});
  ASSERT_EQ(hand_in(body).status, 201);
  ASSERT_EQ(scan("a-1", "clean").status, 200);
  {
    Blockade blockade(setup.database_url, "form_submissions");
    std::jthread caller([port = host().port()] {
      HttpClient(port).try_request("POST", "/v1/attachments/a-2/scan-result", R"({"clamavStatus": "clean"})");
    });
    ASSERT_TRUE(blockade.somebody_waits());
    host().kill_hard();
    ++kills;
  }
  restart_host();
  const auto now = submission_of("s-1");
  EXPECT_EQ(now.at("status"), "received");
  EXPECT_EQ(now.at("attachments").at(0).at("clamavStatus"), "clean");
  EXPECT_EQ(now.at("attachments").at(1).at("clamavStatus"), "pending");
  EXPECT_TRUE(receipts().empty());
  EXPECT_EQ(scan("a-2", "clean").json().at("status"), "processing");
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, accepted, accepted, accepted");
  expect_all_is_well();
}

}  // namespace
}  // namespace waybill::testing
