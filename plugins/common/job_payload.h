// Fields of a job that its sender reads itself, written by the stage before it or by a client.
#pragma once

#include <initializer_list>

#include "common/json.h"
#include "common/surrogates.h"

namespace waybill::plugins {

// The first of these names that has text; "" if none has. Null counts as absent; `problem` ends the sentence "the payload ...".
inline std::string text_of(const Json& object, std::initializer_list<const char*> names, std::string& problem) {
  for (const auto* name : names) {
    const auto* value = field(object, name);
    if (!value) continue;
    if (value->is_string()) return value->get<std::string>();
    problem = std::string("has a field ") + name + " that is not text";
  }
  return {};
}

// What people search by: the job's own reference, else that of its metadata, else the submission's.
inline std::string reference_of(const Json& job, std::string_view context, std::string& problem) {
  auto reference = text_of(job, {"reference"}, problem);
  const auto* metadata = field(job, "metadata");
  if (reference.empty() && metadata && metadata->is_object()) reference = text_of(*metadata, {"reference"}, problem);
  if (!reference.empty()) return reference;
  std::string ignored;
  const auto known = parse_object(without_lone_surrogates(context), ignored);
  return known ? text_of(*known, {"reference"}, ignored) : reference;
}

}  // namespace waybill::plugins
