// The optional abilities of plugins: what is composed comes back to be stored before anything is sent, and questions are
// answered beside the pipeline.  H1 H4 H5
#include <gtest/gtest.h>

#include "senders/destination_queries.h"
#include "senders/sender_factory.h"
#include "unit/senders/plugin_world.h"

namespace waybill {
namespace {

using testing::PluginWorld;

class Abilities : public ::testing::Test {
 protected:
  Finished run(const std::string& target, std::optional<Artifact> artifact = {}) {
    auto job = world.job("composer", target);
    job.artifact = std::move(artifact);
    return world.run(std::move(job));
  }
  Contract target(const std::string& name) { return *world.job("composer", name).contract; }
  Job accepted(const std::string& provider_ref) {
    auto job = world.job("composer", "good");
    job.provider_ref = provider_ref;
    return job;
  }
  bool was_noted(const std::string& how) { return world.log.wait_for("how=" + how); }

  PluginWorld world{{"composer", "good"}};
  DestinationQueries destination_queries{*world.factory, Millis(60'000)};
};

TEST_F(Abilities, AComposedJobComesBackUnsentWithItsArtefact) {
  const auto finished = run("good");
  EXPECT_EQ(finished.how, Finished::How::composed);
  ASSERT_TRUE(finished.outcome && finished.outcome->artifact);
  EXPECT_EQ(finished.outcome->artifact->type, "text/plain");
  EXPECT_NE(finished.outcome->artifact->bytes.find(std::string(1, '\0') + "payload"), std::string::npos) << "every byte of it";
}

TEST_F(Abilities, AJobWithItsArtefactIsSent) {
  const auto finished = run("good", Artifact{"text/letter", "twelve bytes"});
  EXPECT_EQ(finished.how, Finished::How::attempted);
  EXPECT_EQ(finished.outcome->verdict, Verdict::accepted);
  EXPECT_EQ(finished.outcome->provider_ref, "text/letter");
  EXPECT_EQ(finished.outcome->result, R"({"bytes":12})");
  EXPECT_FALSE(finished.outcome->artifact);
}

TEST_F(Abilities, AnEarlierAttemptsProgressIsHandedOn) {  // F7
  auto job = world.job("composer", "good");
  job.artifact = Artifact{"text/plain", "x"};
  job.progress = R"({"n":1})";
  EXPECT_EQ(world.run(std::move(job)).outcome->provider_ref, R"({"n":1})");
}

TEST_F(Abilities, AnArtefactWithoutATypeIsBytes) {
  EXPECT_EQ(run("no_type").outcome->artifact->type, "application/octet-stream");
}

TEST_F(Abilities, WhatComposeDoesNotAcceptEndsTheAttempt) {
  const auto later = run("not_now");
  EXPECT_EQ(later.how, Finished::How::attempted);
  EXPECT_EQ(later.outcome->verdict, Verdict::transient);
  EXPECT_EQ(later.outcome->reach, Reach::not_sent);
  EXPECT_EQ(run("never_mind").outcome->reason, "invalid_request");
  EXPECT_EQ(run("throws_in_compose").outcome->reason, "plugin_error");
}

TEST_F(Abilities, AcceptingWithoutAnArtefactIsNotAccepting) {
  for (const auto* what : {"nothing", "too_large"}) {
    const auto finished = run(what);
    EXPECT_EQ(finished.how, Finished::How::attempted) << what;
    EXPECT_EQ(finished.outcome->verdict, Verdict::transient) << what;
    EXPECT_EQ(finished.outcome->reach, Reach::not_sent) << what;
  }
  EXPECT_TRUE(was_noted("no_artifact"));
  EXPECT_TRUE(was_noted("artifact_too_large"));
}

TEST_F(Abilities, AnArtefactOfSendIsIgnoredAndNoted) {
  const auto finished = run("artefact_of_send", Artifact{"text/plain", "x"});
  EXPECT_EQ(finished.how, Finished::How::attempted);
  EXPECT_EQ(finished.outcome->verdict, Verdict::accepted);
  EXPECT_FALSE(finished.outcome->artifact);
  EXPECT_TRUE(was_noted("unasked_artifact"));
}

TEST_F(Abilities, StatusTellsArrivedFailedAndUnderWay) {
  EXPECT_EQ(destination_queries.status(accepted("arrived"))->verdict, Verdict::accepted);
  const auto lost = destination_queries.status(accepted("lost"));
  EXPECT_EQ(lost->verdict, Verdict::rejected);
  EXPECT_EQ(lost->reason, "invalid_request");
  EXPECT_EQ(destination_queries.status(accepted("travelling"))->verdict, Verdict::deferred);
}

TEST_F(Abilities, AnAnswerThatNeverComesIsAnError) {
  DestinationQueries impatient(*world.factory, Millis(20));
  const auto silent = impatient.status(accepted("silent"));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().kind, Error::Kind::unavailable);
}

TEST_F(Abilities, WhatAPluginDoesNotOfferIsSaid) {
  const auto hollow = destination_queries.probe(target("good"));
  ASSERT_FALSE(hollow);
  EXPECT_EQ(hollow.error().kind, Error::Kind::not_found);
  EXPECT_NE(hollow.error().what.find("does not offer \"probe\""), std::string::npos) << hollow.error().what;
  EXPECT_FALSE(destination_queries.probe(*world.job("good", "any").contract));
  EXPECT_FALSE(destination_queries.probe(*world.job("nobody", "any").contract));
}

TEST_F(Abilities, FailuresComePageByPageAndClean) {
  const auto failures = destination_queries.failures(target("good"), 1'700'000'000);
  ASSERT_TRUE(failures) << failures.error().what;
  EXPECT_EQ(failures->outcome.verdict, Verdict::accepted);
  ASSERT_EQ(failures->list.size(), 4u);
  EXPECT_EQ(failures->list[0].provider_ref, "a");
  EXPECT_EQ(failures->list[0].idempotency_key, "key-1");
  EXPECT_EQ(failures->list[0].failed_at.micros, 1'700'000'060'000'000);
  EXPECT_EQ(failures->list[1].detail, "line break");
  EXPECT_EQ(failures->list[3].idempotency_key, "key-\xEF\xBF\xBD");
  EXPECT_TRUE(was_noted("invalid_failure"));
}

TEST_F(Abilities, WhatIsReportedAfterTheEndIsNoted) {
  const auto failures = destination_queries.failures(target("late"), 0);
  ASSERT_TRUE(failures);
  EXPECT_TRUE(was_noted("failure_after_end"));
}

}  // namespace
}  // namespace waybill
