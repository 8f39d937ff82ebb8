// A commit that its synchronous standby has not got is no acknowledgement.  E11
#include <future>
#include <optional>

#include "contract/store_world.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

// A server of its own, which waits for a standby that never comes.
class SynchronousStandby : public ::testing::Test {
 protected:
  using Answer = Result<std::vector<SubmitResult>>;

  void SetUp() override {
    const auto applied = migrate({url, "waybill"});
    ASSERT_TRUE(applied) << applied.error().what;
    const auto made = intake->route(kDefaultOrg, {.target = "sms.primary",
                                                  .action_type = "sms",
                                                  .url = "http://gateway.example.org/",
                                                  .destination = "{}",
                                                  .policy = Policy::one_shot});
    ASSERT_TRUE(made) << made.error().what;
    route = *made;
  }
  void wait_for(const std::string& standbys) {
    sql.execute("ALTER SYSTEM SET synchronous_standby_names = '" + standbys + "'");
    sql.execute("SELECT pg_reload_conf()");
  }
  std::future<Answer> submit(const std::string& reference) {
    return std::async(std::launch::async, [this, reference] {
      const std::vector<NewSubmission> items{{.org = kDefaultOrg,
                                              .kind = "intent",
                                              .pipeline = "intent",
                                              .state = "pending",
                                              .client_ref = reference,
                                              .target = "sms.primary",
                                              .cooldown_key = "sms.primary",
                                              .route = route,
                                              .payload = "{}",
                                              .payload_hash = sha256("{}")}};
      return intake->submit(0, items, std::nullopt);
    });
  }
  std::int64_t waiting() {
    return sql.number(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'waybill-intake'");
  }

  PostgresCluster server;
  const std::string url = server.create_database();
  SqlClient sql{url};
  std::unique_ptr<IntakeStore> intake = make_intake_store({url, "waybill"});
  RouteId route;
};

TEST_F(SynchronousStandby, ACommitThatWasNotReplicatedIsNotAcknowledged) {
  wait_for("nobody");
  std::string reference;
  std::future<Answer> answer;
  int tries = 0;
  ASSERT_TRUE(eventually([&] {  // the server takes up the setting in its own time: commits before that do not wait
    if (!answer.valid()) answer = submit(reference = "ref-" + std::to_string(++tries));
    if (waiting() == 1) return true;
    if (answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      EXPECT_TRUE(answer.get());
    }
    return false;
  }));
  sql.execute(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'waybill-intake'");
  const auto said = answer.get();
  ASSERT_FALSE(said) << "only the primary has it";
  EXPECT_EQ(said.error().kind, Error::Kind::unavailable);
  EXPECT_NE(said.error().what.find("not on the synchronous standby"), std::string::npos) << said.error().what;
  wait_for("");
  const auto again = submit(reference).get();
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->at(0).how, SubmitResult::How::existing) << "handed in again, it is found";
}

}  // namespace
}  // namespace waybill::testing
