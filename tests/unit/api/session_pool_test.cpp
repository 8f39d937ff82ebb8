// Questions to a pool of sessions that are slower than who asks.
#include "api/session_pool.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>

#include "support/eventually.h"

namespace waybill {
namespace {

// E11
TEST(SessionPools, AQuestionThatNobodyWaitsForAnyMoreIsDropped) {
  std::promise<void> go_on;
  std::atomic<int> asked{0};
  const auto dropped = std::make_shared<int>(0);
  {
    SessionPool<int> pool({1}, Millis(50));
    pool.start();
    pool.ask([&](int&) { go_on.get_future().wait(); });
    pool.ask([&asked, dropped](int&) { ++asked; });
    ASSERT_TRUE(testing::eventually(
        [begin = std::chrono::steady_clock::now()] { return std::chrono::steady_clock::now() - begin > Millis(100); }));
    go_on.set_value();
    ASSERT_TRUE(testing::eventually([&] { return dropped.use_count() == 1; }));
    EXPECT_EQ(asked, 0);
    std::promise<void> answered;
    pool.ask([&](int&) { answered.set_value(); });
    answered.get_future().wait();
  }
}

// T21: whoever waited for too long is told so, and the log as well
TEST(SessionPools, ADroppedQuestionIsAnsweredWith503) {
  std::promise<void> go_on;
  std::promise<http::Response> asked_reply, offered_reply;
  std::atomic<std::size_t> told{0};
  {
    SessionPool<int> pool({1}, Millis(50), {}, [&](std::size_t count) { told += count; });
    pool.start();
    pool.ask([&](int&) { go_on.get_future().wait(); });
    pool.ask(
        http::Request{}, [&](http::Response response) { asked_reply.set_value(std::move(response)); },
        [](int&, const http::Request&, const http::Reply& answered) { answered({.status = 200, .body = {}}); });
    pool.offer([](int&) {}, [&](http::Response response) { offered_reply.set_value(std::move(response)); });
    ASSERT_TRUE(testing::eventually(
        [begin = std::chrono::steady_clock::now()] { return std::chrono::steady_clock::now() - begin > Millis(100); }));
    go_on.set_value();
    for (auto* reply : {&asked_reply, &offered_reply}) {
      const auto response = reply->get_future().get();
      EXPECT_EQ(response.status, 503);
      ASSERT_EQ(response.headers.size(), 1u);
      EXPECT_EQ(response.headers[0].first, "Retry-After");
    }
  }
  EXPECT_GE(told, 1u);
}

// T21
TEST(SessionPools, AQuestionAfterTheEndIsAnsweredWith503) {
  for (const bool was_started : {true, false}) {
    std::promise<http::Response> waiting_reply, late_reply;
    SessionPool<int> pool({1});
    const auto ask = [&](std::promise<http::Response>& reply) {
      return pool.ask(
          http::Request{}, [&](http::Response response) { reply.set_value(std::move(response)); },
          [](int&, const http::Request&, const http::Reply& answered) { answered({.status = 200, .body = {}}); });
    };
    if (was_started) pool.start();
    EXPECT_TRUE(ask(waiting_reply));
    pool.stop();
    EXPECT_FALSE(ask(late_reply));
    EXPECT_FALSE(pool.offer([](int&) {}));
    EXPECT_EQ(waiting_reply.get_future().get().status, was_started ? 200 : 503);
    auto late = late_reply.get_future();
    ASSERT_EQ(late.wait_for(Millis(0)), std::future_status::ready) << "it was dropped without a word";
    const auto response = late.get();
    EXPECT_EQ(response.status, 503);
    ASSERT_EQ(response.headers.size(), 1u);
    EXPECT_EQ(response.headers[0].first, "Retry-After");
  }
}

class Client final : public http::Connection {
 public:
  bool is_gone() const override { return gone; }
  std::atomic<bool> gone{false};
};

// A pool whose only session is held, so that whatever is asked waits.
class HeldPool : public ::testing::Test {
 protected:
  void hold(PoolLimits limits) {
    pool.emplace(std::vector<int>{1}, Millis(std::chrono::hours(1)), limits);
    pool->start();
    pool->ask([this](int&) {
      held.set_value();
      go_on.get_future().wait();
    });
    held.get_future().wait();
  }
  // The status of its answer, later.
  std::shared_future<http::Response> ask(std::int64_t org, std::size_t body = 0, std::shared_ptr<Client> client = nullptr) {
    const auto promise = std::make_shared<std::promise<http::Response>>();
    http::Request request;
    request.principal.org = {org};
    request.body.assign(body, 'x');
    request.connection = std::move(client);
    pool->ask(
        std::move(request), [promise](http::Response response) { promise->set_value(std::move(response)); },
        [this](int&, const http::Request& asked, const http::Reply& answered) {
          ++carried_out;
          answered({.status = 200, .body = asked.body});
        });
    return promise->get_future().share();
  }
  static bool is_answered(const std::shared_future<http::Response>& answer) {
    return answer.wait_for(Millis(0)) == std::future_status::ready;
  }
  void expect_refusal(const std::shared_future<http::Response>& answer, int status) {
    ASSERT_TRUE(is_answered(answer));
    EXPECT_EQ(answer.get().status, status);
    ASSERT_EQ(answer.get().headers.size(), 1u);
    EXPECT_EQ(answer.get().headers[0].first, "Retry-After");
  }

