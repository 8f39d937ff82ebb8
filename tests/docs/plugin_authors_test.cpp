// Every snippet of docs/plugin-authors.md compiles against what an author installs, or parses; the tutorial's plugin passes its
// test. H3
#include <gtest/gtest.h>
#include <stdlib.h>
#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "docs/snippets.h"

namespace waybill::testing {
namespace {

class PluginAuthors : public ::testing::Test {
 protected:
  PluginAuthors() {
    std::string name = ::testing::TempDir() + "snippetsXXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder = name;
  }
  ~PluginAuthors() override { std::filesystem::remove_all(folder); }

  std::vector<Snippet> of(const std::string& language, const std::string& mark = {}) const {
    std::vector<Snippet> chosen;
    for (const auto& snippet : all)
      if (snippet.language == language && snippet.mark == mark) chosen.push_back(snippet);
    EXPECT_FALSE(chosen.empty()) << "no " << language << " snippet with the mark \"" << mark << '"';
    return chosen;
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  static std::string options() {
    const std::string api = (source_folder() / "plugin-api").string();
    return " -Wall -Wextra -Werror -Wno-missing-field-initializers -I" + api + "/include -I" + api + "/testkit/include ";
  }
  static std::string cxx() { return WAYBILL_CXX_COMPILER " -std=c++17" + options(); }
  void expect_good(const std::string& command) const {
    const auto said = run(command);
    EXPECT_EQ(said.code, 0) << said.output;
  }

  const std::filesystem::path page = source_folder() / "docs/plugin-authors.md";
  const std::vector<Snippet> all = snippets_of(page);
  std::filesystem::path folder;
};

TEST_F(PluginAuthors, EverySnippetIsOfALanguageThatIsChecked) {
  const std::set<std::string> known{"cpp", "c", "cmake", "json", "yaml", "sh"};
  const std::set<std::string> marks{"", "testkit", "file=fax.cpp", "file=fax_test.cpp"};
  for (const auto& snippet : all) {
    EXPECT_TRUE(known.contains(snippet.language)) << page << ':' << snippet.line << ": " << snippet.language;
    EXPECT_TRUE(marks.contains(snippet.mark)) << page << ':' << snippet.line << ": " << snippet.mark;
  }
}

TEST_F(PluginAuthors, EveryPieceOfAPluginCompiles) {
  const auto unit = unit_of("#include \"waybill/plugin.hpp\"\nusing namespace waybill::plugin;\n", of("cpp"), page);
  expect_good(cxx() + "-fsyntax-only " + write("pieces.cpp", unit));
}

TEST_F(PluginAuthors, EveryPieceOfATestCompiles) {
  const auto unit = unit_of("#include <gtest/gtest.h>\n#include \"waybill/testkit.hpp\"\nusing namespace waybill::testkit;\n",
                            of("cpp", "testkit"), page);
  expect_good(cxx() + "-fsyntax-only " + write("tests.cpp", unit));
}

TEST_F(PluginAuthors, TheTutorialsPluginPassesItsTest) {
  const std::string sanitize = *WAYBILL_SANITIZE != '\0' ? "-fsanitize=" WAYBILL_SANITIZE " " : "";
  const auto plugin = write("fax.cpp", numbered(of("cpp", "file=fax.cpp").at(0), page));
  const auto test = write("fax_test.cpp", numbered(of("cpp", "file=fax_test.cpp").at(0), page));
  const auto program = (folder / "fax_tests").string();
  expect_good(cxx() + sanitize + "-o " + program + ' ' + plugin + ' ' + test +
              " " WAYBILL_TESTKIT " -lgtest_main -lgtest -lcrypto -pthread");
  expect_good(program);
}

TEST_F(PluginAuthors, ThePluginInCCompiles) {
  for (const auto& snippet : of("c"))
    expect_good(WAYBILL_C_COMPILER " -std=c11 -pedantic" + options() + "-fsyntax-only " +
                write("plugin.c", numbered(snippet, page)));
}

TEST_F(PluginAuthors, EveryCMakeSnippetParses) {
  for (const auto& snippet : of("cmake"))
    expect_good(WAYBILL_CMAKE " -P " + write("snippet.cmake", "function(never_called)\n" + snippet.text + "endfunction()\n"));
}

TEST_F(PluginAuthors, EveryJsonAndYamlSnippetParses) {
  for (const auto& snippet : of("json")) EXPECT_TRUE(nlohmann::json::accept(snippet.text)) << page << ':' << snippet.line;
  for (const auto& snippet : of("yaml")) EXPECT_NO_THROW(YAML::Load(snippet.text)) << page << ':' << snippet.line;
}

}  // namespace
}  // namespace waybill::testing
