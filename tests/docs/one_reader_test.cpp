// What is done at one place only: reading JSON, and writing to the standard streams.  S4 S6
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

// Each line of the sources that `what` is found in, outside the files that may.
std::vector<std::string> others_with(const std::regex& what, const std::vector<std::string>& folders,
                                     const std::vector<std::string>& may) {
  std::vector<std::string> found;
  for (const auto& folder : folders)
    for (const auto& file : files_below(folder, {".h", ".cpp"})) {
      const auto name = file.generic_string();
      if (name.find("/tests/") != std::string::npos || std::find(may.begin(), may.end(), name) != may.end()) continue;
      int number = 0;
      for (const auto& line : lines_of(source_folder() / file)) {
        ++number;
        if (std::regex_search(line.substr(0, line.find("//")), what))
          found.push_back(name + ":" + std::to_string(number) + ": " + line);
      }
    }
  return found;
}

// S4: nlohmann takes a NUL for the end of the text; json_reader.h and its like among the plugins do not
TEST(OneReader, OfJsonTexts) {
  const std::regex kParser(R"((json|Json|basic_json)\s*::\s*(parse|sax_parse|accept|from_\w+)\s*\()");
  EXPECT_EQ(others_with(std::regex("simdjson"), {"host", "plugins"}, {"host/api/json_object.cpp"}), std::vector<std::string>{});
  EXPECT_EQ(others_with(kParser, {"host", "plugins"}, {"host/base/json_reader.cpp", "plugins/common/json.cpp"}),
            std::vector<std::string>{})
      << "read JSON with base/json_reader.h or plugins/common/json.h";
}

// S6: what is printed was escaped
TEST(OneReader, AndOnePrinter) {
  const std::regex kPrinter(R"(\bf?printf\s*\(|\bf?puts\s*\(|\bputchar\s*\(|\bfwrite\s*\(|std::(cout|cerr|clog)\b)");
  EXPECT_EQ(others_with(kPrinter, {"host"}, {"host/base/printing.cpp", "host/base/printing.h"}), std::vector<std::string>{})
      << "print with base/printing.h";
}

}  // namespace
}  // namespace waybill::testing
