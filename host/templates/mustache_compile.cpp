// From a template's text to nodes. Lines that hold nothing but one tag leave nothing behind.
#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "templates/mustache.h"

namespace waybill {
namespace {

using Node = Mustache::Node;
using Name = Mustache::Name;
using Kind = Node::Kind;

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string quoted(std::string_view name) {
  std::size_t shown = 0;
  while (shown < name.size() && shown < 60) shown += utf8_character_length(name.substr(shown));
  return "\"" + std::string(name.substr(0, shown)) + (shown < name.size() ? "...\"" : "\"");
}

// None if the text is no name.
std::optional<Name> parse_name(std::string_view text) {
  const auto foreign = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || c == '{' || c == '}'; };
  if (text.empty() || std::any_of(text.begin(), text.end(), foreign)) return std::nullopt;
  Name name;
  if (text.front() == '.') {
    name.here = true;
    text.remove_prefix(1);
    if (text.empty()) return name;
  }
  for (;;) {
    const auto dot = text.find('.');
    if (dot == 0 || text.empty()) return std::nullopt;
    name.parts.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return name;
    text.remove_prefix(dot + 1);
  }
}

class Compiler {
 public:
  explicit Compiler(std::string_view source) : source_(source) {}

  std::vector<Node> nodes;
  std::optional<Problem> problem;

  void run() {
    while (!problem && at_ < source_.size()) {
      const auto begin = source_.find(open_, at_);
      if (begin == std::string_view::npos) return add_text(source_.size()), finish();
      read_tag(begin);
    }
    finish();
  }

 private:
  struct Section {
    std::size_t node;
    std::size_t position;
    std::string_view name;
  };

  void refuse(std::size_t position, std::string why) {
    const auto newlines = std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(position), '\n');
    problem = Problem{"", static_cast<int>(newlines) + 1, "", std::move(why)};
  }

  void add_text(std::size_t end) {
    if (end > at_) nodes.push_back({Kind::text, std::string(source_.substr(at_, end - at_)), {}});
  }

  void read_tag(std::size_t begin) {
    auto inside = begin + open_.size();
    const bool triple = open_ == "{{" && source_.substr(inside).starts_with('{');
    if (triple) ++inside;
    const auto first = source_.find_first_not_of(" \t\r\n", inside);
    const char sign = triple ? '&' : first == std::string_view::npos ? '\0' : source_[first];
    const bool has_sign = !triple && std::string_view("#^/&!=><$").find(sign) != std::string_view::npos;
    const auto close = triple ? "}}}" : sign == '=' ? "=" + close_ : close_;
    const auto end = source_.find(close, has_sign ? first + 1 : inside);  // a delimiter may look like a sign
    if (end == std::string_view::npos) return refuse(begin, "a tag is not closed");
    const auto behind = end + close.size();
    const auto content = trimmed(source_.substr(inside, end - inside));

    if (has_sign && sign != '&' && stands_alone(begin, behind)) {
      add_text(line_start(begin));
      at_ = next_line(behind);
    } else {
      add_text(begin);
      at_ = behind;
    }
    take(begin, has_sign || triple ? sign : '\0', has_sign ? trimmed(content.substr(1)) : content);
  }

  void take(std::size_t position, char sign, std::string_view content) {
    switch (sign) {
      case '!':
        return;
      case '=':
        return set_delimiters(position, content);
      case '>':
        return refuse(position, "partials are not supported");
      case '<':
      case '$':
        return refuse(position, "parents and blocks are not supported");
      default:
        break;
    }
    auto name = parse_name(content);
    if (!name) return refuse(position, content.empty() ? "a tag has no name" : "a tag's content is no name");
    switch (sign) {
      case '/':
        return end_section(position, content);
      case '#':
      case '^':
        if (open_sections_.size() == kMaxSectionDepth)
          return refuse(position, "sections are nested more than " + std::to_string(kMaxSectionDepth) + " levels deep");
        open_sections_.push_back({nodes.size(), position, content});
        nodes.push_back({sign == '#' ? Kind::section : Kind::inverted, "", std::move(*name)});
        return;
      default:
        nodes.push_back({sign == '&' ? Kind::unescaped : Kind::variable, "", std::move(*name)});
    }
  }

  void end_section(std::size_t position, std::string_view name) {
    if (open_sections_.empty()) return refuse(position, "section " + quoted(name) + " is closed and was never opened");
    const auto& section = open_sections_.back();
    if (section.name != name) return refuse(position, "section " + quoted(name) + " is closed inside " + quoted(section.name));
    nodes[section.node].end = nodes.size();
    open_sections_.pop_back();
  }

  void set_delimiters(std::size_t position, std::string_view content) {
    const auto blank = std::find_if(content.begin(), content.end(), is_space);
    const std::string_view open(content.begin(), blank);
    const auto close = trimmed({blank, content.end()});
    const auto foreign = [](char c) { return is_space(c) || c == '='; };
    if (open.empty() || close.empty() || std::any_of(open.begin(), open.end(), foreign) ||
        std::any_of(close.begin(), close.end(), foreign))
      return refuse(position, "delimiters are set as in {{=<% %>=}}");
    open_ = open;
    close_ = close;
  }

  std::size_t line_start(std::size_t tag) const {
    while (tag > 0 && is_blank(source_[tag - 1])) --tag;
    return tag;
  }
  std::size_t next_line(std::size_t behind) const {
    while (behind < source_.size() && is_blank(source_[behind])) ++behind;
    if (source_.substr(behind).starts_with('\r')) ++behind;
    return behind < source_.size() ? behind + 1 : behind;
  }
  bool stands_alone(std::size_t begin, std::size_t behind) const {
    const auto start = line_start(begin);
    if (start > 0 && source_[start - 1] != '\n') return false;
    while (behind < source_.size() && is_blank(source_[behind])) ++behind;
    const auto rest = source_.substr(behind);
    return rest.empty() || rest.starts_with('\n') || rest.starts_with("\r\n");
  }

  void finish() {
    if (!problem && !open_sections_.empty())
      refuse(open_sections_.back().position, "section " + quoted(open_sections_.back().name) + " is never closed");
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::string open_ = "{{";
  std::string close_ = "}}";
  std::vector<Section> open_sections_;
};

}  // namespace

tl::expected<Mustache, Problem> Mustache::compile(std::string_view source) {
  if (source.size() > kMaxTemplateLength) return tl::unexpected(Problem{"", 0, "", "longer than 1 MiB"});
  if (!is_clean_utf8(source)) return tl::unexpected(Problem{"", 0, "", "not UTF-8, or with NUL bytes"});
  Compiler compiler(source);
  compiler.run();
  if (compiler.problem) return tl::unexpected(std::move(*compiler.problem));
  return Mustache(std::move(compiler.nodes));
}

}  // namespace waybill
