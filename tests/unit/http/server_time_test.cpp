// The HTTP server under load, delay and shutdown: timeouts, late replies, many connections, the end. M5 M14 N12
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>
#include <thread>

#include "unit/http/server_story.h"

namespace waybill::http {
namespace {

using stories::Client;
using stories::kPatienceMs;
using stories::ServerStory;

class HttpServerInTime : public ServerStory {};

constexpr std::string_view kHello = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kHeld = "GET /held HTTP/1.1\r\nHost: x\r\n\r\n";

TEST_F(HttpServerInTime, AHeadThatTricklesInIsTimedOut) {
  config_.timeouts.request_read = Millis(200);
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send("GET /hello HTTP/1.1\r\nHos"));
  const auto answer = peer.receive();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(answer.code(), "request_timeout");
  peer.finish_sending();
  EXPECT_EQ(peer.until_close(), "");
}

TEST_F(HttpServerInTime, ABodyThatStopsComingIsTimedOut) {
  config_.timeouts.request_read = Millis(200);
  start();
  auto peer = client();
  EXPECT_EQ(peer.exchange("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf").status, 408);
}

TEST_F(HttpServerInTime, SteadyTricklingDoesNotExtendTheTime) {
  config_.timeouts.request_read = Millis(200);
  start();
  auto peer = client();
  std::promise<void> over;
  std::thread drip([&, done = over.get_future()] {
    while (done.wait_for(Millis(20)) == std::future_status::timeout && peer.send("x")) {
    }
  });
  EXPECT_EQ(peer.receive().status, 408);
  over.set_value();
  drip.join();
}

// E11
TEST_F(HttpServerInTime, ARequestThatNobodyAnswersIs503AndTheConnectionGoesOn) {
  config_.timeouts.answer = Millis(100);
  start();
  auto peer = client();
  const auto answer = peer.exchange(kHeld);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.code(), "unavailable");
  if (const auto late = held_.take()) late({.body = "late", .headers = {}});
  EXPECT_EQ(peer.exchange(kHello).status, 200);
}

TEST_F(HttpServerInTime, IdleConnectionsAreClosedWithoutAWord) {
  config_.timeouts.idle = Millis(150);
  start();
  auto fresh = client();
  auto used = client();
  EXPECT_EQ(used.exchange(kHello).status, 200);
  EXPECT_EQ(fresh.until_close(), "");
  EXPECT_EQ(used.until_close(), "");
  EXPECT_FALSE(used.was_reset());
}

TEST_F(HttpServerInTime, AClientThatDoesNotReadIsLetGo) {
  config_.timeouts.request_read = Millis(200);
  start();
  Client lazy(server_->port(), 4096);
  ASSERT_TRUE(lazy.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n"));
  // The server's end is over when stop() has nobody to wait for; the grace is far beyond the test's patience.
  auto stopped = std::async(std::launch::async, [&] { server_->stop(Millis(10 * kPatienceMs)); });
  EXPECT_EQ(stopped.wait_for(Millis(kPatienceMs)), std::future_status::ready);
  lazy.close();
}

TEST_F(HttpServerInTime, ARouteMayTakeLongerThanAnyTimeoutOfTheClient) {  // M5
  config_.timeouts.request_read = Millis(50);
  config_.timeouts.idle = Millis(50);
  start();
  auto waiting = client();
  ASSERT_TRUE(waiting.send(kHeld));
  const auto reply = held_.take();
  ASSERT_TRUE(reply);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client().until_close(), "");  // so long that others were closed as idle three times
  reply({.body = "late", .headers = {}});
  EXPECT_EQ(waiting.receive().body, "late");
}

TEST_F(HttpServerInTime, RepliesComeFromOtherThreads) {  // M5
  start();
  std::vector<Client> peers;
  for (int i = 0; i < 50; ++i) peers.push_back(client());
  for (int round = 0; round < 4; ++round) {
    for (auto& peer : peers) ASSERT_TRUE(peer.send(kHeld));
    std::vector<std::jthread> threads;
    for (int t = 0; t < 5; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i)
          if (const auto reply = held_.take()) reply({.body = "x", .headers = {}});
      });
    for (auto& peer : peers) EXPECT_EQ(peer.receive().body, "x");
  }
}

