// Names to addresses without blocking the loop.  N7
#include "services/host_lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace waybill {
namespace {

using Answer = HostAddresses::Answer;

HostAddresses found(const char* address) { return {Answer::found, {*parse_address(address)}}; }

class Lookup : public ::testing::Test {
 protected:
  void start(HostLookup::Resolver resolver) {
    lookup_ = std::make_unique<HostLookup>(loop_, std::move(resolver));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Lookup() override { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    loop_.stop();
    thread_.join();
  }
  std::future<HostAddresses> begin(const std::string& host) {
    auto promise = std::make_shared<std::promise<HostAddresses>>();
    loop_.post(
        [this, promise, host] { lookup_->find(host, [promise](const HostAddresses& found) { promise->set_value(found); }); });
    return promise->get_future();
  }

  EventLoop loop_;
  std::unique_ptr<HostLookup> lookup_;
  std::thread thread_;
};

TEST_F(Lookup, AsksOnceForAllWhoWaitAndRemembersTheAnswer) {  // N7
  std::atomic<int> asked{0};
  std::promise<void> go;
  auto gate = go.get_future().share();
  start([&, gate](const std::string&) {
    ++asked;
    gate.wait();
    return found("192.0.2.1");
  });
  auto first = begin("a.test"), second = begin("a.test");
  go.set_value();
  EXPECT_EQ(first.get().addresses, second.get().addresses);
  EXPECT_EQ(begin("a.test").get().addresses, found("192.0.2.1").addresses);
  EXPECT_EQ(asked, 1);
}

TEST_F(Lookup, ANameThatHangsHoldsNoOtherUp) {  // N7
  std::promise<void> go;
  auto gate = go.get_future().share();
  start([gate](const std::string& host) {
    if (host == "slow.test") gate.wait();
    return found("192.0.2.1");
  });
  auto slow = begin("slow.test");
  EXPECT_EQ(begin("fast.test").get().answer, Answer::found);
  go.set_value();
  EXPECT_EQ(slow.get().answer, Answer::found);
}

TEST_F(Lookup, AFailureIsNotRememberedAndAThrowingResolverHasFailed) {  // N7
  std::atomic<int> asked{0};
  start([&](const std::string&) -> HostAddresses {
    if (++asked == 1) return {};
    if (asked == 2) throw std::bad_alloc();
    return {Answer::none, {}};
  });
  EXPECT_EQ(begin("a.test").get().answer, Answer::failed);
  EXPECT_EQ(begin("a.test").get().answer, Answer::failed);
  EXPECT_EQ(begin("a.test").get().answer, Answer::none);
  EXPECT_EQ(begin("a.test").get().answer, Answer::none);
  EXPECT_EQ(asked, 3);
}

TEST_F(Lookup, MoreNamesThanThreadsAreAllAnswered) {  // N7
  start([](const std::string&) { return found("192.0.2.1"); });
  std::vector<std::future<HostAddresses>> answers;
  for (int i = 0; i < 500; ++i) answers.push_back(begin("h" + std::to_string(i) + ".test"));
  for (auto& answer : answers) EXPECT_EQ(answer.get().answer, Answer::found);
}

TEST_F(Lookup, GoesAwayWhileAThreadIsStillAsking) {  // N7
  std::promise<void> begun;
  auto go = std::make_shared<std::promise<void>>();
  start([&begun, gate = go->get_future().share()](const std::string&) {
    begun.set_value();
    gate.wait();
    return HostAddresses{};
  });
  auto never = begin("a.test");
  begun.get_future().wait();
  stop();
  lookup_.reset();
  go->set_value();
}

TEST(SystemResolver, KnowsThisHostAndNoInvalidName) {  // N7
  const auto here = look_up_host("localhost");
  ASSERT_EQ(here.answer, Answer::found);
  for (const auto& address : here.addresses)
    EXPECT_TRUE(address == *parse_address("127.0.0.1") || address == *parse_address("::1"));
  const auto nowhere = look_up_host("no-such-host.invalid");
  EXPECT_NE(nowhere.answer, Answer::found) << "none, or failed where nobody can be asked";
}

}  // namespace
}  // namespace waybill
