// 500 texts that a stranger may write into a form to break what is made of it, the same in every run; and what mails make of
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace waybill::plugins::testing {

inline std::string repeated(const std::string& text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

// All are UTF-8: JSON can hold nothing else.
inline std::vector<std::string> hostile_texts() {
  using namespace std::string_literals;
  std::vector<std::string> out = {
      "x\r\nBcc: eve@x.test"s,
      "x\nBcc: eve@x.test"s,
      "x\rBcc: eve@x.test"s,
      "x\r\n\r\nbody"s,
      "x\r\n Bcc: eve@x.test"s,
      "\r\n.\r\nMAIL FROM:<eve@x.test>\r\n"s,
      "\n.\n"s,
      ".leading dot\n.\n..\nFrom here\nFrom "s,
      "--=_waybill_mixed--\r\n--=_waybill_alternative\r\n"s,
      "--=_waybill_mixed\r\nContent-Type: text/html\r\n\r\n<script>"s,
      "=?UTF-8?B?QmNj?="s,
      "=?utf-8?q?=0D=0ABcc:_eve@x.test?="s,
      "=0D=0A=\r\n=3D="s,
      "a\0b"s,
      "\0"s,
      "\x01\x02\x07\b\t\v\f\x0e\x1b[31m\x7f"s,
      "\"quoted\" 'and' \\backslash\\"s,
      "<a@x.test>, Eve <eve@x.test>;"s,
      "(comment) [literal] : ; @ , \\"s,
      "trailing blanks  \t\nand tabs\t \n  "s,
      " leading"s,
      "   "s,
      "?="s,
      "{{fields.name}} {{{raw}}} {{#a}}{{/b}}"s,
      "<b>html</b> &amp; <script>alert(1)</script></body></html>"s,
      "\xf0\x9f\x98\x80"s,
      repeated("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7", 400),
      "\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7 \xe2\x80\xae gnp.exe \xe2\x80\xac"s,
      "\xe2\x80\xa8line\xe2\x80\xa9paragraph\xc2\x85next"s,
      "\xef\xbb\xbfmark"s,
      "\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"s,
      "\xf4\x8f\xbf\xbf\xee\x80\x80"s,
      "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81"s,
      repeated("x", 998),
      repeated("x", 100'000),
      repeated("word ", 100'000),
      repeated("\xc3\xa9", 100'000),
      repeated("\xf0\x9f\x98\x80", 100'000),
      repeated("\r\n", 10'000),
      repeated("\n", 10'000),
      repeated("\r", 10'000),
      repeated("=", 10'000),
      repeated(".\r\n", 10'000),
      repeated("\0"s, 1'000),
      repeated(" ", 10'000),
      repeated("\xd7\xa9", 3'000) + "\r\nBcc: eve@x.test",
  };
  static const std::string kPieces[] = {"\r",
                                        "\n",
                                        "\r\n",
                                        "\0"s,
                                        "\t",
                                        " ",
                                        ".",
                                        "=",
                                        "=?",
                                        "?=",
                                        "\"",
                                        "\\",
                                        "<",
                                        ">",
                                        "@",
                                        ",",
                                        ";",
                                        ":",
                                        "--",
                                        "%",
                                        "\x1b",
                                        "\x7f",
                                        "a",
                                        "Bcc: ",
                                        "word",
                                        "(",
                                        ")",
                                        "{{",
                                        "}}",
                                        "From ",
                                        "\xc3\xa9",
                                        "\xe2\x80\xae",
                                        "\xd7\xa9",
                                        "\xf0\x9f\x98\x80",
                                        "\xe2\x80\xa8",
                                        "\xef\xbf\xbd"};
  std::uint32_t state = 4;
  const auto pick = [&](std::uint32_t below) { return (state = state * 1'664'525U + 1'013'904'223U) / 65'536U % below; };
  while (out.size() < 500) {
    std::string text;
    for (auto left = 1 + pick(120); left > 0; --left) text += kPieces[pick(std::size(kPieces))];
    out.push_back(std::move(text));
  }
  return out;
}

// What the README promises, said another way than the plugin does: control characters are blanks, none at the ends, at most 500
// bytes of whole characters.
inline std::string as_one_line(std::string text, std::size_t most) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  out.erase(out.find_last_not_of(' ') + 1);
  if (out.size() <= most) return out;
  auto end = most;
  while ((out[end] & 0xc0) == 0x80) --end;
  return out.substr(0, end) + "...";
}

// As text reaches the reader of a mail.
inline std::string as_lines(const std::string& text) {
  std::string out;
  char before = 0;
  for (const char c : text) {
    if (c == '\n' && before == '\r')
      ;
    else if (c == '\r' || c == '\n')
      out += "\r\n";
    else
      out += c == '\0' ? "\xef\xbf\xbd" : std::string(1, c);
    before = c;
  }
  return out.empty() || out.back() != '\n' ? out + "\r\n" : out;
}

}  // namespace waybill::plugins::testing
