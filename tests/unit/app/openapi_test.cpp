// docs/openapi.yaml describes the route table, all of it and nothing else.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "api/system_routes.h"
#include "app/http_routes.h"
#include "app/token_scope.h"
#include "http/server.h"
#include "unit/http/server_client.h"
#include "unit/registry/fake_action_types.h"

namespace waybill {
namespace {

using Names = std::set<std::string>;  // "GET /v1/intents/{id}"

Names described() {
  Names names;
  for (const auto& path : YAML::LoadFile(WAYBILL_SOURCE_DIR "/docs/openapi.yaml")["paths"])
    for (const auto& entry : path.second) {
      std::string method = entry.first.as<std::string>();
      if (method == "parameters") continue;
      std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::toupper(c); });
      names.insert(method + " " + path.first.as<std::string>());
    }
  return names;
}

struct Parts {
  SystemClock clock;
  Log log{Log::Level::error, Log::Format::json};
  Metrics metrics;
  LiveRegistry registry{Registry({})};
  testing::FakeActionTypes types;
  ReadPool pool{{}};
  FormPool forms{{}};
  NotifyPool notify{{}};
  Waiters waiters{pool, clock};
  Intake intake{{}, clock, {}, {}, log};
  FormIntake form_intake{types, [] {}};
  PipelineIntake pipeline_intake{[] {}};
  EventIntake event_intake{[] {}};

  std::vector<http::Route> routes() {
    return all_routes({.intents = {intake, registry, pool, waiters, clock, log, metrics},
                       .forms = {form_intake, registry, forms, log, metrics},
                       .pipelines = {pipeline_intake, registry, forms, log, metrics},
                       .dead = {registry, types, forms, [] {}, log},
                       .notify = {.intake = event_intake,
                                  .pool = notify,
                                  .waiters = waiters,
                                  .types = types,
                                  .check_url = {},
                                  .has_key = true,
                                  .log = log},
                       .reload = [](FormStore&, const std::string&) { return ReloadResult{}; },
                       .readiness = {.not_ready = [] { return std::string(); }},
                       .metrics_readers = http::Role::operator_});
  }
};

// T21: the parameters that a route takes are those of the document
TEST(OpenApi, DescribesTheQueryOfEveryRoute) {
  Parts parts;
  const YAML::Node document = YAML::LoadFile(WAYBILL_SOURCE_DIR "/docs/openapi.yaml");
  const auto resolved = [&](const YAML::Node& parameter) {
    if (!parameter["$ref"]) return parameter;
    const auto path = parameter["$ref"].as<std::string>();
    return document["components"]["parameters"][path.substr(path.rfind('/') + 1)];
  };
  for (const auto& route : parts.routes()) {
    std::string method = route.method;
    std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::tolower(c); });
    Names named;
    for (const auto& one : document["paths"][route.path][method]["parameters"])
      if (const auto parameter = resolved(one); parameter["in"].as<std::string>() == "query")
        named.insert(parameter["name"].as<std::string>());
    EXPECT_EQ(Names(route.query.begin(), route.query.end()), named) << route.method << " " << route.path;
  }
}

// T31: a query is refused everywhere, and the type of a body wherever there may be one
TEST(OpenApi, EveryOperationSaysHowItRefuses) {
  for (const auto& path : YAML::LoadFile(WAYBILL_SOURCE_DIR "/docs/openapi.yaml")["paths"])
    for (const auto& entry : path.second) {
      const auto method = entry.first.as<std::string>();
      if (method == "parameters") continue;
      EXPECT_TRUE(entry.second["responses"]["400"]) << method << " " << path.first;
      EXPECT_TRUE(method == "get" || entry.second["responses"]["415"]) << method << " " << path.first;
    }
}

// T31: the document that a host serves is the one of this tree
TEST(OpenApi, IsServedAsItIs) {
  http::Response served;
  document_route().handle({}, [&](http::Response response) { served = std::move(response); });
  std::ifstream file(WAYBILL_SOURCE_DIR "/docs/openapi.yaml", std::ios::binary);
  EXPECT_EQ(served.body, std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_EQ(served.content_type, "application/yaml");
}

// M1 M3 M14 M15
TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  Parts parts;
  Names served;
  for (const auto& route : parts.routes()) served.insert(route.method + " " + route.path);
  EXPECT_EQ(described(), served);
}

// T32: tokens are held against the paths of the document, which are those of the routes
TEST(OpenApi, NamesThePathsThatTokensAreHeldAgainst) {
  Parts parts;
  std::map<std::string, RoutePath> expected;
  for (const auto& route : parts.routes()) {
    auto& path =
        expected.try_emplace(route.path, RoutePath{route.path, http::Role::operator_, route.checks_targets}).first->second;
    path.least_role = std::min(path.least_role, route.least_role);
    EXPECT_EQ(path.checks_targets, route.checks_targets) << route.path;
  }
  const auto found = documented_paths();
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& path : found) {
    ASSERT_TRUE(expected.contains(path.path)) << path.path;
    EXPECT_EQ(path.least_role, expected.at(path.path).least_role) << path.path;
    EXPECT_EQ(path.checks_targets, expected.at(path.path).checks_targets) << path.path;
  }
}

// M14
TEST(OpenApi, CallsOpenExactlyTheRoutesThatNeedNoToken) {
  const YAML::Node paths = YAML::LoadFile(WAYBILL_SOURCE_DIR "/docs/openapi.yaml")["paths"];
  Parts parts;
  for (const auto& route : parts.routes()) {
    std::string method = route.method;
    std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::tolower(c); });
    const YAML::Node security = paths[route.path][method]["security"];
    const bool open = security && security.IsSequence() && security.size() == 0;
    EXPECT_EQ(open, route.least_role == http::Role::none) << route.method << " " << route.path;
  }
}

