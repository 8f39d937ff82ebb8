// Formats, escapes, writes: the only place of the program that writes to its standard streams, beside the log.
#include "base/printing.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "base/invisible.h"
#include "base/utf8.h"

namespace waybill {
namespace {

void append_escape(std::string& out, std::string_view prefix, unsigned char code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out.append(prefix).append(1, kHex[code >> 4]).append(1, kHex[code & 15]);
}

// Of a character of two to four bytes: \u202e, \U000e0041.
void append_code(std::string& out, std::string_view character) {
  unsigned code = static_cast<unsigned char>(character[0]) & (0xFF >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  if (code > 0xFFFF) append_escape(out, "\\U00", static_cast<unsigned char>(code >> 16));
  append_escape(out, code > 0xFFFF ? "" : "\\u", static_cast<unsigned char>(code >> 8));
  append_escape(out, "", static_cast<unsigned char>(code & 0xFF));
}

constinit std::mutex watch_mutex;
constinit PrintWatch* watch_in_force = nullptr;

void keep(bool is_error, const std::string& text) {
  const std::lock_guard lock(watch_mutex);
  if (watch_in_force != nullptr) watch_in_force->keep(is_error, text);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) == 1 && !variable("TERM").empty() && variable("TERM") != "dumb";
}

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::bold:
      return "\x1b[1m";
    case Ink::red:
      return "\x1b[31m";
    case Ink::yellow:
      return "\x1b[33m";
    case Ink::plain:
      break;
  }
  return "";
}

void write(std::FILE* to, Ink ink, const char* format, std::va_list arguments) {
  std::va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length < 0) return;
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, arguments);
  text.pop_back();
  auto safe = printable(text);
  keep(to == stderr, safe);
  if (ink != Ink::plain && is_terminal(to) && variable("NO_COLOR").empty()) {
    const auto end = safe.ends_with('\n') ? safe.size() - 1 : safe.size();
    safe.insert(end, "\x1b[0m");
    safe.insert(0, code_of(ink));
  }
  std::fwrite(safe.data(), 1, safe.size(), to);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const auto length = utf8_character_length(text);
    const bool is_c1 = length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if (is_invisible(text.substr(0, length)))
      append_code(out, text.substr(0, length));
    else if (is_c1)
      append_escape(out, "\\u00", static_cast<unsigned char>(text[1]));
    else if (length == 0 || (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7F)
      append_escape(out, "\\x", lead);
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

void print_text(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  write(stdout, Ink::plain, format, arguments);
  va_end(arguments);
}

void print_error(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  write(stderr, Ink::plain, format, arguments);
  va_end(arguments);
}

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

void print_text(Ink ink, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  write(stdout, ink, format, arguments);
  va_end(arguments);
}

void print_error(Ink ink, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  write(stderr, ink, format, arguments);
  va_end(arguments);
}

bool has_status_line() { return is_terminal(stderr); }

void print_status(const std::string& line) {
  const auto text = "\r" + printable(line) + "\x1b[K" + (line.empty() ? "\r" : "");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

PrintWatch::PrintWatch() {
  const std::lock_guard lock(watch_mutex);
  watch_in_force = this;
}

PrintWatch::~PrintWatch() {
  const std::lock_guard lock(watch_mutex);
  watch_in_force = nullptr;
}

void PrintWatch::keep(bool is_error, const std::string& text) {
  if (is_error)
    errors_ += text;
  else
    has_text_ = has_text_ || !text.empty();
}

bool PrintWatch::has_text() const {
  const std::lock_guard lock(watch_mutex);
  return has_text_;
}

std::string PrintWatch::errors() const {
  const std::lock_guard lock(watch_mutex);
  return errors_;
}

}  // namespace waybill
