// The normalised gateway protocol that sms and push share: one POST, answered by {referenceId, status, gatewayMessageId?,
// reason?}.
#pragma once

#include <span>

#include "common/http_sender.h"

namespace waybill::plugins {

inline constexpr std::string_view kGatewayDestination =
    R"({"type":"object","required":["url"],"additionalProperties":false,"properties":{)"
    R"("url":{"type":"string","minLength":1,"description":"base URL of the gateway"}}})";

// The path of the protocol is appended, so there can be nothing behind the URL's own.
void check_gateway_destination(std::string_view json, plugin::Report& report);

// A payload field that the protocol wants as a string or as an object. Absent ones are left out; a wrong type is a problem.
void copy_string(const Json& payload, const char* name, Json& request, std::string& problem);
void copy_object(const Json& payload, const char* name, Json& request, std::string& problem);

bool has_text(const Json& request, const char* name);

// What the senders of all protocols do.
class AnyGatewaySender : public HttpSender {
 public:
  void send(Call call, Job job) override;

 protected:
  using Fill = void (*)(const Json& payload, Json& request, std::string& problem);

  AnyGatewaySender(plugin::Host host, std::string_view settings, const char* path, std::span<const wb_reason> taxonomy,
                   Fill fill);

 private:
  const char* path_;
  std::span<const wb_reason> taxonomy_;
  Fill fill_;
  LastDestination<std::string> destinations_;
};

// `Protocol` has kPath, kReasons, and fill(payload, request, problem), which copies what the gateway is to get.
template <class Protocol>
class GatewaySender final : public AnyGatewaySender {
 public:
  GatewaySender(plugin::Host host, std::string_view settings)
      : AnyGatewaySender(host, settings, Protocol::kPath, Protocol::kReasons, Protocol::fill) {}
};

}  // namespace waybill::plugins
