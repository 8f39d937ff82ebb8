// The verdicts that HTTP destinations share, for a protocol that has nothing better to say than its status.
#pragma once

#include "waybill/plugin/services.hpp"

namespace waybill::plugin {

// The reason of an attempt that got no answer.
inline std::string_view word_for(NetError error) {
  switch (error) {
    case NetError::resolve:
      return "resolve_failed";
    case NetError::connect:
      return "connect_failed";
    case NetError::tls:
      return "tls_failed";
    case NetError::timeout:
      return "timeout";
    case NetError::refused:
      return "refused_by_host";
    case NetError::cancelled:
      return "cancelled";
    case NetError::none:
    case NetError::broken:
      break;
  }
  return "connection_broken";
}

// True when nothing could be sent: there was no connection to send it on.
inline bool out_of_reach(NetError error, Reach reach) {
  return reach == Reach::not_sent && error != NetError::none && error != NetError::refused && error != NetError::cancelled;
}

// Answers that any other delivery would get as well: bad credentials, too many requests, out of service, and a proxy that gets
// no good answer from the service behind it. 500 is not among them: one delivery may cause it. The host watches how many do.
inline bool blames_target(int status) {
  return status == 401 || status == 403 || status == 429 || (status >= 502 && status <= 504);
}

// No answer: transient, with the reach that the host worked out; without a connection the whole target cools down. 2xx: accepted.
// 401, 403, 429, 502, 503, 504: transient, and the whole target cools down, at least as long as the destination says. Other 4xx
// but 408 and 425: rejected as `refused`, which the action must declare. The rest, redirects included: transient, not sooner than
// the destination asks.
inline Outcome judge(const Response& response, std::string_view refused) {
  if (response.error != NetError::none)
    return Outcome::transient(word_for(response.error))
        .reach(response.reach)
        .scope(out_of_reach(response.error, response.reach) ? Scope::whole_target : Scope::this_job)
        .detail(std::string(response.error_text));
  const int status = response.status;
  const auto said = [&](Outcome outcome) {
    outcome.reach(response.reach).code(status);
    if (blames_target(status)) outcome.scope(Scope::whole_target);
    return status / 100 == 2 ? outcome : outcome.retry_after(response.retry_after).detail("status " + std::to_string(status));
  };
  if (status / 100 == 2) return said(Outcome::accepted());
  if (status == 401 || status == 403) return said(Outcome::transient("unauthorized"));
  if (status == 408 || status == 425 || status == 429) return said(Outcome::transient("try_later"));
  if (status / 100 == 4) return said(Outcome::rejected(refused));
  return said(Outcome::transient(status / 100 == 5 ? "server_error" : "invalid_answer"));
}

}  // namespace waybill::plugin
