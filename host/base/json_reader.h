// The one reader of JSON texts. No other file of the program calls nlohmann's parser, which takes a NUL for the end of the text,
// the last of two equal names for the only one, and the nearest double for a number; a test compares.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_writer.h"

namespace waybill {

struct JsonReading {
  // Of two members of one object with the same name: `kept` has both of them written again, in a Json; in a sorted one the last
  // counts.
  enum class DoubledNames { refused, kept };
  DoubledNames doubled_names = DoubledNames::refused;
  std::size_t levels = 1000;  // of nesting, at most
};

// A text as a tree. A number that a writer would change (100.00, 1.10, 2^64, -0) is kept as it is written: it is no number for
// nlohmann, number_text() tells it, and dump() writes it. Error::invalid says what is wrong and at which byte.
Result<Json> read_json(std::string_view text, JsonReading reading = {});
Result<nlohmann::json> read_sorted_json(std::string_view text, JsonReading reading = {});

// The text of a number that is kept as it is written; none for any other value.
std::optional<std::string> number_text(const Json& value);
std::optional<std::string> number_text(const nlohmann::json& value);
// Any number, as the nearest double.
std::optional<double> number_of(const nlohmann::json& value);
// A number that dump() writes as it stands here.
nlohmann::json number_as_written(std::string text);

// Where a text has its first NUL byte, or none.
std::optional<std::size_t> nul_in(std::string_view text);

bool is_json(std::string_view text);  // of any depth

// Error::invalid if an object anywhere in this text has two members of one name, or the text is not JSON.
Result<void> check_names(std::string_view json);

}  // namespace waybill
