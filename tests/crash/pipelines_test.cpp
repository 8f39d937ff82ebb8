// kill -9 of the host at each boundary between two stages of a pipeline, and at random moments with two hosts.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "crash/place.h"
#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

const std::vector<std::string> kStages{"/ses.compose", "/ses.send", "/notify.send"};

class PipelineKill : public PipelineWorld {
 protected:
  PipelineKill() {
    setup.pipelines = {{"ses.json", shipped("ses")}, {"notify_send.json", shipped("notify_send")}};
    targets.clear();
    for (const auto& path : kStages) targets.push_back(service(path.substr(1), path));
    for (auto& one : targets) one["maxAttempts"] = 50;
    use_targets();
    setup.more = "timeouts: { cooldown: 0ms, outage: 0ms, poll: 20ms, attempt: 20s }\n";
    for (const auto& path : kStages) gateway.script("POST " + path, {composed()});
  }
  static Reply composed() {
    return answer(
        {{"subject", "s"}, {"onComplete", {{"job", {{"queue", "NOTIFY_SEND"}, {"options", {{"template", "AFTER"}}}}}}}});
  }
  static std::string follow_up(const std::string& id) { return id + "~notify_send~3"; }

  // One delivery of each stage, accepted once; one follow-up; each receiver saw one id only, however often.
  void expect_whole(const std::string& id) {
    const auto view = wait_for_state(id, "SENT");
    const auto follow = wait_for_state(follow_up(id), "SENT");
    for (const auto& [one, stages] : {std::pair{view, 2u}, std::pair{follow, 1u}}) {
      EXPECT_EQ(one["deliveries"].size(), stages) << one.dump(2);
      for (const auto& delivery : one["deliveries"]) EXPECT_EQ(delivery["status"], "accepted");
      EXPECT_EQ(one["audit"].size(), stages + 1) << one.dump(2);
    }
  }
  // The ids that came to a path for a submission, each with how often it came.
  std::map<std::string, std::map<std::string, std::size_t>> ids_by_path() const {
    std::map<std::string, std::map<std::string, std::size_t>> ids;
    for (const auto& one : gateway.received()) ++ids[one.path][one.reference];
    return ids;
  }
};

// J1, J4, P5: the host dies while a stage is being attempted, and just after it was accepted.
TEST_F(PipelineKill, AtEachBoundaryLosesAndRepeatsNothing) {
  int n = 0;
  for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
    const auto during = "during-" + std::to_string(++n), after = "after-" + std::to_string(n);
    const auto before = calls(kStages[stage]);
    Reply held = composed();
    held.how = Reply::How::hang;
    gateway.script("POST " + kStages[stage], {held, composed()});
    ASSERT_EQ(hand_in("ses", during, {{"answers", n}}).status, 201);
    ASSERT_TRUE(gateway.wait_for([&] { return calls(kStages[stage]) > before; }));
    restart_host();
    expect_whole(during);
    EXPECT_EQ(calls(kStages[stage]), before + 2);  // the one that was cut off, and the one that took its place

    ASSERT_EQ(hand_in("ses", after, {{"answers", n}}).status, 201);
    ASSERT_TRUE(eventually([&] {  // the moment in which the stage's acceptance is on record
      const auto& view = stage < 2 ? after : follow_up(after);
      const auto response = client().get("/v1/submissions/" + escaped(view));
      return response.status == 200 && response.json()["audit"].size() > (stage < 2 ? stage + 1 : 1);
    }));
    restart_host();
    expect_whole(after);
    EXPECT_EQ(calls(kStages[stage]), before + 3);
  }
}

// J1, J4, P5: two hosts, one of which dies again and again.
TEST_F(PipelineKill, AtRandomMomentsLosesAndRepeatsNothingThatWasRecorded) {
  const int rounds = all_rounds() ? 30 : 6;
  const int each = 15;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::minstd_rand random(seed);
  client();  // the host that stays
  Place place;
  place.start(setup, sql());
  std::vector<std::string> all;
  for (int round = 0; round < rounds; ++round) {
    const auto moment = gateway.count() + random() % (3 * each);
    for (int i = 0; i < each; ++i) {
      all.push_back("r" + std::to_string(round) + "-" + std::to_string(i));
      ASSERT_EQ(hand_in("ses", all.back(), {{"answers", i}}).status, 201);
    }
    ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() >= moment; }));
    place.daemon->kill_hard();
    place.start(setup, sql());
  }
  for (const auto& id : all) expect_whole(id);
  for (const auto& [path, ids] : ids_by_path()) EXPECT_EQ(ids.size(), all.size()) << path;  // one id for each stage of each
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), static_cast<std::int64_t>(2 * all.size()));
}

}  // namespace
}  // namespace waybill::testing
