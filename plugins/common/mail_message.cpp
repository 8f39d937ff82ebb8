// A mail from its header to its last part: mail_header.h, mail_body.h and mail_message.h.
#include "common/mail_message.h"

#include <algorithm>
#include <utility>

#include "common/base64.h"
#include "common/calendar.h"
#include "common/mail_address_rules.h"
#include "common/mail_body.h"
#include "common/mail_header.h"
#include "common/text.h"

namespace waybill::plugins {
namespace {

constexpr std::size_t kMailLine = 76;  // the longest line with an encoded word in it

// `text` in UTF-8 as encoded words, none of which splits a character. Each fits behind a header's name of up to 12 letters.
std::vector<std::string> encoded_words(std::string_view text) {
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
std::string folded(std::string_view name, const std::vector<std::string>& words) {
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

}  // namespace

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string text_field(std::string_view name, std::string_view text) {
  const bool plain = is_printable_ascii(text) && name.size() + 2 + text.size() <= kMailLine && text.find("=?") == text.npos &&
                     !text.empty() && text.front() != ' ' && text.back() != ' ';
  return folded(name, plain ? std::vector<std::string>{std::string(text)} : encoded_words(text));
}

std::string address_field(std::string_view name, const std::vector<Mailbox>& mailboxes) {
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

std::string key_word(std::string_view key) {
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

namespace {

// Every line end as CRLF, one at the end of all; NUL, which mail has no place for, as U+FFFD.
std::string mail_text(std::string_view text) {
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

bool is_plain_in_mail(char c) { return (c > 0x20 && c < 0x7f && c != '=') || c == ' ' || c == '\t'; }

// Of text with CRLF line ends. Beyond the rule, what some systems change on the way is encoded: "." and "From " at the head of a
// line.
std::string quoted_printable(std::string_view text) {
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

}  // namespace

std::string base64_lines(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 57) out += base64(bytes.substr(i, 57)) + "\r\n";
  return out;
}

std::string text_part(std::string_view type, std::string_view content) {
  const auto text = mail_text(content);
  const auto encoded = static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_plain_in_mail(c) && c != '\r' && c != '\n'; }));
  const bool quoted = encoded <= text.size() / 6;
  std::string out = "Content-Type: ";
  out.append(type).append("; charset=utf-8\r\nContent-Transfer-Encoding: ");
  return out + (quoted ? "quoted-printable\r\n\r\n" + quoted_printable(text) : "base64\r\n\r\n" + base64_lines(text));
}

namespace {

// "=_" stands in no quoted-printable and in no base64, so no body can have these lines.
std::string multipart(std::string_view kind, const std::vector<std::string>& parts) {
  const auto boundary = "=_waybill_" + std::string(kind);
  auto out = "Content-Type: multipart/" + std::string(kind) + ";\r\n boundary=\"" + boundary + "\"\r\n\r\n";
  for (const auto& part : parts) out += "--" + boundary + "\r\n" + part + "\r\n";
  return out + "--" + boundary + "--\r\n";
}

}  // namespace

std::string write_mail(Letter letter) {
  std::vector<std::string> texts;
  if (letter.content.text) texts.push_back(text_part("text/plain", *letter.content.text));
  if (letter.content.html) texts.push_back(text_part("text/html", *letter.content.html));
  auto parts = std::move(letter.attachments);
  parts.insert(parts.begin(), texts.size() == 1 ? texts.front() : multipart("alternative", texts));

  const auto if_any = [](std::string_view name, const std::vector<Mailbox>& list) {
    return list.empty() ? std::string() : address_field(name, list);
  };
  return address_field("From", {letter.from}) + if_any("Reply-To", letter.reply_to) + address_field("To", letter.to) +
         if_any("Cc", letter.cc) + text_field("Subject", letter.content.subject) + "Date: " + mail_date(letter.date) +
         "\r\nMessage-ID: <" + key_word(letter.key) + '@' + letter.from.domain() + ">\r\nAuto-Submitted: auto-generated\r\n" +
         text_field("X-Submission", trimmed_line(letter.reference)) + "MIME-Version: 1.0\r\n" + multipart("mixed", parts);
}

}  // namespace waybill::plugins
