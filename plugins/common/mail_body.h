// Text as the body of a mail: CRLF line ends, 7 bits, short lines (RFC 2045).
#pragma once

#include "common/base64.h"
#include "common/mail_header.h"

namespace waybill::plugins {

// Every line end as CRLF, one at the end of all; NUL, which mail has no place for, as U+FFFD.
inline std::string mail_text(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' || text[i] == '\n') {
      if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
      out += "\r\n";
    } else if (text[i] == '\0') {
      out += "\xef\xbf\xbd";
    } else {
      out += text[i];
    }
  }
  if (out.empty() || out.back() != '\n') out += "\r\n";
  return out;
}

inline bool is_plain_in_mail(char c) { return (c > 0x20 && c < 0x7f && c != '=') || c == ' ' || c == '\t'; }

// Of text with CRLF line ends. Beyond the rule, what some systems change on the way is encoded: "." and "From " at the head of a
// line.
inline std::string quoted_printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\r') {
      out += "\r\n", column = 0, ++i;
      continue;
    }
    const bool ends_line = i + 1 < text.size() && text[i + 1] == '\r';
    const bool blank_at_end = ends_line && (c == ' ' || c == '\t');
    const bool touchy_at_head = column == 0 && (c == '.' || text.substr(i, 5) == "From ");
    const bool plain = is_plain_in_mail(c) && !blank_at_end && !touchy_at_head;
    const std::size_t width = plain ? 1 : 3;
    if (column + width > (ends_line ? kMailLine : kMailLine - 1)) out += "=\r\n", column = 0;
    const auto byte = static_cast<unsigned char>(c);
    if (plain)
      out += c;
    else
      out += '=', out += kHex[byte >> 4], out += kHex[byte & 15];
    column += width;
  }
  return out;
}

inline std::string base64_lines(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 57) out += base64(bytes.substr(i, 57)) + "\r\n";
  return out;
}

// A body part with its header, in whichever encoding is shorter.
inline std::string text_part(std::string_view type, std::string_view content) {
  const auto text = mail_text(content);
  const auto encoded = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_plain_in_mail(c) && c != '\r' && c != '\n'; }));
  const bool quoted = encoded <= text.size() / 6;
  std::string out = "Content-Type: ";
  out.append(type).append("; charset=utf-8\r\nContent-Transfer-Encoding: ");
  return out + (quoted ? "quoted-printable\r\n\r\n" + quoted_printable(text) : "base64\r\n\r\n" + base64_lines(text));
}

}  // namespace waybill::plugins
