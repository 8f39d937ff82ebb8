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

// S8: nor is an owner of the organisation `default` an operator
TEST(Access, WhatIsAboutTheInstallationIsForOperators) {
  const Route reload = route("/v1/admin/reload", Role::operator_);
  EXPECT_EQ(status(access_refusal(reload, request({}), of_acme(Role::owner))), 403);
  EXPECT_EQ(status(access_refusal(reload, request({}), Principal{.role = Role::owner})), 403);
  EXPECT_EQ(status(access_refusal(reload, request({}), Principal{.role = Role::operator_})), 200);
}

Principal only_for(std::vector<std::string> targets, std::vector<std::string> paths) {
  auto one = of_acme(Role::owner);
  one.scope = std::make_shared<const Scope>(Scope{std::move(targets), std::move(paths)});
  return one;
}

// S8: a path and what is below it, by the segments that the router saw
TEST(Access, ATokenWithPathsIsForTheseAndWhatIsBelow) {
  const auto ask = [](std::vector<std::string> paths, const std::string& path, const std::string& id = "a") {
    return status(
        access_refusal(route(path, Role::member), request({{"id", id}, {"org", "acme"}}), only_for({}, std::move(paths))));
  };
  for (const char* path : {"/v1/intents", "/v1/intents/{id}", "/v1/intents/{id}/history", "/v1/intents:batch"})
    EXPECT_EQ(ask({"/v1/intents"}, path), 200) << path;
  for (const char* path : {"/v1/intent", "/v1/intentsx", "/v1", "/v1/dead", "/ui/v1/intents"})
    EXPECT_EQ(ask({"/v1/intents"}, path), 403) << path;
  EXPECT_EQ(ask({"/v1/dead", "/v1/intents"}, "/v1/intents"), 200) << "one of them is enough";
  EXPECT_EQ(ask({"/v1/intents/a"}, "/v1/intents/{id}/history"), 200);
  EXPECT_EQ(ask({"/v1/intents/a"}, "/v1/intents/{id}", "b"), 403);
  EXPECT_EQ(ask({"/v1/intents/a"}, "/v1/intents/{id}", "a/b"), 403) << "an id with a slash is one segment";
  EXPECT_EQ(ask({"/v1/intents/a"}, "/v1/intents/{id}", "a:b"), 403);
  EXPECT_EQ(ask({"/orgs/acme/channels"}, "/orgs/{org}/channels/{id}"), 200);
  EXPECT_EQ(ask({"/orgs/acme"}, "/orgs/{org}/channels"), 200);
  EXPECT_EQ(ask({"/orgs/acm"}, "/orgs/{org}/channels"), 403);
}

// S8: a scope takes away, and gives nothing
TEST(Access, AScopeDoesNotRaiseARole) {
  const auto refusal = access_refusal(route("/v1/dead", Role::admin), request({}), [] {
    auto one = only_for({}, {"/v1/dead"});
    one.role = Role::member;
    return one;
  }());
  EXPECT_EQ(status(refusal), 403);
  EXPECT_EQ(status(access_refusal(kChannels, request({{"org", "other"}}), only_for({}, {"/orgs/other"}))), 404);
}

// S8: routes that know nothing of targets are closed to a token that is for some only
TEST(Access, ATokenWithTargetsIsForRoutesThatCheckThem) {
  Route intents = route("/v1/intents", Role::member);
  const auto one = only_for({"sms.primary", "sms.other"}, {});
  EXPECT_EQ(status(access_refusal(intents, request({}), one)), 403);
  intents.checks_targets = true;
  EXPECT_EQ(status(access_refusal(intents, request({}), one)), 200);
  EXPECT_EQ(status(target_refusal(one, "sms.other")), 200);
  for (const char* target : {"", "sms", "sms.primary2", "SMS.PRIMARY"})
    EXPECT_EQ(status(target_refusal(one, target)), 403) << target;
  EXPECT_EQ(status(target_refusal(of_acme(Role::member), "anything")), 200);
  EXPECT_EQ(status(target_refusal(only_for({}, {"/v1"}), "anything")), 200);
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
