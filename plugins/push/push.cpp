// Action type push: submits one push notification to a normalised push gateway.
#include "common/gateway.h"

namespace {
using namespace waybill::plugins;
namespace wp = waybill::plugin;

struct Push {
  static constexpr const char* kPath = "/push/send";
  static constexpr wb_reason kReasons[] = {wp::permanent("invalid_request"), wp::duplicate("duplicate_reference"),
                                           wp::reason("provider_failure"), wp::permanent("unregistered_token")};

  static void fill(const Json& payload, Json& request, std::string& problem) {
    for (const auto* name : {"token", "title", "body"}) copy_string(payload, name, request, problem);
    copy_object(payload, "data", request, problem);
    if (!problem.empty()) return;
    if (!has_text(request, "token"))
      problem = "has no field token";
    else if (!has_text(request, "title") && !has_text(request, "body") && !field(request, "data"))
      problem = "has none of title, body and data";
  }
};

// What fill() can only refuse.
constexpr std::string_view kPayload =
    R"({"type":"object","required":["token"],"properties":{)"
    R"("token":{"type":"string","minLength":1},"title":{"type":["string","null"]},"body":{"type":["string","null"]},)"
    R"("data":{"type":["object","null"]},"tenantId":{"type":["string","null"]}},)"
    R"("anyOf":[{"required":["title"],"properties":{"title":{"type":"string","minLength":1}}},)"
    R"({"required":["body"],"properties":{"body":{"type":"string","minLength":1}}},)"
    R"({"required":["data"],"properties":{"data":{"type":"object"}}}]})";

constexpr auto kPush = wp::action<GatewaySender<Push>>("push")
                           .settings_schema(kTimeoutSettings)
                           .destination_schema(kGatewayDestination)
                           .payload_schema(kPayload)
                           .reasons(Push::kReasons)
                           .validate_destination<check_gateway_destination>();
}  // namespace

WAYBILL_PLUGIN("waybill.push", "1.1.0", kPush);
