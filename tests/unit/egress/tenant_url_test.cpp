// Which URLs a tenant may save.  N7
#include "egress/tenant_url.h"

#include <gtest/gtest.h>

#include "unit/egress/url_tricks.h"

namespace waybill {
namespace {

using testing::kForbiddenUrls;
using testing::kGoodUrls;

TEST(TenantUrl, NoTrickLeadsInside) {  // N7
  static_assert(std::size(kForbiddenUrls) > 300);
  const EgressPolicy policy;
  for (const auto* url : kForbiddenUrls) EXPECT_FALSE(check_tenant_url(url, policy)) << url;
}

TEST(TenantUrl, PublicHostsPass) {  // N7
  const EgressPolicy policy;
  for (const auto* url : kGoodUrls) EXPECT_TRUE(check_tenant_url(url, policy)) << url;
}

TEST(TenantUrl, WhyAnAddressOrANameIsRefusedIsNotTold) {  // N7
  const EgressPolicy policy;
  for (const auto* url :
       {"http://127.0.0.1/", "http://10.0.0.5/", "http://[::1]/", "http://169.254.169.254/", "http://localhost/",
        "http://vault.internal/", "http://db/", "http://%31.example.com/", "http://256.1.1.1/"}) {
    const auto result = check_tenant_url(url, policy);
    ASSERT_FALSE(result) << url;
    EXPECT_EQ(result.error().kind, Error::Kind::invalid);
    EXPECT_EQ(result.error().what, "the URL is not allowed") << url;
  }
}

TEST(TenantUrl, WhatIsWrongWithItsFormIsTold) {  // N7
  const std::pair<const char*, const char*> rows[] = {
      {"", "a URL is needed"},
      {"http://b\u00fccher.example/", "letter beyond ASCII"},
      {"example.com", "malformed"},
      {"ftp://example.com/", "must begin with http:// or https://"},
      {"http://", "no host"},
      {"http://me@example.com/", "must not contain a user or a password"},
      {"http://example.com:0/", "port must be from 1 to 65535"},
  };
  for (const auto& [url, text] : rows) {
    const auto result = check_tenant_url(url, EgressPolicy());
    ASSERT_FALSE(result) << url;
    EXPECT_NE(result.error().what.find(text), std::string::npos) << url << ": " << result.error().what;
  }
  EXPECT_FALSE(check_tenant_url("http://example.com/" + std::string(kMaxTenantUrlBytes, 'a'), EgressPolicy()));
}

TEST(TenantUrl, TheAllowListOpensAnAddressAtItsPort) {  // N7
  const EgressPolicy policy(
      {.allow = {*parse_egress_exception("127.0.0.1/32:8025"), *parse_egress_exception("[::1]/128:80")}, .guard = {}});
  EXPECT_TRUE(check_tenant_url("http://127.0.0.1:8025/hook", policy));
  EXPECT_TRUE(check_tenant_url("http://[::1]/", policy));
  EXPECT_FALSE(check_tenant_url("http://127.0.0.1/", policy));
  EXPECT_FALSE(check_tenant_url("https://127.0.0.1:8026/", policy));
  EXPECT_FALSE(check_tenant_url("https://[::1]/", policy));
  EXPECT_FALSE(check_tenant_url("http://localhost:8025/", policy)) << "a name is no address";
}

TEST(TenantUrl, AMailRelaysHostIsHeldToTheSameRule) {  // N7
  const EgressPolicy policy;
  EXPECT_TRUE(check_tenant_host("mx.example.com", 25, policy));
  EXPECT_TRUE(check_tenant_host("[2606:4700::1111]", 25, policy));
  for (const auto* bad : {"localhost", "127.1", "[::1]", "[::1", "", ".", "::1"})
    EXPECT_FALSE(check_tenant_host(bad, 25, policy)) << bad;
}

}  // namespace
}  // namespace waybill
