// The address guard on a network of its own, with canaries on every address that a tenant must not reach and a name server that
// lies: the plugin webhook on the host's own services.  N7
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <map>
#include <nlohmann/json.hpp>

#include "egress/tenant_url.h"
#include "support/name_server.h"
#include "support/network_namespace.h"
#include "unit/egress/url_tricks.h"
#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_server.h"

namespace waybill::testing {
namespace {

constexpr const char* kGood = "93.184.215.14";  // a public host; this one's interface has 93.184.215.1
using Words = std::vector<std::string>;

// Listens on port 80 of every address, and counts connections and requests by the address that they came to.
class Everywhere {
 public:
  Everywhere() : listener_(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const bool has_six = listener_ >= 0;
    if (!has_six) listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int off = 0, on = 1;
    ::setsockopt(listener_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(80);
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(80);
    const auto* all = has_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
    if (::bind(listener_, all, has_six ? sizeof six : sizeof four) != 0 || ::listen(listener_, 1024) != 0)
      throw std::runtime_error("port 80 is not to be had");
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~Everywhere() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    ::close(listener_);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (auto& thread : serving_) thread.join();
  }
  std::map<std::string, int> connections() const {
    const std::lock_guard lock(mutex_);
    return connections_;
  }
  std::map<std::string, int> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      sockaddr_storage local{};
      socklen_t size = sizeof local;
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size);
      const auto to = address_of(reinterpret_cast<const sockaddr&>(local)).value_or(IpAddress{}).text();
      const std::lock_guard lock(mutex_);
      ++connections_[to];
      open_.push_back(fd);
      serving_.emplace_back([this, fd, to] { serve(fd, to); });
    }
  }
  void serve(int fd, const std::string& to) {
    Connection connection(fd, 0);
    for (std::string request; !(request = connection.receive()).empty();) {
      {
        const std::lock_guard lock(mutex_);
        ++requests_[to];
      }
      const auto path = request.substr(5, request.find(' ', 5) - 5);
      if (path.starts_with("/redirect"))
        connection.answer(307, "", "Location: http://10.0.0.5/\r\nRefresh: 0; url=http://169.254.169.254/\r\n");
      else
        connection.answer(200, "", path.starts_with("/once") ? "Connection: close\r\n" : "");
      if (path.starts_with("/once")) break;
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    ::close(fd);
  }

  int listener_;
  std::thread accepting_;
  mutable std::mutex mutex_;
  std::vector<int> open_;
  std::map<std::string, int> connections_, requests_;
  std::vector<std::thread> serving_;  // touched by the accepting thread only, until it has ended
};

NameServer::Zone zone() {
  const auto always = [](Words words) { return [words](int) { return words; }; };
  return {
      {"good.example.org", always({kGood})},
      {"chain.example.org", always({"a.example.net", "b.example.net", kGood})},
      {"private.example.org", always({"10.0.0.5"})},
      {"metadata.example.org", always({"169.254.169.254"})},
      {"loop.example.org", always({"127.0.0.1"})},
      {"loop6.example.org", always({"::1"})},
      {"zero.example.org", always({"0.0.0.0"})},
      {"zero6.example.org", always({"::"})},
      {"own.example.org", always({"93.184.215.1"})},
      {"mapped.example.org", always({"::ffff:10.0.0.5"})},
      {"mappedloop.example.org", always({"::ffff:7f00:1"})},
      {"nat64.example.org", always({"64:ff9b::a00:5"})},
      {"sixtofour.example.org", always({"2002:a00:5::1"})},
      {"mixed.example.org", always({kGood, "10.0.0.5"})},
      {"mixed-turned.example.org", always({"10.0.0.5", kGood})},
      {"mixed-six.example.org", always({kGood, "::1"})},
      {"mixed-mapped.example.org", always({kGood, "::ffff:169.254.169.254"})},
      {"chain-in.example.org", always({"a.example.net", "vault.internal", "10.0.0.5"})},
      {"chain-metadata.example.org", always({"a.example.net", "metadata.google.internal", "169.254.169.254"})},
      {"chain-local.example.org", always({"localhost", "127.0.0.1"})},
      {"chain-mixed.example.org", always({"a.example.net", kGood, "10.0.0.5"})},
      {"rebinds.example.org", [](int nth) { return Words{nth == 0 ? kGood : "10.0.0.5"}; }},
      {"rebinds-back.example.org", [](int nth) { return Words{nth == 0 ? "10.0.0.5" : kGood}; }},
      {"flips.example.org", [](int nth) { return Words{nth % 2 == 0 ? kGood : "169.254.169.254"}; }},
  };
}

class EgressNamespace : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    missing_ = enter_network_namespace({"93.184.215.1/24", "10.0.0.5", "169.254.169.254", "100.100.100.200", "192.168.1.1"});
  }
  void SetUp() override {  // no package helps where the kernel or a container forbids it, so it is skipped in CI as well
    if (missing_) GTEST_SKIP() << *missing_;
  }
  static Outcome send(PluginWorld& world, const std::string& url, bool tenant = true) {
    auto job = world.job("webhook", "ops");
    auto contract = std::make_shared<Contract>(*job.contract);
    contract->destination = nlohmann::json{{"url", url}}.dump();
    job.contract = std::move(contract);
    return world.run(tenant ? of_channel(std::move(job)) : std::move(job)).outcome.value_or(Outcome{});
  }
  static inline std::optional<std::string> missing_;
};

