// Cuts what a relay sends into replies.
#include "services/smtp_reader.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace waybill {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The "5.1.1 " that a text begins with, the space included; else nothing.
std::string_view enhanced_code(std::string_view text) {
  const auto end = text.find(' ');
  if (end == std::string_view::npos) return {};
  int dots = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const bool dot = text[i] == '.' && i > 0 && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (!dot && !is_digit(text[i])) return {};
    dots += dot;
  }
  return dots == 2 ? text.substr(0, end + 1) : std::string_view{};
}

}  // namespace

void SmtpReader::feed(std::string_view bytes) {
  if (!broken_) rest_.append(bytes);
}

std::optional<SmtpAnswer> SmtpReader::next() {
  std::size_t begin = 0;
  bool whole = false;
  while (!broken_ && !whole) {
    const auto end = rest_.find('\n', begin);
    const auto length = (end == std::string::npos ? rest_.size() : end + 1) - begin;
    if (size_ + length > kMaxReplyBytes) broken_ = true;
    if (broken_ || end == std::string::npos) break;
    size_ += length;
    whole = take_line(std::string_view(rest_).substr(begin, length));
    begin += length;
  }
  rest_.erase(0, begin);
  if (broken_ || !whole) return std::nullopt;
  size_ = 0;
  auto reply = std::exchange(reply_, {});
  reply.text = clean_text(reply.text, kMaxReplyText);
  return reply;
}

bool SmtpReader::take_line(std::string_view line) {
  line.remove_suffix(line.ends_with("\r\n") ? 2 : 1);
  const bool coded = line.size() >= 3 && line[0] >= '2' && line[0] <= '5' && is_digit(line[1]) && is_digit(line[2]);
  const char follows = line.size() > 3 ? line[3] : ' ';
  const int code = coded ? (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0') : 0;
  if (!coded || (follows != ' ' && follows != '-') || (reply_.code != 0 && reply_.code != code)) {
    broken_ = true;
    return false;
  }
  reply_.code = code;
  auto text = line.substr(std::min<std::size_t>(line.size(), 4));
  // Each line repeats the enhanced code: once is enough.
  if (const auto enhanced = enhanced_code(reply_.text); !enhanced.empty() && text.starts_with(enhanced))
    text.remove_prefix(enhanced.size());
  if (!reply_.text.empty() && !text.empty()) reply_.text += ' ';
  if (reply_.text.size() < kMaxReplyText + 4) reply_.text += text;
  return follows == ' ';
}

}  // namespace waybill
