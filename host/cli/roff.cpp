// Escapes what roff would read, and marks words.
#include "cli/roff.h"

#include <algorithm>

namespace waybill::roff {

std::string text(std::string_view plain) {
  std::string out;
  bool is_first = true;
  for (const char c : plain) {
    if (is_first && (c == '.' || c == '\'')) out += "\\&";
    is_first = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else
      out += c;
  }
  return out;
}

std::string bold(std::string_view plain) { return "\\fB" + text(plain) + "\\fR"; }
std::string italic(std::string_view plain) { return "\\fI" + text(plain) + "\\fR"; }

std::string markdown(std::string_view marked) {
  std::string out;
  const auto take = [&](std::size_t bytes) {
    const auto taken = marked.substr(0, bytes);
    marked.remove_prefix(std::min(bytes, marked.size()));
    return taken;
  };
  while (!marked.empty()) {
    out += text(take(std::min(marked.find_first_of("`[*"), marked.size())));
    if (marked.empty()) break;
    const char mark = take(1).front();
    const std::string_view closing = mark == '`' ? "`" : mark == '[' ? "](" : "**";
    const auto end = mark == '*' && !marked.starts_with('*') ? marked.npos : marked.find(closing, mark == '*' ? 1 : 0);
    if (end == marked.npos) {
      out += text(std::string_view(&mark, 1));
      continue;
    }
    if (mark == '*') take(1);
    const auto inner = take(mark == '*' ? end - 1 : end);
    take(closing.size());
    out += mark == '[' ? markdown(inner) : bold(inner);
    if (mark == '[') take(marked.find(')') + 1);
  }
  return out;
}

std::string heading(std::string_view title) { return ".SH \"" + std::string(title) + "\"\n"; }

std::string example(std::string_view lines) {
  std::string out = ".EX\n" + text(lines);
  if (!out.ends_with('\n')) out += '\n';
  return out + ".EE\n";
}

}  // namespace waybill::roff
