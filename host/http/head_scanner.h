// Reads the bytes of a request's head, or of its trailers, by the grammar of RFC 9112 without its leniencies: what two readers of
// one message could take differently is refused before anything else looks at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace waybill::http {

// Takes bytes as they come. Looks at each once.
class HeadScanner {
 public:
  enum class Begin : std::uint8_t { request_line, fields };
  enum class Verdict : std::uint8_t { more, complete, fault, other_version };

  explicit HeadScanner(Begin begin = Begin::request_line) : state_(begin == Begin::fields ? State::line_start : State::method) {}

  // `bytes`: all that has come so far, from the first byte on; what was there at the last call is not looked at again.
  Verdict scan(std::string_view bytes);
  std::size_t size() const { return at_; }           // bytes scanned; with `complete`, those of the head with its empty line
  std::string_view fault() const { return fault_; }  // after `fault`, for the client

 private:
  enum class State : std::uint8_t { method, target, version, line_start, name, value, line_end, last_end };

  Verdict take(char c);
  Verdict take_version(char c);
  Verdict refuse(std::string_view why);

  State state_;
  bool is_other_version_ = false;
  std::size_t at_ = 0;
  std::size_t begun_ = 0;  // where the present part began
  std::string_view fault_;
};

}  // namespace waybill::http
