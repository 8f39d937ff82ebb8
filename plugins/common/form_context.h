// A form's submission as the host hands it to the plugins that write about it.
#pragma once

#include <vector>

#include "common/calendar.h"
#include "common/exact_numbers.h"
#include "common/json.h"
#include "common/surrogates.h"
#include "common/text.h"

namespace waybill::plugins {

struct Attachment {
  std::string name;
  std::string content_type;
  std::string object_uri;
  std::int64_t size = 0;
};

struct Form {
  Json data;  // all of the context: what templates see
  std::string reference;
  std::string name;
  std::optional<std::int64_t> kept_until;  // when the submission and its attachments go, in seconds since 1970
  std::vector<Attachment> attachments;
};

// A field that must be text if it is there.
inline bool read_text(const Json& object, const char* name, std::string& out, std::string& problem) {
  const auto* value = field(object, name);
  if (!value) return true;
  if (!value->is_string()) return problem = std::string("has a ") + name + " that is not text", false;
  out = value->get<std::string>();
  return true;
}

inline bool read_attachments(const Json& context, std::vector<Attachment>& out, std::string& problem) {
  const auto* list = field(context, "attachments");
  if (!list) return true;
  if (!list->is_array()) return problem = "has attachments that are no list", false;
  for (const auto& one : *list) {
    Attachment attachment;
    if (!one.is_object()) return problem = "has an attachment that is no object", false;
    if (!read_text(one, "name", attachment.name, problem) || !read_text(one, "contentType", attachment.content_type, problem) ||
        !read_text(one, "objectUri", attachment.object_uri, problem))
      return problem = "has an attachment that " + problem, false;
    if (attachment.object_uri.empty()) return problem = "has an attachment without objectUri", false;
    if (const auto* size = field(one, "size"); size && size->is_number_integer()) attachment.size = size->get<std::int64_t>();
    out.push_back(std::move(attachment));
  }
  return true;
}

// None if it is malformed, and `problem` ends the sentence "the submission ...". `payload` has the fields, if the context has
// none.
inline std::optional<Form> read_form(std::string_view context, std::string_view payload, std::string& problem) {
  auto data = parse_object(with_exact_numbers(without_lone_surrogates(context)), problem);
  if (!data) return std::nullopt;
  Form form;
  if (!read_text(*data, "reference", form.reference, problem)) return std::nullopt;
  if (form.reference.empty()) return problem = "has no reference", std::nullopt;
  if (const auto* about = field(*data, "form")) {
    if (!about->is_object()) return problem = "has a form that is no object", std::nullopt;
    if (!read_text(*about, "id", form.name, problem) || !read_text(*about, "name", form.name, problem)) return std::nullopt;
  }
  std::string kept_until;
  if (!read_text(*data, "retentionExpiresAt", kept_until, problem)) return std::nullopt;
  form.kept_until = parse_rfc3339(kept_until);
  if (!kept_until.empty() && !form.kept_until) return problem = "has a retentionExpiresAt that is no time", std::nullopt;
  if (!read_attachments(*data, form.attachments, problem)) return std::nullopt;

  std::string ignored;
  if (!field(*data, "fields"))
    if (auto fields = parse_object(with_exact_numbers(without_lone_surrogates(payload)), ignored))
      (*data)["fields"] = std::move(*fields);
  form.data = std::move(*data);
  return form;
}

}  // namespace waybill::plugins
