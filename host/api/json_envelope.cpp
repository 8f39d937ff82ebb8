// Reading intents, and what a reference may be.
#include "api/json_envelope.h"

#include <algorithm>

#include "base/utf8.h"

namespace waybill {

bool has_ascii_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string reference_fault(std::string_view field, std::string_view reference) {
  const std::string name(field);
  if (reference.empty()) return name + " must not be empty";
  if (reference.size() > kMaxReferenceLength)
    return name + " must not be longer than " + std::to_string(kMaxReferenceLength) + " bytes";
  if (!is_clean_utf8(reference)) return name + " must be valid UTF-8 without NUL";
  if (has_ascii_control(reference)) return name + " must not hold control characters";
  return {};
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

Result<IntentRequest> read_intent(std::string_view body) {
  const auto object = JsonObject::parse(body, {"intentId", "submissionTarget", "payload"});
  TRY(object);
  auto id = read_reference(*object, "intentId");
  TRY(id);
  auto target = read_reference(*object, "submissionTarget");
  TRY(target);
  return IntentRequest{std::move(*id), std::move(*target), std::string(object->raw("payload"))};
}

}  // namespace waybill
