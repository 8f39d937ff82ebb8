// What a template is filled with: a JSON object as a plain tree. nlohmann stays in template_data.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace waybill {

inline constexpr std::size_t kMaxTemplateDataDepth = 64;

struct TemplateData {
  enum class Kind { null, boolean, number, text, array, object };
  Kind kind = Kind::null;
  std::string text;                                         // of a text; of a boolean or a number as the JSON has it
  std::vector<TemplateData> children;                       // of an array or an object
  std::map<std::string, std::size_t, std::less<>> members;  // of an object: where in `children`

  const TemplateData* find(std::string_view name) const;  // a member of an object, or null
  // Nothing, false, an empty text and an empty array are no reason to render a section; 0 is one.
  bool is_truthy() const;
};

// A JSON object of at most kMaxTemplateDataDepth levels; else Error::invalid. Of a key that stands twice the last one holds.
Result<TemplateData> parse_template_data(std::string_view json);

// As it is rendered: a text as it is, null as nothing, everything else as JSON writes it.
std::string to_text(const TemplateData& data);

}  // namespace waybill
