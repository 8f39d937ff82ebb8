// Action type sms: submits one text message to a normalised SMS gateway.
#include "common/gateway.h"

namespace {
using namespace waybill::plugins;
namespace wp = waybill::plugin;

struct Sms {
  static constexpr const char* kPath = "/sms/send";
  static constexpr wb_reason kReasons[] = {wp::permanent("invalid_request"), wp::duplicate("duplicate_reference"),
                                           wp::permanent("invalid_recipient"), wp::permanent("invalid_message"),
                                           wp::reason("provider_failure")};

  static void fill(const Json& payload, Json& request, std::string& problem) {
    for (const auto* name : {"to", "message"}) {
      copy_string(payload, name, request, problem);
      if (problem.empty() && !has_text(request, name)) problem = std::string("has no field ") + name;
    }
  }
};

// What fill() can only refuse.
constexpr std::string_view kPayload = R"({"type":"object","required":["to","message"],"properties":{)"
                                      R"("to":{"type":"string","minLength":1},"message":{"type":"string","minLength":1},)"
                                      R"("tenantId":{"type":["string","null"]}}})";

constexpr auto kSms = wp::action<GatewaySender<Sms>>("sms")
                          .settings_schema(kTimeoutSettings)
                          .destination_schema(kGatewayDestination)
                          .payload_schema(kPayload)
                          .reasons(Sms::kReasons)
                          .validate_destination<check_gateway_destination>();
}  // namespace

WAYBILL_PLUGIN("waybill.sms", "1.1.0", kSms);