  std::promise<void> held, go_on;
  std::atomic<int> carried_out{0};
  std::optional<SessionPool<int>> pool;
};

// S1
TEST_F(HeldPool, TakesSoManyQuestionsAndOfOneOrganisationHalfOfThem) {
  hold({.questions = 8, .bytes = 1 << 20});
  std::vector<std::shared_future<http::Response>> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(ask(1));
  expect_refusal(ask(1), 429);
  for (int i = 0; i < 4; ++i) taken.push_back(ask(2 + i));
  expect_refusal(ask(9), 503);
  EXPECT_FALSE(pool->offer([](int&) {}));
  for (const auto& one : taken) EXPECT_FALSE(is_answered(one));
  go_on.set_value();
  for (const auto& one : taken) EXPECT_EQ(one.get().status, 200);
  EXPECT_EQ(ask(1).get().status, 200) << "there is room again";
}

// T16: whoever asks a thousand times waits behind his own questions, and nobody else does
TEST_F(HeldPool, OrganisationsTakeTurns) {
  hold({});
  std::vector<int> order;
  std::mutex mutex;
  std::vector<std::shared_future<void>> done;
  const auto note = [&](std::int64_t org) {
    const auto promise = std::make_shared<std::promise<void>>();
    done.push_back(promise->get_future().share());
    http::Request request;
    request.principal.org = {org};
    pool->ask(std::move(request), {}, [&order, &mutex, promise, org](int&, const http::Request&, const http::Reply&) {
      {
        const std::lock_guard lock(mutex);
        order.push_back(static_cast<int>(org));
      }
      promise->set_value();
    });
  };
  for (int i = 0; i < 5; ++i) note(1);
  for (int i = 0; i < 2; ++i) note(2);
  note(3);
  go_on.set_value();
  for (const auto& one : done) one.wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 1, 2, 1, 1, 1}));
}

// T16: while others ask as well, nobody has all sessions
TEST(SessionPools, OneSessionIsLeftForOthers) {
  std::promise<void> go_on;
  const auto gate = go_on.get_future().share();
  std::atomic<int> begun{0};
  std::promise<void> theirs;
  SessionPool<int> pool({1, 2, 3});
  const auto ask = [&](std::int64_t org, std::function<void()> act) {
    http::Request request;
    request.principal.org = {org};
    pool.ask(std::move(request), {}, [act = std::move(act)](int&, const http::Request&, const http::Reply&) { act(); });
  };
  ask(2, [] {});
  for (int i = 0; i < 9; ++i)
    ask(1, [&] {
      ++begun;
      gate.wait();
    });
  pool.start();
  ASSERT_TRUE(testing::eventually([&] { return begun == 2; }));
  ask(2, [&] { theirs.set_value(); });
  theirs.get_future().wait();
  EXPECT_EQ(begun, 2);
  go_on.set_value();
  ASSERT_TRUE(testing::eventually([&] { return begun == 9; }));
}

// S1
TEST_F(HeldPool, CountsBodiesTwice) {
  hold({.questions = 1000, .bytes = 64 << 10});
  std::vector<std::shared_future<http::Response>> taken;
  taken.push_back(ask(1, 15 << 10));
  expect_refusal(ask(1, 1 << 10), 429);
  taken.push_back(ask(2, 15 << 10));
  expect_refusal(ask(3, 1 << 10), 503);
  taken.push_back(ask(3, 0));
  go_on.set_value();
  for (const auto& one : taken) EXPECT_EQ(one.get().status, 200);
}

// S1: a body that is larger than all that may wait is taken when nothing waits
TEST_F(HeldPool, TakesALargeBodyAlone) {
  hold({.questions = 1000, .bytes = 1 << 10});
  const auto large = ask(1, 1 << 20);
  expect_refusal(ask(2), 503);
  go_on.set_value();
  EXPECT_EQ(large.get().body.size(), std::size_t{1} << 20);
}

// S1
TEST_F(HeldPool, DropsWorkWhoseClientHasGone) {
  hold({});
  const auto stays = std::make_shared<Client>(), goes = std::make_shared<Client>();
  const auto kept = ask(1, 0, stays), dropped = ask(1, 0, goes);
  goes->gone = true;
  ASSERT_TRUE(testing::eventually(
      [begin = std::chrono::steady_clock::now()] { return std::chrono::steady_clock::now() - begin > Millis(200); }));
  go_on.set_value();
  EXPECT_EQ(kept.get().status, 200);
  EXPECT_EQ(dropped.get().status, 503);
  EXPECT_EQ(carried_out, 1);
}

}  // namespace
}  // namespace waybill
