// HTTP as plugins get it, against servers that answer, hang, break and lie.  H4 H5 M8
#include "services/http_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <mutex>
#include <thread>

#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using testing::Connection;
using testing::ScriptedServer;

class Http : public ::testing::Test {
 protected:
  void start(HttpClientSettings settings = {}) {
    auto secrets = std::make_shared<const LiveSecrets>(Secrets(Secrets::Values{{"key", {Secret("hunter2")}}}));
    client_ = std::make_unique<HttpClient>(loop_, clock_, secrets, std::move(settings));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Http() override {
    if (!thread_.joinable()) return;
    loop_.stop();
    thread_.join();
  }
  HttpRequest request(std::string url, std::string body = "") {
    HttpRequest request;
    request.method = body.empty() ? "GET" : "POST";
    request.url = std::move(url);
    request.body = std::move(body);
    request.deadline = clock_.now() + 60s;
    return request;
  }
  std::future<HttpResponse> begin(HttpRequest request) {
    if (!client_) start();
    auto promise = std::make_shared<std::promise<HttpResponse>>();
    loop_.post([this, promise, request = std::move(request)] {
      client_->fetch(request, [promise](std::uint64_t, HttpResponse response) { promise->set_value(std::move(response)); });
    });
    return promise->get_future();
  }
  HttpResponse fetch(HttpRequest request) { return begin(std::move(request)).get(); }

  SystemClock clock_;
  EventLoop loop_;
  std::unique_ptr<HttpClient> client_;
  std::thread thread_;
};

TEST_F(Http, ARequestArrivesAsAskedAndItsAnswerComesBack) {
  std::string got;
  ScriptedServer server([&](Connection& connection) {
    got = connection.receive();
    connection.answer(202, R"({"ok":true})", "X-Request-Id:  abc \r\nRetry-After: 7\r\n");
  });
  auto post = request(server.url("/hook?token=1"), "payload");
  post.headers = {{"Content-Type", "text/plain"}, {"Authorization", "Bearer {secret:key}"}};
  post.transport = std::make_shared<const Transport>(Transport{.insecure = true});
  const auto response = fetch(post);
  EXPECT_EQ(response.error, NetError::ok);
  EXPECT_EQ(response.reach, Reach::answered);
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(response.body, R"({"ok":true})");
  EXPECT_EQ(response.retry_after, Millis(7000));
  EXPECT_FALSE(response.truncated);
  EXPECT_EQ(response.headers.front(), (std::pair<std::string, std::string>{"x-request-id", "abc"}));
  EXPECT_TRUE(got.starts_with("POST /hook?token=1 HTTP/1.1\r\n")) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\npayload")) << got;
  EXPECT_NE(got.find("Authorization: Bearer hunter2\r\n"), std::string::npos);
  for (const auto* absent : {"Expect:", "Accept-Encoding:", "Cookie:", "urlencoded"})
    EXPECT_EQ(got.find(absent), std::string::npos) << got;
}

TEST_F(Http, OneConnectionServesManyRequests) {
  ScriptedServer server([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200, "x");
  });
  for (int i = 0; i < 20; ++i) ASSERT_EQ(fetch(request(server.url(), "b")).status, 200);
  EXPECT_EQ(server.connections(), 1);
}

// What a kept connection carries says nothing of whether this host can make one.
TEST_F(Http, ARequestKnowsWhetherAConnectionWasMadeForIt) {  // T13
  ScriptedServer server([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200, "{}");
  });
  const std::atomic<bool> barred{false};
  const auto asked_by = [&](std::atomic<Reached>& reached) {
    auto one = request(server.url("/"));
    one.departure = {&reached, &barred};
    return fetch(one).error;
  };
  std::atomic<Reached> first{Reached::host}, second{Reached::host};
  EXPECT_EQ(asked_by(first), NetError::ok);
  EXPECT_EQ(first, Reached::connected);
  EXPECT_EQ(asked_by(second), NetError::ok);
  EXPECT_EQ(second, Reached::network);
  EXPECT_EQ(asked_by(first), NetError::ok);
  EXPECT_EQ(first, Reached::connected) << "one of its requests was";
}

