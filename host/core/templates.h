// The registry's templates: a subject, a text and an HTML part, each mustache, filled with a JSON object.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/mustache.h"
#include "core/problem.h"

namespace waybill {

struct TemplateParts {
  std::optional<std::string> subject;
  std::optional<std::string> text;
  std::optional<std::string> html;
  bool operator==(const TemplateParts&) const = default;
};

// Immutable; rendering is safe from any thread.
class Template {
 public:
  // A problem's field is the part ("subject", "text", "html") and its line counts within it. One problem a part.
  static tl::expected<Template, Problems> compile(const TemplateParts& source);

  // Values are escaped in the HTML part, unless written {{{x}}} or {{&x}}, and nowhere else. A subject is one line.
  // Error::invalid when the data is no JSON object or a limit of mustache.h is met; it names the part.
  Result<TemplateParts> render(std::string_view data) const;

 private:
  Template() = default;

  std::optional<Mustache> subject_;
  std::optional<Mustache> text_;
  std::optional<Mustache> html_;
};

// By id. Immutable; safe from any thread.
class Templates {
 public:
  Templates() = default;
  explicit Templates(std::map<std::string, Template, std::less<>> by_id) : by_id_(std::move(by_id)) {}
  const Template* find(std::string_view id) const;  // null if unknown

 private:
  std::map<std::string, Template, std::less<>> by_id_;
};

// A template that is used once, such as a destination's subject. Nothing is escaped.
Result<std::string> render_text(std::string_view source, std::string_view data);

// Runs of control characters and line separators as one space, no blanks at the ends: fit for one line of a header.
std::string one_line(std::string_view text);

}  // namespace waybill