TEST_F(EgressNamespace, NothingOfATenantReachesACanaryAndItsOwnHostWorks) {  // N7
  const NameServer names(zone());
  const Everywhere everywhere;
  PluginWorld world({"../../plugins/webhook"});
  const std::map<std::string, int> only_good;
  const auto hits = [&] {
    auto found = everywhere.connections();
    found.erase(kGood);
    return found;
  };

  for (const auto* url : {"http://good.example.org/", "http://chain.example.org/", "http://93.184.215.14/"})
    EXPECT_EQ(send(world, url).verdict, Verdict::accepted) << url;
  EXPECT_EQ(everywhere.connections().at(kGood), 3);

  for (const auto& [name, words] : zone()) {
    if (name == "good.example.org" || name == "chain.example.org" || name.starts_with("rebinds") || name.starts_with("flips"))
      continue;
    const auto outcome = send(world, "http://" + name + "/");
    EXPECT_EQ(outcome.reason, "address_not_allowed") << name;
    EXPECT_EQ(outcome.detail, "the destination's address is not allowed") << name;
    EXPECT_EQ(hits(), only_good) << name;
  }
  EXPECT_EQ(send(world, "http://nowhere.example.org/").reason, "address_not_allowed") << "as if it led inside";

  EXPECT_EQ(send(world, "http://good.example.org/redirect").reason, "redirect");
  for (const auto* url : kForbiddenUrls) {
    const auto outcome = send(world, url);
    EXPECT_EQ(outcome.verdict, Verdict::transient) << url;
    EXPECT_EQ(outcome.reach, Reach::not_sent) << url;
  }
  EXPECT_EQ(hits(), only_good);
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST_F(EgressNamespace, ANameThatChangesItsMindLeadsNowhereElse) {  // N7
  const NameServer names(zone());
  const Everywhere everywhere;
  {
    PluginWorld world({"../../plugins/webhook"});
    for (const auto* path : {"/", "/", "/once", "/once", "/once", "/"}) {
      EXPECT_EQ(send(world, std::string("http://rebinds.example.org") + path).verdict, Verdict::accepted);
      EXPECT_EQ(send(world, std::string("http://flips.example.org") + path).verdict, Verdict::accepted);
      EXPECT_EQ(send(world, std::string("http://rebinds-back.example.org") + path).reason, "address_not_allowed");
    }
    EXPECT_EQ(names.asked("rebinds.example.org"), 1);
    EXPECT_TRUE(world.executor->stop(Millis(10'000)));
  }
  PluginWorld later({"../../plugins/webhook"});  // which remembers nothing
  EXPECT_EQ(send(later, "http://rebinds.example.org/").reason, "address_not_allowed");
  EXPECT_EQ(send(later, "http://rebinds-back.example.org/").verdict, Verdict::accepted) << "the refusal was no end";
  EXPECT_TRUE(later.executor->stop(Millis(10'000)));
  EXPECT_EQ(everywhere.connections().size(), 1U);
  EXPECT_EQ(everywhere.connections().count(kGood), 1U);
}

TEST_F(EgressNamespace, ATenantNeverRidesWhereTheOperatorWent) {  // N7
  const NameServer names(zone());
  const Everywhere everywhere;
  PluginWorld world({"../../plugins/webhook"});
  for (const auto* url : {"http://10.0.0.5/", "http://private.example.org/", "http://127.0.0.1/", "http://mixed.example.org/"})
    EXPECT_EQ(send(world, url, false).verdict, Verdict::accepted) << url;
  for (const auto* url : {"http://169.254.169.254/", "http://metadata.example.org/", "http://chain-metadata.example.org/"})
    EXPECT_EQ(send(world, url, false).reason, "address_not_allowed") << url;
  const auto connections = everywhere.connections(), requests = everywhere.requests();
  EXPECT_EQ(connections.count("169.254.169.254"), 0U);
  for (const auto* url : {"http://10.0.0.5/", "http://private.example.org/", "http://127.0.0.1/", "http://mixed.example.org/"})
    EXPECT_EQ(send(world, url).reason, "address_not_allowed") << url;
  EXPECT_EQ(everywhere.connections(), connections);
  EXPECT_EQ(everywhere.requests(), requests);
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST_F(EgressNamespace, WhatMustNotBeCalledIsNotSavedEither) {  // N7
  const EgressPolicy policy;
  for (const auto* url : kForbiddenUrls) EXPECT_FALSE(check_tenant_url(url, policy)) << url;
  EXPECT_FALSE(check_tenant_url("http://93.184.215.1/", policy)) << "this host's own address";
  EXPECT_TRUE(check_tenant_url("http://93.184.215.14/", policy));
}

}  // namespace
}  // namespace waybill::testing
