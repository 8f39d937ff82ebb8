// One sender's table of open calls: what has not begun can be taken back from it, what has begun cannot.  E7 M17
#include "execute/sender_worker.h"

#include <gtest/gtest.h>

#include "execute/sender_pool.h"
#include "unit/execute/scripted_sender.h"

namespace waybill {
namespace {

using testing::SilentLog;
using testing::Stage;

class Worker : public ::testing::Test {
 protected:
  SenderWorker::Start call(std::uint64_t id) {
    Job job;
    job.delivery = {static_cast<std::int64_t>(id)};
    job.contract = std::make_shared<const Contract>(Contract{.action_type = "type"});
    job.client_ref = "order " + std::to_string(id);
    job.action_order = static_cast<int>(id);
    job.claimed_mono = clock.now();
    completions->took(1);
    return {{id}, std::make_shared<const Job>(std::move(job)), Millis(60'000)};
  }
  void SetUp() override {
    completions->connect([this](std::vector<Finished> batch) {
      for (auto& one : batch) finished.push_back(std::move(one));
    });
  }
  // The first call begins, the second does not.
  template <class WorkerOrPool>
  void start_one_and_hold_one(WorkerOrPool& target) {
    std::vector<SenderWorker::Start> begins{call(1)}, waits{call(2)};
    static_cast<void>(target.start(begins));
    begun = stage.next();
    stage.hold = true;
    static_cast<void>(target.start(waits));
  }
  void expect_the_second_back_and_the_first_cancelled() {
    ASSERT_EQ(finished.size(), 1u) << "it goes back to the queue at once, not when the first has ended";
    EXPECT_EQ(finished[0].job.delivery, DeliveryId{2});
    EXPECT_EQ(finished[0].job.client_ref, "order 2") << "the alert of a dead letter names it";
    EXPECT_EQ(finished[0].job.action_order, 2);
    EXPECT_EQ(finished[0].how, Finished::How::unattempted);
    EXPECT_FALSE(finished[0].not_before) << "another host may begin it at once";
    EXPECT_TRUE(stage.was_cancelled({1}));
    EXPECT_FALSE(stage.was_cancelled({2}));
  }

  Stage stage;
  SilentLog log;
  Metrics metrics;
  SystemClock clock;
  std::vector<Finished> finished;
  std::shared_ptr<CompletionQueue> completions = std::make_shared<CompletionQueue>(clock, log, metrics);
  const WorkerLimits limits{Millis(60'000), Millis(60'000), Millis(60'000)};
  Stage::Begun begun;
};

TEST_F(Worker, CancellingTakesBackWhatHasNotBegun) {
  SenderWorker worker("type", limits, completions);
  worker.attach(*stage.make("type", worker));
  start_one_and_hold_one(worker);
  worker.cancel_all();
  expect_the_second_back_and_the_first_cancelled();
  EXPECT_EQ(worker.open(), 1u);
  worker.decide_all("host_stopped");
}

TEST_F(Worker, CancellingAPoolTakesBackWhatHasNotBegunAnywhere) {
  SenderPool pool("type", stage, limits, 3, completions, log);
  start_one_and_hold_one(pool);
  pool.cancel_all();
  expect_the_second_back_and_the_first_cancelled();
  EXPECT_TRUE(pool.join(Millis(60'000)));
}

}  // namespace
}  // namespace waybill