TEST_F(Http, AReusedHandleCarriesNothingOverFromTheLastRequest) {
  std::vector<std::string> got;
  ScriptedServer server([&](Connection& connection) {
    for (;;) {
      auto next = connection.receive();
      if (next.empty()) return;
      got.push_back(std::move(next));
      connection.answer(200, "x", "X-Only-First: 1\r\n");
    }
  });
  auto first = request(server.url("/1"), "body");
  first.method = "PUT";
  first.headers = {{"X-Mine", "1"}};
  ASSERT_EQ(fetch(first).status, 200);
  ASSERT_EQ(fetch(request(server.url("/2"))).status, 200);
  EXPECT_TRUE(got.at(1).starts_with("GET /2 "));
  EXPECT_EQ(got.at(1).find("X-Mine"), std::string::npos);
  EXPECT_TRUE(got.at(1).ends_with("\r\n\r\n"));
}

TEST_F(Http, ARedirectIsAnAnswerAndIsNotFollowed) {
  ScriptedServer server([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(302, "", "Location: /elsewhere\r\n");
  });
  const auto response = fetch(request(server.url()));
  EXPECT_EQ(response.status, 302);
  EXPECT_EQ(response.error, NetError::ok);
}

TEST_F(Http, OfAHugeBodyOnlyTheFirstBytesAreReadAndTheAnswerStillCounts) {
  ScriptedServer server([](Connection& connection) {
    connection.receive();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    while (connection.send(std::string(65536, 'x'))) {
    }
  });
  const auto response = fetch(request(server.url()));
  EXPECT_EQ(response.error, NetError::ok);
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.truncated);
  EXPECT_EQ(response.body, std::string(kDefaultResponseBytes, 'x'));
}

TEST_F(Http, NoRequestGetsMoreOfABodyThanTheMost) {
  ScriptedServer server([](Connection& connection) {
    connection.receive();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    while (connection.send(std::string(1 << 20, 'x'))) {
    }
  });
  auto get = request(server.url());
  get.max_response_bytes = 2 * kMaxResponseBytes;
  const auto response = fetch(get);
  EXPECT_TRUE(response.truncated);
  EXPECT_EQ(response.body.size(), std::size_t{16} << 20);
}

TEST_F(Http, ABodyOfJustTheLimitIsWhole) {
  ScriptedServer server([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200, std::string(100, 'y'));
  });
  auto get = request(server.url());
  get.max_response_bytes = 100;
  EXPECT_FALSE(fetch(get).truncated);
  get.max_response_bytes = 99;
  EXPECT_TRUE(fetch(get).truncated);
}

