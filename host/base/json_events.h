// The reader's events, for those who need no tree or one of their own. Included by sources only: it brings nlohmann along.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace waybill {

using JsonEvents = nlohmann::json_sax<nlohmann::json>;
using JsonFault = nlohmann::json::exception;

// False when the text is not JSON to its last byte, which `events` is told as parse_error(), or when an event was answered with
// false. A NUL is an error at its place, wherever it stands. number_float() has each number that is no whole one of 64 bits with
// its text; number_integer(0) is -0.
bool read_json_events(std::string_view text, JsonEvents& events);

// The same, and `lines` counts the line ends that were read.
struct LineCount {
  int last_read = 1;  // the line of the byte that was read last
  int next = 1;
};
bool read_json_events(std::string_view text, JsonEvents& events, LineCount& lines);

// What parse_error() is told, for people: ": " and a reason in plain ASCII, or nothing.
std::string reason_of(const JsonFault& fault);
// A number that no double can hold.
bool is_out_of_range(const JsonFault& fault);

// Whether a number comes out as it went in: "1.5" does, "1.50" does not.
bool is_written_alike(double value, const std::string& text);

}  // namespace waybill
