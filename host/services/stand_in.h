// What answers in place of the network: in a simulation nothing leaves the machine.
#pragma once

#include <functional>

#include "services/http_message.h"
#include "services/smtp_message.h"

namespace waybill {

// Called on the strand that asks. Secrets stand in a request as their names, as the plugin wrote them.
struct StandIn {
  std::function<HttpResponse(const HttpRequest&)> http;
  std::function<SmtpReply(const SmtpMessage&)> mail;
};

}  // namespace waybill
