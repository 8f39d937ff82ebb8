// Reading and writing the surface of dead letters.
#include "api/dead_json.h"

#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/json_envelope.h"
#include "api/query.h"
#include "base/names.h"
#include "base/utf8.h"
#include "domain/form.h"

namespace waybill {
namespace {

tl::unexpected<Error> invalid(const std::string& message) { return fail(Error::Kind::invalid, message); }

// One of a filter's texts into its place.
Result<void> set_field(DeadFilter& filter, std::string_view field, const std::string& text) {
  if (field == "before" || field == "after") {
    const auto time = read_time(field, text);
    TRY(time);
    (field == "before" ? filter.before : filter.after) = *time;
  } else if (auto fault = reference_fault(field, text); !fault.empty()) {
    return invalid(fault);
  } else {
    (field == "reference" ? filter.reference : field == "formId" ? filter.form_id : filter.reason) = text;
  }
  return {};
}
constexpr std::string_view kFlags[] = {"true", "false"};
constexpr const char* kFilterFields[] = {"reference", "formId", "reason", "before", "after"};

Json letter_json(const DeadLetter& letter, const PublicIds& ids) {
  Json edited = Json::array();
  if (letter.fields_edited) edited.push_back("fields");
  if (letter.destination_edited) edited.push_back("destination");
  return {{"id", ids.text(letter.id.value)},
          {"kind", letter.kind},
          {"reference", letter.reference},
          {letter.kind == "form"       ? "formId"
           : letter.kind == "pipeline" ? "pipeline"
                                       : "submissionTarget",
           letter.target},
          {"actionOrder", letter.action_order},
          {"actionType", letter.action_type},
          {"reason", letter.reason},
          {"diedAt", format_rfc3339(letter.died)},
          {"edited", std::move(edited)},
          {"replayedAt", time_or_null(letter.replayed)},
          {"replayedBy", text_or_null(letter.replayed_by)},
          {"replayId", letter.replayed ? Json(ids.text(letter.replay.value)) : Json(nullptr)}};
}

Json edit_json(const EditRecord& edit, const PublicIds& ids) {
  return {{"editId", ids.text(edit.id)},
          {"editedAt", format_rfc3339(edit.edited)},
          {"actor", edit.actor},
          {"field", edit.field},
          {"before", edited_json(edit.field, edit.before)},
          {"after", edited_json(edit.field, edit.after)}};
}

Json item_json(const ReplayItem& item, bool dry_run, const PublicIds& ids) {
  Json json{{"id", ids.text(item.letter.id.value)},
            {"reference", text_or_null(item.letter.reference)},
            {"actionOrder", item.letter.action_order},
            {"outcome", !item.refused.empty() ? "refused"
                        : dry_run             ? "would_be_replayed"
                                              : "replayed"}};
  if (!item.refused.empty()) {
    json["why"] = item.refused;
  } else if (!dry_run) {
    json["replayId"] = ids.text(item.replay.value);
    json["dueAt"] = format_rfc3339(item.due);
  }
  return json;
}

}  // namespace

Result<DeadQuery> read_dead_query(const http::Request& request, const PublicIds& ids) {
  DeadQuery query;
  for (const auto* field : {"reference", "formId", "reason"})
    if (const auto text = given(request, field)) TRY(set_field(query.filter, field, *text));
  for (const auto* field : {"before", "after"})
    if (const auto text = request.query_value(field)) TRY(set_field(query.filter, field, *text));
  if (const auto text = request.query_value("id")) {
    const auto id = delivery_id(*text, ids);
    if (!id) return invalid("id must be that of a dead letter");
    query.filter.ids = {*id};
  }
  const auto replayed = word_in(request, "replayed", kFlags);
  TRY(replayed);
  if (*replayed) query.filter.replayed = **replayed == "true";
  TRY(read_page(request, query, kMaxListed, ids));
  return query;
}

std::string edit_fault(const DeadLetterEdit& edit) {
  if (!edit.fields && !edit.destination) return "fields or destination is missing: nothing is to be changed";
  if (edit.fields) {
    if (const auto names = check_names("fields", *edit.fields); !names) return names.error().what;
    if (edit.fields->find_first_not_of(" \t\r\n") != edit.fields->find('{')) return "fields must be a JSON object";
  }
  const auto& text = edit.destination;
  if (text && (text->empty() || text->size() > kMaxTextLength || has_control_character(*text) || !is_clean_utf8(*text)))
    return "destination must be 1 to " + std::to_string(kMaxTextLength) + " bytes of UTF-8 without control characters";
  return {};
}

Result<DeadLetterEdit> read_edit(std::string_view body) {
  const auto object = JsonObject::parse(body, {"fields", "destination"});
  TRY(object);
  DeadLetterEdit edit;
  if (object->has("fields")) edit.fields = std::string(object->raw("fields"));
  if (object->has("destination")) {
    auto text = object->string("destination");
    TRY(text);
    edit.destination = std::move(*text);
  }
  if (auto fault = edit_fault(edit); !fault.empty()) return invalid(fault);
  return edit;
}

Result<bool> read_dry_run(std::string_view body) {
  const auto object = JsonObject::parse(body.empty() ? "{}" : body, {"dryRun"});
  TRY(object);
  return read_flag(*object, "dryRun");
}

Result<ReplayRequest> read_bulk_replay(std::string_view body) {
  const auto object = JsonObject::parse(body, {"reference", "formId", "reason", "before", "after", "dryRun"});
  TRY(object);
  ReplayRequest request;
  for (const auto* field : kFilterFields) {
    if (!object->has(field)) continue;
    auto text = object->string(field);
    TRY(text);
    TRY(set_field(request.filter, field, *text));
  }
  if (!request.filter.any())
    return invalid("at least one of reference, formId, reason, before and after is needed: say which letters are meant");
  auto dry_run = read_flag(*object, "dryRun");
  TRY(dry_run);
  request.dry_run = *dry_run;
  return request;
}

Result<std::string> read_new_reference(std::string_view body) {
  const auto object = JsonObject::parse(body, {"submissionId", "reference"});
  TRY(object);
  if (object->has("submissionId") && object->has("reference"))
    return invalid("submissionId and reference are the same: give one");
  return read_reference(*object, object->has("reference") ? "reference" : "submissionId");
}

std::string dead_page_json(const DeadPage& page, const PublicIds& ids) {
  Json letters = Json::array();
  for (const auto& letter : page.letters) letters.push_back(letter_json(letter, ids));
  Json next = nullptr;
  if (page.next) next = cursor_text(*page.next, ids);
  return dump({{"deadLetters", std::move(letters)}, {"next", std::move(next)}});
}

std::string dead_letter_json(const DeadLetterView& view, const PublicIds& ids) {
  Json json = letter_json(view.letter, ids);
  json["status"] = view.state;
  if (view.letter.kind == "form")
    json["fields"] = json_or_null(fields_of(view.payload).value_or(""));
  else
    json["payload"] = json_or_null(view.payload);
  json["destination"] = json_or_null(view.destination);
  json["result"] = json_or_null(view.result);
  Json edits = Json::array();
  for (const auto& edit : view.edits) edits.push_back(edit_json(edit, ids));
  json["attempts"] = attempts_json(view.attempts);
  json["edits"] = std::move(edits);
  return dump(json);
}

std::string replays_json(const Replays& replays, bool dry_run, const PublicIds& ids) {
  Json items = Json::array();
  for (const auto& item : replays.items) items.push_back(item_json(item, dry_run, ids));
  Json json{{"dryRun", dry_run}, {"count", replays.count}, {"more", replays.more}, {"items", std::move(items)}};
  if (replays.next) json["next"] = cursor_text(*replays.next, ids);
  return dump(json);
}

std::string cloned_json(const CloneResult& cloned) {
  return dump({{cloned.kind == "form" ? "submissionId" : "intentId", cloned.reference}, {"status", cloned.state}});
}

}  // namespace waybill
