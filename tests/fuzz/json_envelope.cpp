// Request bodies: both JSON parsers see the same members, and an intent that was read can be written and read again.
#include "api/json_envelope.h"

#include "api/form_json.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"

namespace waybill::fuzz {
namespace {

void both_ways(std::string_view body) {
  static constexpr JsonObject::Fields kFields = {"intentId", "submissionTarget", "payload", "fields"};
  const auto quick = JsonObject::parse_quickly(body, {"intentId", "submissionTarget", "payload", "fields"});
  const auto thorough = JsonObject::parse_thoroughly(body, {"intentId", "submissionTarget", "payload", "fields"});
  promise(thorough || thorough.error().kind == Error::Kind::invalid, "a body is read or refused");
  promise(!quick || thorough, "the quick parser takes nothing that the thorough one refuses");
  if (!quick) return;
  for (const auto name : kFields) promise(quick->raw(name) == thorough->raw(name), "both parsers see the same members");
}

void round_trip(std::string_view body) {
  const auto intent = read_intent(body);
  if (!intent) return;
  promise(reference_fault("intentId", intent->intent_id).empty(), "an intent's id keeps the rules of references");
  std::string text = "{\"intentId\":" + json_string(intent->intent_id) + ",\"submissionTarget\":" + json_string(intent->target);
  if (!intent->payload.empty()) text += ",\"payload\":" + intent->payload;
  const auto again = read_intent(text + "}");
  promise(again && again->intent_id == intent->intent_id && again->target == intent->target && again->payload == intent->payload,
          "an intent that was read is written and read as the same");
}

void form(std::string_view body) {
  const auto request = read_form_request(body);
  if (!request) return promise(request.error().kind == Error::Kind::invalid, "a form's body is read or refused");
  promise(request->fields.front() == '{' && is_valid_utf8(request->fields), "a form's fields are an object");
  promise(request->attachments.size() <= kMaxAttachments, "a form has no more attachments than allowed");
  for (const auto& attachment : request->attachments)
    promise(attachment.size >= 0, "an attachment's size is no less than nothing");
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto body = waybill::fuzz::text_of(data, size);
  waybill::fuzz::both_ways(body);
  waybill::fuzz::round_trip(body);
  waybill::fuzz::form(body);
  return 0;
}
