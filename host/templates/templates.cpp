// The three parts of a template and their rules.
#include "templates/templates.h"

#include <algorithm>

#include "base/utf8.h"

namespace waybill {
namespace {

using Escape = Mustache::Escape;

// Those of ASCII and Latin-1, and U+2028 and U+2029.
bool is_control(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  return character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9";
}

Result<std::optional<std::string>> render_part(const char* name, const std::optional<Mustache>& part, const TemplateData& data,
                                               Escape escape) {
  if (!part) return std::optional<std::string>();
  auto rendered = part->render(data, escape);
  if (!rendered) return fail(rendered.error().kind, std::string(name) + ": " + rendered.error().what);
  return std::optional(std::move(*rendered));
}

}  // namespace

tl::expected<Template, Problems> Template::compile(const TemplateParts& source) {
  Template compiled;
  Problems problems;
  const auto take = [&](const char* name, const std::optional<std::string>& text, std::optional<Mustache>& part) {
    if (!text) return;
    auto mustache = Mustache::compile(*text);
    if (mustache) {
      part = std::move(*mustache);
    } else {
      mustache.error().field = name;
      problems.push_back(std::move(mustache.error()));
    }
  };
  take("subject", source.subject, compiled.subject_);
  take("text", source.text, compiled.text_);
  take("html", source.html, compiled.html_);
  if (!source.subject && !source.text && !source.html)
    problems.push_back({"", 0, "", "a template needs a part: subject, text or html"});
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return compiled;
}

Result<TemplateParts> Template::render(std::string_view data) const {
  const auto parsed = parse_template_data(data);
  TRY(parsed);
  auto subject = render_part("subject", subject_, *parsed, Escape::none);
  TRY(subject);
  auto text = render_part("text", text_, *parsed, Escape::none);
  TRY(text);
  auto html = render_part("html", html_, *parsed, Escape::html);
  TRY(html);
  if (*subject) **subject = one_line(**subject);
  return TemplateParts{std::move(*subject), std::move(*text), std::move(*html)};
}

const Template* Templates::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

Result<std::string> render_text(std::string_view source, std::string_view data) {
  const auto mustache = Mustache::compile(source);
  if (!mustache) return fail(Error::Kind::invalid, "template: " + to_string(mustache.error()));
  const auto parsed = parse_template_data(data);
  TRY(parsed);
  return mustache->render(*parsed, Escape::none);
}

std::string one_line(std::string_view text) {
  std::string line;
  bool control = false;
  while (!text.empty()) {
    const auto character = text.substr(0, std::max<std::size_t>(utf8_character_length(text), 1));
    text.remove_prefix(character.size());
    if (is_control(character)) {
      control = true;
      continue;
    }
    if (control) line += ' ';
    control = false;
    line += character;
  }
  line.erase(0, line.find_first_not_of(' '));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace waybill
