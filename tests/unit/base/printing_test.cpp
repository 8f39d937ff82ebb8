// No text reaches a terminal as a control sequence, and colours only a terminal.  S6 S13 O8
#include "base/printing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/names.h"
#include "base/utf8.h"
#include "support/terminal.h"

namespace waybill {
namespace {

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain, Zoë 😀\n\tindented"), "plain, Zoë 😀\n\tindented");
  EXPECT_EQ(printable("\x1b[31mred\x07\r\x7f"), "\\x1b[31mred\\x07\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\xc2\x80\xc2\x9f\xc2\xa0"),
            "\\u009b31m\\u0080\\u009f\xc2\xa0");
  // T32: what nobody sees, or what moves the text around it
  EXPECT_EQ(printable("a\u202eb\u2028c\u200bd\ufeffe\u061cf"), "a\\u202eb\\u2028c\\u200bd\\ufeffe\\u061cf");
  EXPECT_EQ(printable("a\u00adb\u180ec\U000e0001d\U000e007fe"), "a\\u00adb\\u180ec\\U000e0001d\\U000e007fe");
  EXPECT_EQ(printable("\u0645\u06cc\u200c\u062e"), "\u0645\u06cc\u200c\u062e") << "joiners are part of words";
  EXPECT_EQ(printable("\xff\xc2\xe2\x82 \x9b"), "\\xff\\xc2\\xe2\\x82 \\x9b") << "some terminals take single bytes as C1";
}

RC_GTEST_PROP(Printable, IsTextWithoutControlsWhateverComes, (const std::string& text)) {
  auto shown = printable(text);
  RC_ASSERT(is_valid_utf8(shown));
  std::erase(shown, '\n');
  std::erase(shown, '\t');
  RC_ASSERT(!has_control_character(shown));
}

std::string in_red(const std::string& text) { return "\x1b[31m" + text + "\x1b[0m"; }

std::string told(const std::map<std::string, std::string>& environment) {
  return testing::shown_on_terminal([] { print_text(Ink::red, "bad: %s\n", "\x1b[5m"); }, environment);
}

TEST(Colours, AreOnATerminalThatShowsThemUnlessNobodyWantsThem) {
  EXPECT_EQ(told({{"TERM", "xterm"}, {"NO_COLOR", ""}}), in_red("bad: \\x1b[5m") + "\r\n");
  for (const auto& [name, value] : {std::pair{"NO_COLOR", "1"}, std::pair{"TERM", "dumb"}, std::pair{"TERM", ""}}) {
    std::map<std::string, std::string> environment{{"TERM", "xterm"}, {"NO_COLOR", ""}};
    environment[name] = value;
    EXPECT_EQ(told(environment), "bad: \\x1b[5m\r\n") << name;
  }
  ::testing::internal::CaptureStdout();
  print_text(Ink::red, "bad\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "bad\n") << "a file is no terminal";
}

TEST(StatusLine, IsWrittenOverAndOnlyOnATerminal) {
  EXPECT_FALSE(has_status_line());
  const auto draw = [] {
    if (!has_status_line()) return;
    print_status("1 of 2\x1b");
    print_status("");
  };
  EXPECT_EQ(testing::shown_on_terminal(draw, {{"TERM", "xterm"}}), "\r1 of 2\\x1b\x1b[K\r\x1b[K\r");
  EXPECT_EQ(testing::shown_on_terminal(draw, {{"TERM", "dumb"}}), "");
}

TEST(PrintWatch, KnowsWhatWasPrintedWhileItLives) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  print_error("before\n");
  {
    const PrintWatch watch;
    print_text("%s", "");
    EXPECT_FALSE(watch.has_text());
    print_error(Ink::red, "one");
    print_error(" two\n");
    EXPECT_EQ(watch.errors(), "one two\n");
    print_text("data\n");
    EXPECT_TRUE(watch.has_text());
  }
  print_error("after\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "before\none two\nafter\n");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "data\n");
}

}  // namespace
}  // namespace waybill
