// Who may call a route: the token's organisation and role against the route's.  N3
#include "http/access.h"

#include <gtest/gtest.h>

namespace waybill::http {
namespace {

Route route(std::string path, Role role) {
  return {.method = "GET", .path = std::move(path), .least_role = role, .handle = [](Request, Reply) {}};
}

Request request(std::map<std::string, std::string, std::less<>> parameters) {
  Request made;
  made.parameters = std::move(parameters);
  return made;
}

Principal of_acme(Role role) { return {.org = OrgId{7}, .role = role, .name = "ci", .org_name = "acme"}; }

int status(const std::optional<Response>& refusal) { return refusal ? refusal->status : 200; }

const Route kChannels = route("/orgs/{org}/channels", Role::admin);
const Route kAnyOrganisation = route("/orgs/{org}", Role::operator_);
const Route kIntents = route("/v1/intents", Role::member);

// N3
TEST(Access, NobodyIsUnauthorizedWhateverOrganisationThePathNames) {
  for (const char* org : {"acme", "other", ""}) EXPECT_EQ(status(access_refusal(kChannels, request({{"org", org}}), {})), 401);
}

// N3
TEST(Access, ARoleMayDoWhatThoseBelowItMay) {
  const auto asked = request({{"org", "acme"}});
  EXPECT_EQ(status(access_refusal(kChannels, asked, of_acme(Role::none))), 403);
  EXPECT_EQ(status(access_refusal(kChannels, asked, of_acme(Role::member))), 403);
  EXPECT_EQ(status(access_refusal(kChannels, asked, of_acme(Role::admin))), 200);
  EXPECT_EQ(status(access_refusal(kChannels, asked, of_acme(Role::owner))), 200);
  EXPECT_EQ(status(access_refusal(kIntents, request({}), of_acme(Role::member))), 200);
}

// N3: 404 also where the role would not do, so that 403 is an answer about the caller's own organisation only
TEST(Access, AnotherOrganisationIsNotFoundForEveryRoleAndOneThatDoesNotExistIsTheSame) {
  for (const Role role : {Role::none, Role::member, Role::admin, Role::owner}) {
    const auto other = access_refusal(kChannels, request({{"org", "default"}}), of_acme(role));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->status, 404);
    for (const char* name : {"nowhere", "ACME", "acme ", "acm", "acmee", ".."}) {
      const auto unknown = access_refusal(kChannels, request({{"org", name}}), of_acme(role));
      ASSERT_TRUE(unknown) << name;
      EXPECT_EQ(unknown->status, other->status);
      EXPECT_EQ(unknown->body, other->body);
      EXPECT_EQ(unknown->headers, other->headers);
    }
  }
}

// N3
TEST(Access, WhatIsAboutTheInstallationIsForTheOrganisationDefault) {
  Route reload = route("/v1/admin/reload", Role::admin);
  reload.of_installation = true;
  EXPECT_EQ(status(access_refusal(reload, request({}), of_acme(Role::owner))), 403);
  EXPECT_EQ(status(access_refusal(reload, request({}), Principal{.role = Role::member})), 403);
  EXPECT_EQ(status(access_refusal(reload, request({}), Principal{.role = Role::admin})), 200);
}

// N3: not even an operator reads what belongs to a tenant
TEST(Access, AnOperatorHasOrganisationsAndNotWhatIsTheirs) {
  const Principal keeper{.role = Role::operator_, .name = "root"};
  EXPECT_EQ(keeper.org_name, "default");
  EXPECT_EQ(status(access_refusal(kAnyOrganisation, request({{"org", "acme"}}), keeper)), 200);
  EXPECT_EQ(status(access_refusal(kChannels, request({{"org", "default"}}), keeper)), 200);
  EXPECT_EQ(status(access_refusal(kChannels, request({{"org", "acme"}}), keeper)), 404);
  for (const char* org : {"acme", "other"})
    EXPECT_EQ(status(access_refusal(kAnyOrganisation, request({{"org", org}}), of_acme(Role::owner))), 403) << org;
}

}  // namespace
}  // namespace waybill::http
