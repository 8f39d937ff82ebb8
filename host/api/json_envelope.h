// The request bodies of the JSON routes, read strictly: what is unknown, doubled or of the wrong kind is refused by name.
#pragma once

#include <string>
#include <string_view>

#include "api/json_object.h"
#include "base/error.h"
#include "base/trace_context.h"
#include "domain/submission_terms.h"
#include "http/http.h"

namespace waybill {

inline constexpr std::size_t kMaxReferenceLength = 255;  // bytes

struct IntentRequest {
  std::string intent_id;
  std::string target;
  std::string payload;  // the very bytes of the value, "" if there was none
  Trace trace{};        // that it brings itself; null: that of its request
  Terms terms{};
};

// Error::invalid with a message for the client.
Result<IntentRequest> read_intent(std::string_view body);

// The members `notBefore` and `expiresAt`.
Result<Terms> read_terms(const JsonObject& object);

// Why a client reference cannot be one, or "" if it can: 1 to 255 bytes of UTF-8 without control characters.
std::string reference_fault(std::string_view field, std::string_view reference);
// Error::invalid, beginning with the field, if an object at any depth of this JSON value has two members of one name.
Result<void> check_names(std::string_view field, std::string_view raw);
// The route as one that reads no fields: anything but an empty body and an empty object is refused.
http::Route without_fields(http::Route route);
// A member that must be true or false; false if it is missing.
Result<bool> read_flag(const JsonObject& object, std::string_view field);
// A member that must be a client reference.
Result<std::string> read_reference(const JsonObject& object, std::string_view field);

}  // namespace waybill
