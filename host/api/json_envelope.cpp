// Reading intents, and what a reference may be.
#include "api/json_envelope.h"

#include <utility>

#include "api/query.h"
#include "base/json_reader.h"
#include "base/names.h"
#include "base/utf8.h"

namespace waybill {

std::string reference_fault(std::string_view field, std::string_view reference) {
  const std::string name(field);
  if (reference.empty()) return name + " must not be empty";
  if (reference.size() > kMaxReferenceLength)
    return name + " must not be longer than " + std::to_string(kMaxReferenceLength) + " bytes";
  if (!is_clean_utf8(reference)) return name + " must be valid UTF-8 without NUL";
  if (has_control_character(reference)) return name + " must not hold control characters";
  return {};
}

Result<void> check_names(std::string_view field, std::string_view raw) {
  if (const auto good = check_names(raw); !good) return fail(Error::Kind::invalid, std::string(field) + ": " + good.error().what);
  return {};
}

http::Route without_fields(http::Route route) {
  route.handle = [act = std::move(route.handle)](http::Request request, http::Reply reply) {
    if (!request.body.empty())
      if (const auto object = JsonObject::parse(request.body, {}); !object)
        return reply(http::invalid_request(object.error().what));
    act(std::move(request), std::move(reply));
  };
  return route;
}

Result<bool> read_flag(const JsonObject& object, std::string_view field) {
  const auto raw = object.raw(field);
  if (!raw.empty() && raw != "true" && raw != "false")
    return fail(Error::Kind::invalid, std::string(field) + " must be true or false");
  return raw == "true";
}

Result<std::string> read_reference(const JsonObject& object, std::string_view field) {
  auto text = object.string(field);
  if (!text) return text;
  if (auto fault = reference_fault(field, *text); !fault.empty()) return fail(Error::Kind::invalid, fault);
  return text;
}

namespace {

// Text that is no trace is ignored, as it is in the headers of these names.
Result<Trace> read_trace(const JsonObject& object) {
  std::string parent, state;
  for (const auto& [field, value] : {std::pair{"traceparent", &parent}, std::pair{"tracestate", &state}}) {
    if (!object.has(field)) continue;
    auto text = object.string(field);
    TRY(text);
    *value = std::move(*text);
  }
  return trace_of(parent, state);
}

}  // namespace

Result<Terms> read_terms(const JsonObject& object) {
  SubmissionTerms terms;
  for (const auto& [field, time] : {std::pair{"notBefore", &terms.not_before}, std::pair{"expiresAt", &terms.expires}}) {
    if (!object.has(field)) continue;
    const auto text = object.string(field);
    TRY(text);
    const auto read = parse_rfc3339_micros(*text);  // with its fraction: nothing is sent a part of a second too early
    if (!read) return fail(Error::Kind::invalid, time_fault(field));
    *time = *read;
  }
  if (terms.not_before && terms.expires && *terms.expires <= *terms.not_before)
    return fail(Error::Kind::invalid, "expiresAt must be later than notBefore");
  return terms_of(std::move(terms));
}

Result<IntentRequest> read_intent(std::string_view body) {
  const auto object =
      JsonObject::parse(body, {"intentId", "submissionTarget", "payload", "traceparent", "tracestate", "notBefore", "expiresAt"});
  TRY(object);
  auto id = read_reference(*object, "intentId");
  TRY(id);
  auto target = read_reference(*object, "submissionTarget");
  TRY(target);
  auto trace = read_trace(*object);
  TRY(trace);
  auto terms = read_terms(*object);
  TRY(terms);
  return IntentRequest{std::move(*id), std::move(*target), std::string(object->raw("payload")), std::move(*trace),
                       std::move(*terms)};
}

}  // namespace waybill