TEST_F(HttpServerInTime, AReplyToAClientThatLeftIsDropped) {
  start();
  auto leaver = client();
  ASSERT_TRUE(leaver.send(kHeld));
  const auto reply = held_.take();
  ASSERT_TRUE(reply);
  leaver.close();
  reply({.body = std::string(1 << 20, 'x'), .headers = {}});
  reply({.body = "again", .headers = {}});
  EXPECT_TRUE(alive());
}

TEST_F(HttpServerInTime, AReplyDroppedOnAnotherThreadAnswers500) {
  start();
  auto peer = client();
  ASSERT_TRUE(peer.send(kHeld));
  std::thread([reply = held_.take()] {}).join();
  EXPECT_EQ(peer.receive().code(), "internal_error");
}

TEST_F(HttpServerInTime, TwoThousandIdleConnectionsDoNotDisturbARequest) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < 5'000) {
    limit.rlim_cur = 5'000;
    limit.rlim_max = std::max(limit.rlim_max, limit.rlim_cur);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0) << "needs 5,000 file descriptors";
  }
  config_.limits.http_connections_per_address = 2'500;
  start();
  std::vector<Client> idle;
  for (int i = 0; i < 2'000; ++i) {
    idle.push_back(client());
    ASSERT_TRUE(idle.back().connected());
  }
  EXPECT_TRUE(alive());
  for (auto& peer : idle) ASSERT_EQ(peer.exchange(kHello).status, 200);
}

TEST_F(HttpServerInTime, OneConnectionTooManyIsToldSoAndOthersGoOn) {
  config_.limits.http_connections = 2;
  start();
  auto first = client();
  auto second = client();
  EXPECT_EQ(first.exchange(kHello).status, 200);
  EXPECT_EQ(second.exchange(kHello).status, 200);
  auto third = client();
  const auto answer = third.receive();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.code(), "too_many_connections");
  EXPECT_EQ(first.exchange(kHello).status, 200);
  third.close();
  first.close();
  const auto patience = std::chrono::steady_clock::now() + Millis(kPatienceMs);
  bool admitted = false;  // as soon as the server has noticed that the first is gone
  while (!admitted && std::chrono::steady_clock::now() < patience) admitted = alive();
  EXPECT_TRUE(admitted);
}

TEST_F(HttpServerInTime, WithoutFreeDescriptorsAcceptingPausesAndGoesOn) {
  start();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int next_free = ::dup(fd);
  ::close(next_free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next_free);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server_->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  const bool noticed = log_.wait_for("http.accept_failed");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ::close(fd);
  EXPECT_EQ(connected, 0);
  EXPECT_TRUE(noticed);
  EXPECT_TRUE(alive());
}

TEST_F(HttpServerInTime, StopAnswersWhatIsUnderWayAndClosesTheRest) {  // N12
  start();
  auto idle = client();
  EXPECT_EQ(idle.exchange(kHello).status, 200);
  auto waiting = client();
  ASSERT_TRUE(waiting.send(kHeld));
  const auto reply = held_.take();
  ASSERT_TRUE(reply);
  auto stopped = std::async(std::launch::async, [&] { server_->stop(Millis(kPatienceMs)); });
  EXPECT_EQ(idle.until_close(), "");
  reply({.body = "last", .headers = {}});
  const auto answer = waiting.receive();
  EXPECT_EQ(answer.body, "last");
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_EQ(waiting.until_close(), "");
  EXPECT_EQ(stopped.wait_for(Millis(kPatienceMs)), std::future_status::ready);
  EXPECT_FALSE(client().connected());
}