TEST_F(Http, EndlessHeadersBreakOff) {
  ScriptedServer server([](Connection& connection) {
    connection.receive();
    connection.send("HTTP/1.1 200 OK\r\n");
    while (connection.send("X-More: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  const auto response = fetch(request(server.url()));
  EXPECT_EQ(response.error, NetError::broken);
  EXPECT_EQ(response.reach, Reach::answered);
  EXPECT_LE(response.body.size(), kMaxResponseHeaderBytes);
}

TEST_F(Http, NobodyListeningMeansNotSent) {
  std::string url;
  {
    ScriptedServer gone([](Connection&) {});
    url = gone.url("/path?secret=hunter2");
  }
  const auto response = fetch(request(url, "x"));
  EXPECT_EQ(response.error, NetError::connect);
  EXPECT_EQ(response.reach, Reach::not_sent);
  EXPECT_EQ(response.status, 0);
  EXPECT_FALSE(response.error_text.empty());
  EXPECT_EQ(response.error_text.find("hunter2"), std::string::npos);
}

TEST_F(Http, ANameThatDoesNotResolveMeansNotSent) {
  const auto response = fetch(request("http://no-such-host.invalid/", "x"));
  EXPECT_EQ(response.error, NetError::resolve);
  EXPECT_EQ(response.reach, Reach::not_sent);
}

TEST_F(Http, AServerThatDoesNotSpeakTlsMeansNotSent) {
  ScriptedServer server([](Connection& connection) { connection.send("HTTP/1.1 400 Bad Request\r\n\r\n"); });
  auto url = server.url();
  url.insert(4, "s");
  const auto response = fetch(request(url, "x"));
  EXPECT_EQ(response.error, NetError::tls);
  EXPECT_EQ(response.reach, Reach::not_sent);
}

TEST_F(Http, SilenceIsATimeoutThatMayHaveBeenSent) {
  ScriptedServer server([](Connection& connection) { connection.hang(); });
  auto post = request(server.url(), "x");
  post.timeout = 50ms;
  const auto response = fetch(post);
  EXPECT_EQ(response.error, NetError::timeout);
  EXPECT_EQ(response.reach, Reach::maybe_sent);
  EXPECT_EQ(response.status, 0);
}

TEST_F(Http, TheDeadlineEndsARequestWhateverItsTimeout) {
  ScriptedServer server([](Connection& connection) { connection.hang(); });
  auto post = request(server.url(), "x");
  post.timeout = 1h;
  post.deadline = clock_.now() + 50ms;
  EXPECT_EQ(fetch(post).error, NetError::timeout);
}

TEST_F(Http, AResetAfterTheRequestMayHaveBeenSent) {
  ScriptedServer server([](Connection& connection) {
    connection.receive();
    connection.reset_at_end();
  });
  const auto response = fetch(request(server.url(), "x"));
  EXPECT_EQ(response.error, NetError::broken);
  EXPECT_EQ(response.reach, Reach::maybe_sent);
}

TEST_F(Http, AKeptConnectionThatClosesUnansweredIsNotTriedAgainBehindOurBack) {
  std::atomic<int> received{0};
  ScriptedServer server([&](Connection& connection) {
    if (!connection.receive().empty()) ++received;
    if (connection.number() == 0) {
      connection.answer(200);
      if (!connection.receive().empty()) ++received;  // read, perhaps acted upon, and never answered
      return;
    }
    connection.answer(200);
  });
  ASSERT_EQ(fetch(request(server.url(), "one")).status, 200);
  const auto response = fetch(request(server.url(), "two"));
  EXPECT_EQ(response.error, NetError::broken);
  EXPECT_EQ(response.reach, Reach::maybe_sent);
  EXPECT_EQ(received, 2);
}

TEST_F(Http, GarbageIsNoAnswer) {
  ScriptedServer server([](Connection& connection) {
    connection.receive();
    connection.send("\x16\x03\x01 this is not HTTP at all\r\n\r\n");
  });
  const auto response = fetch(request(server.url(), "x"));
  EXPECT_EQ(response.error, NetError::broken);
  EXPECT_EQ(response.reach, Reach::maybe_sent);
  EXPECT_EQ(response.status, 0);
}

TEST_F(Http, ABodyThatBreaksOffIsBrokenButAnswered) {
  ScriptedServer server([](Connection& connection) {
    connection.receive();
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
  });
  const auto response = fetch(request(server.url(), "x"));
  EXPECT_EQ(response.error, NetError::broken);
  EXPECT_EQ(response.reach, Reach::answered);
  EXPECT_EQ(response.status, 200);
}

TEST_F(Http, AnInterimAnswerIsNotTheAnswer) {
  ScriptedServer server([](Connection& connection) {
    connection.receive();
    connection.send("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n");
    connection.answer(201, "done");
  });
  const auto response = fetch(request(server.url(), "x"));
  EXPECT_EQ(response.status, 201);
  for (const auto& [name, value] : response.headers) EXPECT_NE(name, "x-early");
}

TEST_F(Http, ABadRequestIsRefusedAndNothingLeaves) {
  ScriptedServer server([](Connection& connection) { connection.answer(200); });
  auto bad_header = request(server.url(), "x");
  bad_header.headers = {{"Host", "elsewhere"}};
  auto unknown_secret = request(server.url(), "x");
  unknown_secret.headers = {{"X", "{secret:nobody}"}};
  for (const auto& bad : {bad_header, unknown_secret, request("ftp://127.0.0.1/")}) {
    const auto response = fetch(bad);
    EXPECT_EQ(response.error, NetError::refused);
    EXPECT_EQ(response.reach, Reach::not_sent);
    EXPECT_FALSE(response.error_text.empty());
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(Http, OpenRequestsToOneHostAreLimitedAndTheRestWaitInOrder) {
  std::mutex mutex;
  std::vector<std::string> order;
  ScriptedServer server([&](Connection& connection) {
    for (;;) {
      const auto got = connection.receive();
      if (got.empty()) return;
      const std::lock_guard lock(mutex);
      order.push_back(got.substr(0, got.find(' ', 4)));
      connection.answer(200);
    }
  });
  HttpClientSettings settings;
  settings.per_host_name = 1;
  start(settings);
  constexpr std::size_t kRequests = 50;
  std::vector<std::promise<HttpResponse>> answers(kRequests);
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < kRequests; ++i) expected.push_back("GET /" + std::to_string(i));
  loop_.post([&] {  // all at once, before any can be answered
    for (std::size_t i = 0; i < kRequests; ++i)
      client_->fetch(request(server.url("/" + std::to_string(i))),
                     [&answer = answers[i]](std::uint64_t, HttpResponse response) { answer.set_value(std::move(response)); });
  });
  for (auto& answer : answers) EXPECT_EQ(answer.get_future().get().status, 200);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(order, expected);
}

TEST_F(Http, ASlowHostDoesNotHoldUpAnother) {
  ScriptedServer slow([](Connection& connection) { connection.hang(); });
  ScriptedServer quick([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200);
  });
  HttpClientSettings settings;
  settings.per_host_name = 2;
  start(settings);
  std::vector<std::future<HttpResponse>> stuck;
  for (int i = 0; i < 10; ++i) {
    auto post = request(slow.url(), "x");
    post.deadline = clock_.now() + (i < 2 ? 3s : 1s);  // the first two hold their places until the others' time is over
    stuck.push_back(begin(post));
  }
  EXPECT_EQ(fetch(request(quick.url(), "x")).status, 200);
  int not_sent = 0;
  for (auto& one : stuck) {
    const auto response = one.get();
    EXPECT_EQ(response.error, NetError::timeout);
    not_sent += response.reach == Reach::not_sent;
  }
  EXPECT_EQ(not_sent, 8);  // those that were never let in
}

TEST_F(Http, ACancelledRequestIsDoneOnceWithCancelled) {
  ScriptedServer server([](Connection& connection) { connection.hang(); });
  HttpClientSettings settings;
  settings.per_host_name = 1;
  start(settings);
  for (const bool running : {true, false}) {
    std::promise<HttpResponse> promise;
    std::atomic<int> count{0};
    std::atomic<bool> returned{false};
    loop_.post([&] {
      std::uint64_t other = 0;
      if (!running) other = client_->fetch(request(server.url(), "first"), [](std::uint64_t, HttpResponse) {});
      const auto id = client_->fetch(request(server.url(), "x"), [&](std::uint64_t, HttpResponse response) {
        EXPECT_TRUE(returned);
        if (++count == 1) promise.set_value(std::move(response));
      });
      client_->cancel(id);
      client_->cancel(id);
      if (!running) client_->cancel(other);
      returned = true;
    });
    const auto response = promise.get_future().get();
    EXPECT_EQ(response.error, NetError::cancelled);
    EXPECT_EQ(response.reach, Reach::not_sent);  // curl had not begun yet
    std::promise<std::size_t> open;
    loop_.post([&] { loop_.after(0ms, [&] { open.set_value(client_->open()); }); });
    EXPECT_EQ(open.get_future().get(), 0u);
    EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace waybill
