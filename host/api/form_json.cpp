// Reading and writing the form surface.
#include "api/form_json.h"

#include <nlohmann/json.hpp>
#include <set>

#include "api/json_answer.h"
#include "api/json_envelope.h"
#include "api/query.h"
#include "base/json_reader.h"
#include "base/names.h"
#include "domain/object_uri.h"

namespace waybill {
namespace {

// One of the list's entries; a fault ends a sentence that begins with its place.
std::string read_attachment(const Json& json, NewAttachment& out) {
  if (!json.is_object()) return " must be an object";
  for (const auto& [name, value] : json.items())
    if (name != "attachmentId" && name != "name" && name != "contentType" && name != "size" && name != "objectUri")
      return " has an unknown field \"" + name + "\"";
  const std::pair<const char*, std::string*> texts[] = {
      {"attachmentId", &out.id}, {"name", &out.name}, {"contentType", &out.content_type}, {"objectUri", &out.object_uri}};
  for (const auto& [name, text] : texts) {
    const auto found = json.find(name);
    if (found == json.end()) return std::string(".") + name + " is missing";
    if (!found->is_string()) return std::string(".") + name + " must be a string";
    *text = found->get<std::string>();
    if (name == texts[3].first) continue;  // an object's name may be long
    if (auto fault = reference_fault(name, *text); !fault.empty()) return "." + fault;
  }
  // No object's name has control characters; what else could not be linked to is refused here, not when a mail is written.
  const bool is_clean = out.object_uri.size() <= 2048 && !has_control_character(out.object_uri);
  if (const auto object = parse_gcs_uri(out.object_uri); !object || !is_clean)
    return ".objectUri must be gs://BUCKET/OBJECT, 2048 bytes at most and no control characters" +
           (object ? std::string() : " (" + object.error().what + ")");
  const auto size = json.find("size");
  if (size == json.end()) return ".size is missing";
  constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 53;
  const auto written = number_text(*size);
  const bool is_whole = size->is_number_unsigned() || (written && written->find_first_not_of("0123456789") == std::string::npos);
  if (!is_whole) return ".size must be a whole number of bytes";
  if (!size->is_number_unsigned() || size->get<std::uint64_t>() > kMaxSize)
    return ".size is out of range: at most " + std::to_string(kMaxSize) + " bytes";
  out.size = size->get<std::int64_t>();
  return {};
}

Result<std::vector<NewAttachment>> read_attachments(std::string_view raw) {
  const auto read = read_json(raw);
  if (!read) return fail(Error::Kind::invalid, "attachments: " + read.error().what);
  const auto& json = *read;
  if (!json.is_array()) return fail(Error::Kind::invalid, "attachments must be an array");
  if (json.size() > kMaxAttachments)
    return fail(Error::Kind::invalid, "attachments must not be more than " + std::to_string(kMaxAttachments));
  std::vector<NewAttachment> attachments(json.size());
  std::set<std::string> ids;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string place = "attachments[" + std::to_string(i) + "]";
    if (auto fault = read_attachment(json[i], attachments[i]); !fault.empty()) return fail(Error::Kind::invalid, place + fault);
    if (!ids.insert(attachments[i].id).second)
      return fail(Error::Kind::invalid, place + ".attachmentId \"" + attachments[i].id + "\" stands twice");
  }
  return attachments;
}

// The status words of the routing result: an action that has not ended is pending.
std::string_view routing_word(Status status) { return is_end(status) ? to_string(status) : "pending"; }

Json delivery_json(const FormDeliveryView& d) {
  Json json{{"actionOrder", d.action_order}};
  append_delivery(json, d);
  json["history"] = attempts_json(d.history);
  return json;
}

}  // namespace

Result<NewForm> read_form_request(std::string_view body) {
  const auto object = JsonObject::parse(
      body, {"submissionId", "formId", "fields", "attachments", "retentionExpiresAt", "finalize", "notBefore", "expiresAt"});
  TRY(object);
  NewForm request;
  for (const auto& [field, text] : {std::pair{"submissionId", &request.submission_id}, std::pair{"formId", &request.form_id}}) {
    auto reference = read_reference(*object, field);
    TRY(reference);
    *text = std::move(*reference);
  }
  request.fields = object->raw("fields");
  if (request.fields.empty()) return fail(Error::Kind::invalid, "fields is missing");
  if (request.fields.front() != '{') return fail(Error::Kind::invalid, "fields must be an object");
  TRY(check_names("fields", request.fields));
  request.attachments_json = object->has("attachments") ? std::string(object->raw("attachments")) : "[]";
  auto attachments = read_attachments(request.attachments_json);
  TRY(attachments);
  request.attachments = std::move(*attachments);
  if (object->has("retentionExpiresAt")) {
    auto text = object->string("retentionExpiresAt");
    TRY(text);
    const auto kept_until = read_time("retentionExpiresAt", *text);
    TRY(kept_until);
    request.kept_until = *kept_until;
  }
  const auto finalize = read_flag(*object, "finalize");
  TRY(finalize);
  request.finalize = *finalize;
  auto terms = read_terms(*object);
  TRY(terms);
  request.terms = std::move(*terms);
  return request;
}

Result<Scan> read_scan_result(std::string_view body) {
  const auto object = JsonObject::parse(body, {"clamavStatus"});
  TRY(object);
  auto word = object->string("clamavStatus");
  TRY(word);
  if (*word == "clean") return Scan::clean;
  if (*word == "infected") return Scan::infected;
  return fail(Error::Kind::invalid, "clamavStatus must be clean or infected");
}

std::string form_state_json(const FormState& state) {
  return dump({{"submissionId", state.client_ref}, {"status", state.state}});
}

std::string form_view_json(const FormView& view) {
  const SubmissionView& s = view.submission;
  Json json{{"submissionId", s.client_ref},
            {"formId", s.target},
            {"status", s.state},
            {"createdAt", format_rfc3339(s.created)},
            {"finalizedAt", time_or_null(view.finalized)},
            {"completedAt", time_or_null(s.completed)},
            {"retentionExpiresAt", time_or_null(view.kept_until)},
            {"reason", text_or_null(s.reason)}};
  append_terms(json, s.terms);
  Json routing = Json::object(), deliveries = Json::array(), attachments = Json::array(), audit = Json::array();
  for (const auto& d : view.deliveries) {  // the last replay of an action is what counts
    routing[std::to_string(d.action_order)] = {{"actionType", d.action_type},
                                               {"status", routing_word(d.status)},
                                               {"reason", text_or_null(d.reason)},
                                               {"attempts", d.attempts}};
    if (!d.status_field.empty()) json[d.status_field] = routing_word(d.status);
    if (!d.ref_field.empty()) json[d.ref_field] = text_or_null(d.provider_ref);
    deliveries.push_back(delivery_json(d));
  }
  for (const auto& a : view.attachments)
    attachments.push_back({{"attachmentId", a.id},
                           {"name", a.name},
                           {"contentType", a.content_type},
                           {"size", a.size},
                           {"clamavStatus", a.scan},
                           {"scannedAt", time_or_null(a.scanned)}});
  for (const auto& a : view.audit) audit.push_back(audit_json(a));
  json["routingResult"] = std::move(routing);
  json["attachments"] = std::move(attachments);
  json["deliveries"] = std::move(deliveries);
  json["audit"] = std::move(audit);
  return dump(json);
}

}  // namespace waybill
