// Which socket of the service manager is for what.  O2
#include "app/inherited_listeners.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace waybill {
namespace {

InheritedSocket named(const std::string& name, const std::string& host = "127.0.0.1", std::uint16_t port = 8080) {
  return {OwnedDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), name, host, port};
}

Result<InheritedListeners> sorted(Config& config, InheritedSocket first) {
  std::vector<InheritedSocket> all;
  all.push_back(std::move(first));
  return inherited_listeners(std::move(all), config);
}

Result<InheritedListeners> sorted(Config& config, InheritedSocket first, InheritedSocket second) {
  std::vector<InheritedSocket> all;
  all.push_back(std::move(first));
  all.push_back(std::move(second));
  return inherited_listeners(std::move(all), config);
}

TEST(InheritedListeners, TakeThePlaceOfWhatTheConfigurationSays) {
  Config config;
  config.listen = {"127.0.0.1", 1};
  const auto listeners = sorted(config, named("metrics", "10.0.0.1", 9090), named("http", "::1", 443));
  ASSERT_TRUE(listeners) << listeners.error().what;
  EXPECT_GE(listeners->api.get(), 0);
  EXPECT_GE(listeners->metrics.get(), 0);
  EXPECT_EQ(config.listen.host + " " + std::to_string(config.listen.port), "::1 443");
  ASSERT_TRUE(config.metrics.listen);
  EXPECT_EQ(config.metrics.listen->port, 9090);
}

TEST(InheritedListeners, OneWithoutANameOfItsOwnIsTheApis) {
  for (const auto* name : {"waybill.socket", "unknown"}) {
    Config config;
    const auto listeners = sorted(config, named(name));
    ASSERT_TRUE(listeners) << listeners.error().what;
    EXPECT_GE(listeners->api.get(), 0) << name;
  }
}

TEST(InheritedListeners, WhatNobodyCanMeanIsRefusedWithItsName) {
  Config config;
  const auto refusal = [](const Result<InheritedListeners>& listeners) { return listeners ? "" : listeners.error().what; };
  EXPECT_NE(refusal(sorted(config, named("admin"))).find("\"admin\""), std::string::npos);
  EXPECT_NE(refusal(sorted(config, named("http"), named("http"))).find("two sockets for the API"), std::string::npos);
  EXPECT_NE(refusal(sorted(config, named("metrics"), named("metrics"))).find("two sockets for the metrics"), std::string::npos);
}

TEST(InheritedListeners, WithoutTokensOnlyThisMachineMayReachThem) {
  Config config;
  config.auth_none = true;
  EXPECT_TRUE(sorted(config, named("http", "127.0.0.1")));
  EXPECT_TRUE(sorted(config, named("http", "::1")));
  EXPECT_FALSE(sorted(config, named("http", "0.0.0.0")));
  EXPECT_FALSE(sorted(config, named("http", "::")));
}

}  // namespace
}  // namespace waybill
