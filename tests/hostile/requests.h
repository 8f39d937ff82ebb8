// Requests that mean no good, made from a seed: each part of a message in the forms that proxies, tools and attackers write it
// in.
#pragma once

#include <cstdint>
#include <string>

namespace waybill::testing {

struct HostileRequest {
  std::string bytes;
  bool is_ambiguous = false;  // two readers could take it differently: nothing of it may be carried out, and the connection ends
};

// The same for the same number. `own`: an intentId for an intent that may be accepted; `hidden`: one that stands in a request
// inside this one, at a place where only a wrong reader sees a request.
HostileRequest hostile_request(std::uint64_t number, const std::string& own, const std::string& hidden);

// A request like any other: an intent with this id, after which the connection ends.
std::string last_request(const std::string& intent_id);

}  // namespace waybill::testing
