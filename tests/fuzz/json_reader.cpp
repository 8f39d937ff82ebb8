// The reader of JSON: what it takes is JSON to its last byte, and is written again as the same, numbers to the digit.
#include "base/json_reader.h"

#include <nlohmann/json.hpp>

#include "base/json_document.h"
#include "fuzz/fuzz.h"

namespace waybill::fuzz {
namespace {

constexpr JsonReading kAnyNames{.doubled_names = JsonReading::DoubledNames::kept};

void tree(std::string_view text) {
  const auto read = read_json(text, kAnyNames);
  promise(is_json(text) == (read || read.error().what.starts_with("JSON is nested")),
          "all ways of reading agree on what is JSON");
  if (!read) return promise(read.error().kind == Error::Kind::invalid && !read.error().what.empty(), "a text is read or refused");
  promise(!nul_in(text), "no text with a NUL is read");
  const auto written = dump(*read);
  for (const auto& other : {written, dump(*read, 2)}) {
    const auto again = read_json(other, kAnyNames);
    promise(again && dump(*again) == written, "what was read is written and read as the same");
  }
  const bool once = check_names(text).has_value();
  promise(read_json(text).has_value() == once && read_sorted_json(text).has_value() == once, "names stand twice for all or none");
}

void number(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
  if (const auto read = read_json(text); plain && read) promise(dump(*read) == text, "a number comes out as it went in");
}

void file(std::string_view text) {
  const auto read = parse_json(text, "f");
  if (!read) return promise(!read.error().empty() && read.error().front().file == "f", "a refused file has a problem");
  const auto again = read_json(to_json(*read));
  promise(again.has_value(), "a file that was read is written as JSON");
}

}  // namespace
}  // namespace waybill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill::fuzz;
  tree(text_of(data, size));
  number(text_of(data, size));
  file(text_of(data, size));
  return 0;
}
