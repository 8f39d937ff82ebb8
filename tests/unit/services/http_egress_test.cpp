// Where requests may go: the operator's destinations and tenants', over real connections.  N7
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include "egress/tenant_url.h"
#include "services/endpoint.h"
#include "services/http_client.h"
#include "unit/egress/url_tricks.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using testing::Connection;
using testing::ScriptedServer;
using Answer = HostAddresses::Answer;

std::vector<IpAddress> addresses(std::initializer_list<const char*> texts) {
  std::vector<IpAddress> out;
  for (const auto* text : texts) out.push_back(*parse_address(text));
  return out;
}

void answer_all(Connection& connection) {
  while (!connection.receive().empty()) connection.answer(200);
}

class HttpEgress : public ::testing::Test {
 protected:
  void start(std::initializer_list<std::string> allow, EgressGuard guard = EgressGuard::standard) {
    EgressRules rules{.allow = {}, .guard = guard};
    for (const auto& entry : allow) rules.allow.push_back(parse_egress_exception(entry).value());
    HttpClientSettings settings;
    settings.egress = std::make_shared<const EgressPolicy>(rules);
    settings.resolver = [names = names_](const std::string& host) {
      ++names->lookups;
      const auto resolve = names->resolve;
      return resolve(host);
    };
    auto secrets = std::make_shared<const LiveSecrets>(Secrets(Secrets::Values{{"key", {Secret("hunter2")}}}));
    client_ = std::make_unique<HttpClient>(loop_, clock_, secrets, std::move(settings));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~HttpEgress() override {
    if (!thread_.joinable()) return;
    loop_.stop();
    thread_.join();
    client_.reset();
  }
  std::future<HttpResponse> begin(std::string url, Trust trust, HttpHeaders headers = {}, Millis timeout = {}) {
    HttpRequest request;
    request.method = "POST";
    request.url = std::move(url);
    request.body = "x";
    request.headers = std::move(headers);
    request.timeout = timeout;
    request.deadline = clock_.now() + 60s;
    request.trust = trust;
    request.transport = std::make_shared<const Transport>(Transport{.insecure = true});
    auto promise = std::make_shared<std::promise<HttpResponse>>();
    loop_.post([this, promise, request = std::move(request)] {
      client_->fetch(request, [promise](std::uint64_t, HttpResponse response) { promise->set_value(std::move(response)); });
    });
    return promise->get_future();
  }
  HttpResponse fetch(std::string url, Trust trust, HttpHeaders headers = {}) {
    return begin(std::move(url), trust, std::move(headers)).get();
  }
  void expect_refused(const HttpResponse& response, const std::string& endpoint, const std::string& address,
                      const std::string& why) {
    EXPECT_EQ(response.error, NetError::refused) << response.error_text;
    EXPECT_EQ(response.reach, Reach::not_sent);
    EXPECT_EQ(response.error_text, endpoint + ": the address is not allowed");
    ASSERT_TRUE(response.refusal);
    EXPECT_EQ(response.refusal->endpoint, endpoint);
    EXPECT_EQ(response.refusal->address, address);
    EXPECT_EQ(response.refusal->why, why);
  }
  static std::string at(const ScriptedServer& server) { return "127.0.0.1:" + std::to_string(server.port()); }
  static std::string named(const ScriptedServer& server, const std::string& host = "hook.example.org") {
    return "http://" + host + ":" + std::to_string(server.port()) + "/";
  }

  SystemClock clock_;
  EventLoop loop_;
  struct Names {
    std::function<HostAddresses(const std::string&)> resolve = [](const std::string&) { return HostAddresses{}; };
    std::atomic<int> lookups{0};
  };
  const std::shared_ptr<Names> names_ = std::make_shared<Names>();  // with threads that may end later than a test
  std::unique_ptr<HttpClient> client_;
  std::thread thread_;
};

TEST_F(HttpEgress, TheRegistrysTargetsMayBeLocalButNoMetadataService) {  // N7
  ScriptedServer server(answer_all);
  start({});
  EXPECT_EQ(fetch(server.url(), Trust::registry).status, 200);
  expect_refused(fetch("http://169.254.169.254/latest/", Trust::registry), "169.254.169.254:80", "169.254.169.254", "metadata");
  expect_refused(fetch("http://0xa9fea9fe/", Trust::registry), "169.254.169.254:80", "169.254.169.254", "metadata");
  expect_refused(fetch("http://[::ffff:169.254.169.254]/", Trust::registry), "[::ffff:169.254.169.254]:80", "169.254.169.254",
                 "metadata");
}

TEST_F(HttpEgress, AStrictRegistryMayReachNothingLocalEither) {  // N7
  ScriptedServer server(answer_all);
  start({}, EgressGuard::strict);
  expect_refused(fetch(server.url(), Trust::registry), at(server), "127.0.0.1", "loopback");
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpEgress, ATenantReachesWhatTheAllowListNamesOnItsPortAndNothingElseInside) {  // N7
  ScriptedServer allowed(answer_all), other(answer_all);
  start({at(allowed)});
  EXPECT_EQ(fetch(allowed.url(), Trust::tenant).status, 200);
  expect_refused(fetch(other.url(), Trust::tenant), at(other), "127.0.0.1", "loopback");
  expect_refused(fetch("http://vault.internal/", Trust::tenant), "vault.internal:80", "", "name");
  for (const auto* host : {"127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]", "[::1]", "localhost", "0"})
    EXPECT_EQ(fetch(named(other, host), Trust::tenant).error, NetError::refused) << host;
  EXPECT_EQ(other.connections(), 0);
}

TEST_F(HttpEgress, ATenantsNameIsResolvedOnceAndOnlyWhatWasJudgedIsConnectedTo) {  // N7
  ScriptedServer server([](Connection& connection) {                               // a connection serves one request
    connection.receive();
    connection.answer(200, "", "Connection: close\r\n");
  });
  start({at(server)});
  std::atomic<int> asked{0};
  names_->resolve = [&](const std::string& host) {  // rebinds after its first answer
    EXPECT_EQ(host, "hook.example.org");
    return HostAddresses{Answer::found, addresses({asked++ == 0 ? "127.0.0.1" : "10.0.0.5"})};
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fetch(named(server), Trust::tenant).status, 200) << "no other resolver knows this name";
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(server.connections(), 5);
}

TEST_F(HttpEgress, ANameOfWhichOneAddressIsForbiddenIsRefused) {  // N7
  ScriptedServer server(answer_all);
  start({at(server)});
  for (const auto& answer : {addresses({"127.0.0.1", "10.0.0.5"}), addresses({"10.0.0.5", "127.0.0.1"}),
                             addresses({"127.0.0.1", "64:ff9b::10.0.0.5"}), addresses({"127.0.0.1", "fd00::1"})}) {
    names_->resolve = [answer](const std::string&) { return HostAddresses{Answer::found, answer}; };
    const auto host = "mixed" + std::to_string(names_->lookups.load()) + ".example.org";
    const auto response = fetch(named(server, host), Trust::tenant);
    EXPECT_EQ(response.error, NetError::refused);
    EXPECT_EQ(response.refusal.value_or(AddressRefusal{}).why, "private");
  }
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpEgress, SeveralGoodAddressesAreTriedUntilOneAnswers) {  // N7
  ScriptedServer server(answer_all);
  start({"127.0.0.0/8:" + std::to_string(server.port())});
  names_->resolve = [](const std::string&) { return HostAddresses{Answer::found, addresses({"127.0.0.9", "127.0.0.1"})}; };
  EXPECT_EQ(fetch(named(server), Trust::tenant).status, 200) << "nobody listens on the first";
}

TEST_F(HttpEgress, ANameWithoutAnAddressLooksLikeOneThatLeadsInside) {  // N7
  start({});
  names_->resolve = [](const std::string& host) {
    if (host == "inside.example.org") return HostAddresses{Answer::found, addresses({"10.0.0.5"})};
    return HostAddresses{Answer::none, {}};
  };
  expect_refused(fetch("http://inside.example.org/", Trust::tenant), "inside.example.org:80", "10.0.0.5", "private");
  expect_refused(fetch("http://nothing.example.org/", Trust::tenant), "nothing.example.org:80", "", "no_address");
}

TEST_F(HttpEgress, AResolverThatFailsIsNoRefusal) {  // N7
  start({});
  const auto response = fetch("http://hook.example.org/", Trust::tenant);
  EXPECT_EQ(response.error, NetError::resolve);
  EXPECT_EQ(response.reach, Reach::not_sent);
  EXPECT_FALSE(response.refusal);
}

TEST_F(HttpEgress, AResolverThatHangsHoldsUpNobodyAndTheRequestEndsInTime) {  // N7
  ScriptedServer server(answer_all);
  start({at(server)});
  std::promise<void> go;
  auto gate = go.get_future().share();
  names_->resolve = [gate](const std::string& host) {
    if (host == "slow.example.org") gate.wait();
    return HostAddresses{Answer::found, addresses({"127.0.0.1"})};
  };
  auto slow = begin(named(server, "slow.example.org"), Trust::tenant, {}, Millis(200));
  EXPECT_EQ(fetch(named(server), Trust::tenant).status, 200);
  EXPECT_EQ(fetch(server.url(), Trust::registry).status, 200);
  const auto response = slow.get();
  EXPECT_EQ(response.error, NetError::timeout);
  EXPECT_EQ(response.reach, Reach::not_sent);
  go.set_value();
}

TEST_F(HttpEgress, AnAbsoluteNameIsTheSameName) {  // N7
  ScriptedServer server(answer_all);
  start({at(server)});
  names_->resolve = [](const std::string&) { return HostAddresses{Answer::found, addresses({"127.0.0.1"})}; };
  EXPECT_EQ(fetch(named(server, "hook.example.org."), Trust::tenant).status, 200);
  EXPECT_EQ(fetch(named(server, "HOOK.Example.ORG"), Trust::tenant).status, 200);
}

TEST_F(HttpEgress, ATenantNeverRidesOnTheOperatorsConnection) {  // N7
  ScriptedServer server(answer_all);
  start({at(server)});
  EXPECT_EQ(fetch(server.url(), Trust::registry).status, 200);
  EXPECT_EQ(fetch(server.url(), Trust::registry).status, 200);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(fetch(server.url(), Trust::tenant).status, 200);
  EXPECT_EQ(server.connections(), 2) << "a tenant's has a connection of its own";
  EXPECT_EQ(fetch(server.url(), Trust::tenant).status, 200);
  EXPECT_EQ(fetch(server.url(), Trust::registry).status, 200);
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(HttpEgress, AConnectionThatTheOperatorOpenedIsClosedToATenantWhoMustNotGoThere) {  // N7
  ScriptedServer server(answer_all);
  start({});
  EXPECT_EQ(fetch(server.url(), Trust::registry).status, 200);
  EXPECT_EQ(fetch(server.url(), Trust::tenant).error, NetError::refused);
  names_->resolve = [](const std::string&) { return HostAddresses{Answer::found, addresses({"127.0.0.1"})}; };
  expect_refused(fetch(named(server), Trust::tenant), "hook.example.org:" + std::to_string(server.port()), "127.0.0.1",
                 "loopback");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpEgress, ATenantFollowsNoRedirect) {  // N7
  ScriptedServer inside(answer_all);
  ScriptedServer outside([&](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(307, "", "Location: " + inside.url() + "\r\n");
  });
  start({at(outside)});
  EXPECT_EQ(fetch(outside.url(), Trust::tenant).status, 307);
  EXPECT_EQ(inside.connections(), 0);
}

TEST_F(HttpEgress, ATenantsHeaderIsFilledInWithNoSecret) {  // N7
  ScriptedServer server(answer_all);
  start({at(server)});
  const auto response = fetch(server.url(), Trust::tenant, {{"X-Key", "{secret:key}"}});
  EXPECT_EQ(response.error, NetError::refused);
  EXPECT_FALSE(response.refusal);
  EXPECT_EQ(server.connections(), 0);
  EXPECT_EQ(fetch(server.url(), Trust::registry, {{"X-Key", "{secret:key}"}}).status, 200);
}

TEST_F(HttpEgress, NoProxyOfTheEnvironmentIsUsed) {  // N7
  ScriptedServer server(answer_all), proxy(answer_all);
  for (const auto* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::setenv(name, proxy.url().c_str(), 1);
  start({at(server)});
  EXPECT_EQ(fetch(server.url(), Trust::registry).status, 200);
  EXPECT_EQ(fetch(server.url(), Trust::tenant).status, 200);
  EXPECT_EQ(proxy.connections(), 0);
  for (const auto* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
}

TEST_F(HttpEgress, TenantsHaveAtMostFiftyConnectionsToAHost) {  // N6
  std::promise<void> go;
  auto gate = go.get_future().share();
  std::atomic<int> open{0}, most{0};
  ScriptedServer server([&, gate](Connection& connection) {
    while (!connection.receive().empty()) {
      const int now = ++open;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      if (now == 50) go.set_value();
      gate.wait();
      --open;
      connection.answer(200);
    }
  });
  start({at(server)});
  std::vector<std::future<HttpResponse>> answers;
  for (int i = 0; i < 120; ++i) answers.push_back(begin(server.url(), Trust::tenant));
  gate.wait();
  for (auto& answer : answers) EXPECT_EQ(answer.get().status, 200);
  EXPECT_LE(most, 50);
  EXPECT_LE(server.connections(), 50);
}

// The check reads URLs with Boost.URL, and curl with its own parser: what passes must lead curl to a host that passes as well.
TEST(TenantUrl, WhatPassesIsReadAlikeByTheParserThatCallsIt) {  // N7
  const EgressPolicy policy;
  std::vector<std::string> urls(std::begin(testing::kForbiddenUrls), std::end(testing::kForbiddenUrls));
  urls.insert(urls.end(), std::begin(testing::kGoodUrls), std::end(testing::kGoodUrls));
  std::mt19937 random(7);
  const auto below = [&](std::size_t size) { return size == 0 ? 0 : random() % size; };
  const std::string pieces[] = {"@",         ":",    "/",   "//",      "\\",  "#", "?",         ".",
                                "[",         "]",    "%",   "%2f",     "%40", "0", "127.0.0.1", "localhost",
                                ".internal", "0x7f", "::1", "http://", ":80", "-", "_",         "1"};
  int passed = 0;
  for (int i = 0; i < 100'000; ++i) {
    auto url = urls[below(urls.size())];
    for (auto changes = below(4); changes > 0; --changes) {
      const auto spot = below(url.size() + 1);
      if (below(3) == 0)
        url.erase(spot, below(4));
      else
        url.insert(spot, pieces[below(std::size(pieces))]);
    }
    if (!check_tenant_url(url, policy)) continue;
    ++passed;
    const auto endpoint = parse_endpoint(url, {"http", "https"});
    ASSERT_TRUE(endpoint) << url;
    const auto [host, port] = split_authority(endpoint->authority);
    ASSERT_TRUE(check_tenant_host(host, port, policy)) << url << " leads to " << endpoint->authority;
  }
  EXPECT_GT(passed, 5'000);
}

TEST(ConnectLeave, AConnectionThatIsThereIsJudgedAgain) {  // N7
  const EgressPolicy policy;
  ConnectLeave leave(policy);
  leave.reset(Trust::tenant, "hook.example.org:443");
  EXPECT_TRUE(leave.may_use("8.8.8.8"));
  EXPECT_TRUE(leave.may_use("2606:4700::1111"));
  EXPECT_FALSE(leave.refusal());
  for (const auto* bad : {"127.0.0.1", "::1", "::ffff:10.0.0.5", "fe80::1%eth0", ""}) {
    leave.reset(Trust::tenant, "hook.example.org:443");
    EXPECT_FALSE(leave.may_use(bad)) << bad;
    EXPECT_TRUE(leave.refusal());
  }
}

TEST(ConnectLeave, ATenantOpensNothingThatWasNotJudged) {  // N7
  const EgressPolicy policy;
  ConnectLeave leave(policy);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  ::inet_pton(AF_INET, "8.8.8.8", &four.sin_addr);
  const auto& raw = reinterpret_cast<const sockaddr&>(four);
  leave.reset(Trust::registry, "hook.example.org:443");
  EXPECT_TRUE(leave.may_open(raw));
  leave.reset(Trust::tenant, "hook.example.org:443");
  EXPECT_FALSE(leave.may_open(raw));
  EXPECT_EQ(leave.refusal()->why, "not_vetted");
  leave.reset(Trust::tenant, "hook.example.org:443");
  leave.allow_only(addresses({"8.8.4.4", "8.8.8.8"}));
  EXPECT_TRUE(leave.may_open(raw));
}

}  // namespace
}  // namespace waybill
