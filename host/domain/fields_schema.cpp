// The schema of a form's fields, and its findings as sentences.
#include "domain/fields_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bounded_check.h"
#include "base/json_document.h"
#include "base/json_reader.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxNamed = 3;

std::string sentence_of(const Problem& problem) {
  const auto path = field_below("fields", problem.field);
  auto words = problem.message;
  while (words.ends_with('.')) words.pop_back();
  return path + ": " + words;
}

std::string sentence_of(const Problems& problems) {
  std::string all;
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxNamed); ++i)
    all += (all.empty() ? "" : "; ") + sentence_of(problems[i]);
  return all;
}

}  // namespace

Result<FieldsSchema> FieldsSchema::compile(std::string_view json) {
  const auto read = read_sorted_json(json);
  if (!read) return fail(Error::Kind::invalid, read.error().what);
  FieldsSchema schema;
  schema.text_ = dump_sorted(*read);
  auto check = BoundedCheck::compile(schema.text_);
  TRY(check);
  schema.check_ = std::make_shared<const BoundedCheck>(std::move(*check));
  return schema;
}

std::string FieldsSchema::fault_in(std::string_view fields) const {
  return check_ ? sentence_of(check_->check(std::string(fields))) : "";
}

}  // namespace waybill