// ---- who may call what: every route with every caller, as docs/openapi.yaml says ----

const YAML::Node& operation_of(const http::Route& route) {
  static const YAML::Node kPaths = YAML::LoadFile(WAYBILL_SOURCE_DIR "/docs/openapi.yaml")["paths"];
  static std::map<std::string, YAML::Node> nodes;
  std::string method = route.method;
  std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::tolower(c); });
  return nodes[method + route.path] = kPaths[route.path][method];
}

// In the order of what they may do.
const std::vector<std::string> kRoles{"none", "member", "admin", "owner", "operator"};
std::size_t rank(const std::string& role) {
  return static_cast<std::size_t>(std::find(kRoles.begin(), kRoles.end(), role) - kRoles.begin());
}

struct Caller {
  std::string token;  // "" for none
  std::string role;
  std::string org;
};
const std::vector<Caller> kCallers{{"", "nobody", ""},
                                   {"unknown", "nobody", ""},
                                   {"acme-member", "member", "acme"},
                                   {"acme-admin", "admin", "acme"},
                                   {"acme-owner", "owner", "acme"},
                                   {"other-member", "member", "other"},
                                   {"other-admin", "admin", "other"},
                                   {"other-owner", "owner", "other"},
                                   {"default-admin", "admin", "default"},
                                   {"default-owner", "owner", "default"},
                                   {"default-operator", "operator", "default"}};

int expected(const std::string& least, bool is_in_org, const Caller& caller, const std::string& org) {
  if (least == "none") return 200;
  if (caller.role == "nobody") return 401;
  if (is_in_org && least != "operator" && caller.org != org) return 404;
  return rank(caller.role) < rank(least) ? 403 : 200;
}

std::string path_of(std::string pattern, const std::string& org) {
  for (std::size_t open; (open = pattern.find('{')) != std::string::npos;) {
    const auto close = pattern.find('}', open);
    pattern.replace(open, close - open + 1, pattern.substr(open, close - open + 1) == "{org}" ? org : "1");
  }
  return pattern;
}

// The real table and the real server; the routes themselves only say whom they were called by.
class Matrix {
 public:
  Matrix() {
    auto routes = parts_.routes();
    for (auto& route : routes)
      route.handle = [](http::Request request, http::Reply reply) {
        reply({.content_type = "text/plain", .body = request.principal.org_name, .headers = {}});
      };
    config_.listen = {.host = "127.0.0.1", .port = 0};
    server_ = std::move(*http::Server::listen(config_, std::move(routes), authenticate, parts_.log, parts_.metrics));
    server_->start();
  }
  http::stories::Answer ask(const http::Route& route, const std::string& org, const Caller& caller) {
    return http::stories::Client(server_->port())
        .exchange(route.method + " " + path_of(route.path, org) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" +
                  (caller.token.empty() ? "" : "Authorization: Bearer " + caller.token + "\r\n") + "\r\n");
  }
  std::vector<http::Route> routes() { return parts_.routes(); }

 private:
  static void authenticate(const http::Request& request, const std::function<void(http::Admission)>& answer) {
    const auto token = request.authorization.substr(request.authorization.find(' ') + 1);
    const auto dash = token.find('-');
    const auto known = std::find_if(kCallers.begin(), kCallers.end(), [&](const Caller& one) { return one.token == token; });
    if (dash == std::string::npos || known == kCallers.end()) return answer(std::nullopt);
    const auto role = static_cast<http::Role>(rank(known->role));
    answer(http::Principal{.org = {known->org == "default" ? 1 : 7}, .role = role, .name = token, .org_name = known->org});
  }

  Parts parts_;
  Config config_;
  std::unique_ptr<http::Server> server_;
};

bool is_for_operators(std::string_view path) {
  constexpr std::string_view kBegins[] = {"/orgs",        "/v1/admin",   "/v1/hosts", "/v1/rates",
                                          "/v1/registry", "/v1/targets", "/metrics"};
  return std::any_of(std::begin(kBegins), std::end(kBegins), [&](auto begin) { return path.starts_with(begin); });
}

// N3
TEST(OpenApi, NamesARoleForEachRouteAndEveryCallerGetsWhatFollowsFromIt) {
  Matrix matrix;
  int asked = 0;
  for (const auto& route : matrix.routes()) {
    const YAML::Node named = operation_of(route)["x-role"];
    ASSERT_TRUE(named) << route.method << " " << route.path;
    const auto least = named.as<std::string>();
    ASSERT_LT(rank(least), kRoles.size()) << least;
    const bool is_in_org = route.path.find("{org}") != std::string::npos;
    EXPECT_EQ(is_for_operators(route.path), is_in_org || least == "operator") << route.path;
    for (const auto& caller : kCallers) {
      ++asked;
      auto answer = matrix.ask(route, "acme", caller);
      answer.headers.erase("date");
      EXPECT_EQ(answer.status, expected(least, is_in_org, caller, "acme"))
          << route.method << " " << route.path << " by \"" << caller.token << "\"";
      if (answer.status == 200 && least != "none") {
        EXPECT_EQ(answer.body, caller.org) << route.path;
      }
      if (!is_in_org) continue;
      auto unknown = matrix.ask(route, "nowhere", caller);
      unknown.headers.erase("date");
      EXPECT_EQ(unknown.status, expected(least, true, caller, "nowhere")) << route.path << " by " << caller.token;
      if (answer.status != 404) continue;
      EXPECT_EQ(unknown.body, answer.body) << route.path << ": whether an organisation exists is nobody else's";
      EXPECT_EQ(unknown.headers, answer.headers) << route.path;
    }
  }
  EXPECT_GT(asked, 200);
}

}  // namespace
}  // namespace waybill
