// The manual pages: one for each command, with the texts of its help, and without a warning of man.  O8
#include "cli/manual.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "cli/roff.h"
#include "config/keys.h"
#include "support/process.h"
#include "support/temp_folder.h"
#include "support/world.h"
#include "unit/cli/grammar_of_waybill.h"

namespace waybill {
namespace {

using testing::leaf_commands;
using testing::read_file;
using testing::run;
using testing::TempFolder;
using testing::waybill_commands;

const ManualTerms kTerms{"1.2.3", "2026-11-27"};

class Manual : public ::testing::Test {
 protected:
  void write() {
    for (const auto& page : manual_pages(waybill_commands(), kTerms)) {
      std::filesystem::create_directories((folder_.path() / page.file).parent_path());
      testing::write_file(folder_.path() / page.file, page.text);
    }
  }
  // As it is read, in one line.
  std::string shown(const std::string& page) {
    const auto done = run({.arguments = {"/usr/bin/man", "-l", (folder_.path() / page).string()},
                           .environment = {{"LC_ALL", "C.UTF-8"}, {"MANWIDTH", "2000"}, {"MAN_KEEP_FORMATTING", ""}}});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  }
  TempFolder folder_;
};

TEST(Roff, LeavesNothingToBeReadInATextAndMarksWhatMarkdownMarks) {
  EXPECT_EQ(roff::text("a\\b -c\n.d\n'e' f.g"), "a\\eb \\-c\n\\&.d\n\\&\\(aqe\\(aq f.g");
  EXPECT_EQ(roff::markdown("see [the `key`](page.md#a), **not** 2 * 3 [x"), "see the \\fBkey\\fR, \\fBnot\\fR 2 * 3 [x");
  EXPECT_EQ(roff::example("  .TH\n"), ".EX\n  .TH\n.EE\n");
}

TEST_F(Manual, HasAPageOfEachCommandAndOfTheConfiguration) {
  std::set<std::string> files;
  for (const auto& page : manual_pages(waybill_commands(), kTerms)) files.insert(page.file);
  for (const auto& command : leaf_commands()) EXPECT_TRUE(files.contains("man1/" + command.name('-') + ".1")) << command.path;
  for (const auto* file : {"man1/waybill.1", "man1/waybill-token.1", "man5/waybill.yaml.5"})
    EXPECT_TRUE(files.contains(file)) << file;
}

TEST_F(Manual, IsWithoutAWarningOfMan) {
  if (!std::filesystem::exists("/usr/bin/man")) {
    EXPECT_FALSE(testing::must_run()) << "there is no man";
    GTEST_SKIP() << "there is no man here; ./dev deps installs it";
  }
  write();
  for (const auto& page : manual_pages(waybill_commands(), kTerms)) {
    const auto done = run({.arguments = {"/usr/bin/man", "--warnings", "-l", (folder_.path() / page.file).string()},
                           .environment = {{"LC_ALL", "C.UTF-8"}, {"MANWIDTH", "100"}}});
    EXPECT_EQ(done.exit_code, 0) << page.file;
    EXPECT_EQ(done.err, "") << page.file;
  }
}

TEST_F(Manual, SaysWhatTheHelpSays) {
  if (!std::filesystem::exists("/usr/bin/man")) {
    EXPECT_FALSE(testing::must_run()) << "there is no man";
    GTEST_SKIP() << "there is no man here; ./dev deps installs it";
  }
  write();
  const auto page = shown("man1/waybill-form-preview.1");
  for (const auto* words :
       {"waybill-form-preview - print each action's message as it would be sent, and to whom",
        "waybill form preview [OPTIONS] form", "JSON file with the fields of a submission; - for standard input.",
        "--fields FILE", "-c, --config FILE",
        "echo '{\"name\":\"Ada\",\"email\":\"ada@example.net\",\"message\":\"Hello\"}' | waybill form preview",
        "it was called wrongly", "waybill(1), waybill-form(1), waybill-form-simulate(1), waybill.yaml(5)", "2026-11-27"})
    EXPECT_NE(page.find(words), std::string::npos) << words << " in\n" << page;
  EXPECT_NE(shown("man1/waybill.1").find("/etc/waybill/waybill.yaml"), std::string::npos);
  EXPECT_NE(shown("man1/waybill-drain.1").find("3      all that could be taken over was"), std::string::npos);
}

TEST_F(Manual, HasEveryKeyOfTheConfigurationWithItsMeaning) {
  const auto page = configuration_page(kTerms).text;
  std::size_t at = 0;
  for (const auto& key : config::keys()) {
    const auto found = page.find("\n.TP\n\\fB" + std::string(key.path.substr(0, key.path.find('-'))), at);
    ASSERT_NE(found, std::string::npos) << key.path;
    at = found + 1;
  }
  for (const auto* words : {"The folder with the sender plugins", "Each wait is multiplied by a random factor",
                            "\\fBmetrics.listen\\fR is set", "is a whole number with its unit"})
    EXPECT_NE(page.find(words), std::string::npos) << words;
  EXPECT_EQ(page.find("]("), std::string::npos) << "a link as Markdown has it";
}

TEST_F(Manual, IsTheSameEachTimeAndHasTheDateOfTheSources) {
  const auto dated = manual_date("1764201600");
  ASSERT_TRUE(dated);
  EXPECT_EQ(*dated, "2025-11-27");
  EXPECT_EQ(manual_date(nullptr).value(), "");
  EXPECT_EQ(manual_date("").value(), "");
  for (const auto* wrong : {"yesterday", "-1", "12x", "99999999999999999999"}) EXPECT_FALSE(manual_date(wrong)) << wrong;
}

TEST_F(Manual, ThatCannotBeWrittenSaysWhere) {
  const auto file = folder_.path() / "taken";
  testing::write_file(file, "");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(write_manual(waybill_commands(), "1.2.3", file), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find((file / "man1/waybill.1").string()), std::string::npos);
}

}  // namespace
}  // namespace waybill