TEST_F(HttpServerInTime, WhoConnectedBeforeTheStopIsAnswered) {  // O2
  start();
  auto fresh = client();
  auto kept_alive = client();
  EXPECT_EQ(kept_alive.exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);  // so the server has both
  auto held = client();
  held.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto reply = held_.take();
  ASSERT_TRUE(reply);
  const auto begun = std::chrono::steady_clock::now();
  auto stopped = std::async(std::launch::async, [&] { server_->stop(Millis(kPatienceMs)); });
  EXPECT_EQ(kept_alive.until_close(), "");  // it stops now, and closes what is between two requests
  const auto answer = fresh.exchange("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const bool came_in_time = std::chrono::steady_clock::now() - begun < Millis(800);  // a moment is a second
  if (came_in_time) {
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.at("connection"), "close");
  }
  reply({.body = "{}", .headers = {}});
  EXPECT_EQ(held.receive().status, 200);
  EXPECT_EQ(stopped.wait_for(Millis(kPatienceMs)), std::future_status::ready);
}

// Its client has not heard yet that the server ends.
TEST_F(HttpServerInTime, ARequestThatCrossesTheEndOfItsConnectionMeetsNoReset) {  // O2
  start();
  auto kept_alive = client();
  EXPECT_EQ(kept_alive.exchange(kHello).status, 200);
  const auto begun = std::chrono::steady_clock::now();
  auto stopped = std::async(std::launch::async, [&] { server_->stop(Millis(kPatienceMs)); });
  EXPECT_EQ(kept_alive.until_close(), "");  // the server has begun to end it
  EXPECT_TRUE(kept_alive.send(kHello));
  const bool has_no_reset = kept_alive.send(kHello);                               // one would have come with the first
  const bool is_in_time = std::chrono::steady_clock::now() - begun < Millis(800);  // it listens for a second
  EXPECT_TRUE(has_no_reset || !is_in_time);
  kept_alive.close();
  EXPECT_EQ(stopped.wait_for(Millis(kPatienceMs)), std::future_status::ready);
}

// Who connects meanwhile waits for the next server.
TEST_F(HttpServerInTime, AnInheritedSocketRefusesNobodyBetweenTwoServers) {  // O2
  OwnedDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener.get(), 100), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  config_.listen.port = ntohs(address.sin_port);
  const auto begin = [&] {
    auto server = Server::listen(config_, routes(), nullptr, log_, metrics_, OwnedDescriptor(::dup(listener.get())));
    ASSERT_TRUE(server) << server.error().what;
    server_ = std::move(*server);
    server_->start();
  };
  begin();
  EXPECT_EQ(server_->port(), config_.listen.port);
  EXPECT_TRUE(alive());
  server_->stop(Millis(kPatienceMs));
  auto waiting = client();
  ASSERT_TRUE(waiting.connected());
  ASSERT_TRUE(waiting.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"));
  begin();
  EXPECT_EQ(waiting.receive().status, 200);
}

TEST_F(HttpServerInTime, StopGivesUpAfterItsGraceAndLateRepliesTouchNothing) {  // N12
  start();
  auto waiting = client();
  auto half = client();
  ASSERT_TRUE(waiting.send(kHeld));
  ASSERT_TRUE(half.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"));
  const auto reply = held_.take();
  ASSERT_TRUE(reply);
  server_->stop(Millis(20));
  EXPECT_EQ(waiting.until_close(), "");
  EXPECT_EQ(half.until_close(), "");
  server_.reset();
  reply({.body = "too late", .headers = {}});
}

TEST_F(HttpServerInTime, AServerThatNeverStartedCanBeStopped) {
  auto server = Server::listen(config_, routes(), nullptr, log_, metrics_);
  ASSERT_TRUE(server);
  EXPECT_NE((*server)->port(), 0);
  (*server)->stop(Millis(1'000));
}

TEST_F(HttpServerInTime, StopUnderLoadEndsCleanly) {  // N12
  start();
  std::atomic<bool> over = false;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&, port = server_->port()] {
      while (!over) {
        Client peer(port);
        while (!over && peer.exchange(kHello).status == 200) {
        }
      }
    });
  std::jthread replier([&] {
    for (int i = 0; i < 20; ++i) {
      auto peer = client();
      peer.send(kHeld);
      if (const auto reply = held_.take()) reply({.body = "x", .headers = {}});
      peer.receive();
    }
  });
  replier.join();
  server_->stop(Millis(kPatienceMs));
  over = true;
}

}  // namespace
}  // namespace waybill::http
