// registry/forms/*.yaml: one form a file, checked field by field against the loaded plugins and the known templates.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/problem.h"
#include "domain/form.h"
#include "registry/time_limits.h"

namespace waybill {

// What a form may refer to.
struct FormContext {
  const ActionTypes& types;
  std::function<bool(const std::string& template_id)> has_template;
  Problems* absent = nullptr;  // an action type that no loaded plugin has is told only here, if this is set
  // A file's text, its name as the form has it. An error ends a sentence about the file.
  std::function<tl::expected<std::string, std::string>(const std::string& name)> read_file{};
  ActionLimits* limits = nullptr;  // gets one for each action with a `timeout`
};

// Each problem names `file`, line and field.
tl::expected<Form, Problems> read_form(const std::string& text, const std::string& file, const FormContext& context);

}  // namespace waybill
