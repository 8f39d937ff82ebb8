// Header fields of a mail that nothing handed in can break out of: RFC 5322 folding, RFC 2047 encoded words.
#pragma once

#include "common/base64.h"
#include "common/mail_address.h"

namespace waybill::plugins {

inline constexpr std::size_t kMailLine = 76;  // the longest line with an encoded word in it

// `text` in UTF-8 as encoded words, none of which splits a character. Each fits behind a header's name of up to 12 letters.
inline std::vector<std::string> encoded_words(std::string_view text) {
  constexpr std::size_t kMax = 36;  // bytes in a word: 48 letters, and 12 around them
  std::vector<std::string> words;
  while (!text.empty()) {
    auto size = std::min(kMax, text.size());
    while (size < text.size() && size > 1 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
    words.push_back("=?UTF-8?B?" + base64(text.substr(0, size)) + "?=");
    text.remove_prefix(size);
  }
  return words;
}

// "Name: word word", with a new line before each word that would not fit.
inline std::string folded(std::string_view name, const std::vector<std::string>& words) {
  std::string out(name);
  out += ':';
  auto column = out.size();
  for (const auto& word : words) {
    const bool first = &word == &words.front();
    if (!first && column + 1 + word.size() > kMailLine) out += "\r\n", column = 0;
    out += ' ' + word;
    column += 1 + word.size();
  }
  return out + "\r\n";
}

inline bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// A field of free text: as it is, where that can be read in one way only; else as encoded words.
inline std::string text_field(std::string_view name, std::string_view text) {
  const bool plain = is_printable_ascii(text) && name.size() + 2 + text.size() <= kMailLine && text.find("=?") == text.npos &&
                     !text.empty() && text.front() != ' ' && text.back() != ' ';
  return folded(name, plain ? std::vector<std::string>{std::string(text)} : encoded_words(text));
}

// A field of addresses. A name is quoted, or made of encoded words.
inline std::string address_field(std::string_view name, const std::vector<Mailbox>& mailboxes) {
  std::vector<std::string> words;
  for (const auto& mailbox : mailboxes) {
    if (!words.empty()) words.back() += ',';
    if (mailbox.name.empty()) {
      words.push_back(mailbox.address);
      continue;
    }
    if (is_printable_ascii(mailbox.name) && mailbox.name.size() <= 60 && mailbox.name.find("=?") == std::string::npos) {
      std::string quoted = "\"";
      for (const char c : mailbox.name) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
      words.push_back(quoted + '"');
    } else {
      for (auto& word : encoded_words(mailbox.name)) words.push_back(std::move(word));
    }
    words.push_back('<' + mailbox.address + '>');
  }
  return folded(name, words);
}

// A key of printable ASCII as one word that ids and searches take: letters and digits stay, the rest becomes "=2F". No two keys
// give the same.
inline std::string key_word(std::string_view key) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (detail::is_alnum(c) || c == '-' || c == '_')
      out += c;
    else
      out += '=', out += kHex[byte >> 4], out += kHex[byte & 15];
  }
  return out;
}

}  // namespace waybill::plugins
