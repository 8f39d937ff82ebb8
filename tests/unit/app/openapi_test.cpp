// docs/openapi.yaml describes the route table, all of it and nothing else.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "app/routes.h"
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
  Waiters waiters{pool, clock};
  Intake intake{{}, clock, {}, {}, log};

  std::vector<Route> routes() {
    return all_routes({.intents = {intake, registry, pool, waiters, clock, log, metrics},
                       .forms = {registry, types, forms, [] {}, log, metrics},
                       .reload = [](FormStore&, const std::string&) { return ReloadResult{}; },
                       .not_ready = [] { return std::string(); }});
  }
};

// M1 M3 M14 M15
TEST(OpenApi, DescribesEveryRouteAndNoOther) {
  Parts parts;
  Names served;
  for (const auto& route : parts.routes()) served.insert(route.method + " " + route.path);
  EXPECT_EQ(described(), served);
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
    EXPECT_EQ(open, route.least_role == Role::none) << route.method << " " << route.path;
  }
}

}  // namespace
}  // namespace waybill
