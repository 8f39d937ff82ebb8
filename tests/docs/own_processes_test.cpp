// Tests look at processes that they started themselves: others run beside them, and end at any moment.  T36
#include <gtest/gtest.h>

#include <algorithm>

#include "docs/source_tree.h"

namespace waybill::testing {
namespace {

// T36
TEST(OwnProcesses, NoTestLooksThroughAllProcesses) {
  // In pieces, so that this file does not find itself.
  const std::vector<std::string> forbidden{
      "directory_iterator(\"/pr"
      "oc\")",
      "opendir(\"/pr"
      "oc\")",
      "glob(\"/pr"
      "oc/",
      "listdir(\"/pr"
      "oc\")",
      "pgr"
      "ep ",
      "pki"
      "ll ",
      "kill"
      "all ",
      "kill"
      "all\"",
      "pid"
      "of ",
      "pid"
      "of\"",
      "\"p"
      "s\"",
      "\"p"
      "s -",
      " p"
      "s -",
      " p"
      "s aux"};
  std::size_t looked_at = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_folder() / "tests")) {
    const auto extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".h" && extension != ".c" && extension != ".py" && extension != ".sh") continue;
    ++looked_at;
    for (const auto& line : lines_of(entry.path()))
      for (const auto& words : forbidden) EXPECT_EQ(line.find(words), std::string::npos) << entry.path() << ": " << line;
  }
  EXPECT_GT(looked_at, 300u);
}

}  // namespace
}  // namespace waybill::testing
