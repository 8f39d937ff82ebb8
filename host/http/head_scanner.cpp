// One state for each part of a line; a line ends with CR LF and with nothing else.
#include "http/head_scanner.h"

#include <array>

namespace waybill::http {
namespace {

constexpr std::string_view kVersion = "HTTP/1.";
constexpr std::size_t kVersionSize = 8;

constexpr unsigned kToken = 1, kVisible = 2, kValue = 4;

// What each byte may be part of: of a token (RFC 9110, 5.6.2), of a target, of a header's value.
constexpr std::array<std::uint8_t, 256> kKinds = [] {
  std::array<std::uint8_t, 256> kinds{};
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_visible = c > 0x20 && c < 0x7f;
    const bool is_mark = c < 0x80 && std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
    if (is_letter || (c >= '0' && c <= '9') || is_mark) kinds[c] |= kToken;
    if (is_visible) kinds[c] |= kVisible;
    if (is_visible || c == ' ' || c == '\t' || c >= 0x80) kinds[c] |= kValue;
  }
  return kinds;
}();

bool is(unsigned kind, char c) { return (kKinds[static_cast<unsigned char>(c)] & kind) != 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

HeadScanner::Verdict HeadScanner::refuse(std::string_view why) {
  fault_ = why;
  return Verdict::fault;
}

HeadScanner::Verdict HeadScanner::scan(std::string_view bytes) {
  while (at_ < bytes.size()) {
    // Most bytes are within one of these parts and change nothing.
    if (const unsigned kind = state_ == State::value                             ? kValue
                              : state_ == State::name || state_ == State::method ? kToken
                                                                                 : 0;
        kind != 0)
      while (at_ < bytes.size() && is(kind, bytes[at_])) ++at_;
    if (at_ == bytes.size()) break;
    const auto verdict = take(bytes[at_]);
    if (verdict == Verdict::fault || verdict == Verdict::other_version) return verdict;
    ++at_;
    if (verdict == Verdict::complete) return verdict;
  }
  return Verdict::more;
}

HeadScanner::Verdict HeadScanner::take(char c) {
  const auto begin = [&](State state) {
    state_ = state;
    begun_ = at_ + 1;
    return Verdict::more;
  };
  const bool is_first = at_ == begun_;
  switch (state_) {
    case State::method:
      if (c == ' ' && !is_first) return begin(State::target);
      return is(kToken, c) ? Verdict::more : refuse("the request line does not begin with a method and a space");
    case State::target:
      if (c == ' ' && !is_first) return begin(State::version);
      return is(kVisible, c) ? Verdict::more : refuse("the request target is not visible ASCII between two spaces");
    case State::version:
      return take_version(c);
    case State::line_start:
      if (c == '\r') return begin(State::last_end);
      if (c == ' ' || c == '\t') return refuse("a header is folded over two lines");
      begun_ = at_;
      state_ = State::name;
      return is(kToken, c) ? Verdict::more : refuse("a header's name is not a token");
    case State::name:
      if (c == ':') return begin(State::value);
      return is(kToken, c) ? Verdict::more : refuse("a header's name is not a token followed by a colon");
    case State::value:
      if (c == '\r') return begin(State::line_end);
      return is(kValue, c) ? Verdict::more : refuse("a header holds a control character");
    case State::line_end:
      return c == '\n' ? begin(State::line_start) : refuse("a line does not end with CR LF");
    case State::last_end:
      return c == '\n' ? Verdict::complete : refuse("a line does not end with CR LF");
  }
  return refuse("not HTTP");
}

// "HTTP/1.0" or "HTTP/1.1". Another version is one if its whole word is there; anything else is no version.
HeadScanner::Verdict HeadScanner::take_version(char c) {
  constexpr std::string_view kRefusal = "the request line does not end with HTTP/1.1";
  const auto place = at_ - begun_;
  if (place == kVersionSize) {
    if (c != '\r') return refuse(kRefusal);
    if (is_other_version_) return Verdict::other_version;
    state_ = State::line_end;
    return Verdict::more;
  }
  const bool fits = place == 5 || place == 7 ? is_digit(c) : c == kVersion[place];
  if (!fits) return refuse(kRefusal);
  is_other_version_ |= (place == 5 && c != '1') || (place == 7 && c > '1');
  return Verdict::more;
}

}  // namespace waybill::http
