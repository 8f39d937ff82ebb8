// No text reaches a terminal as a control sequence.  S6 S13
#include "base/printing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/names.h"
#include "base/utf8.h"

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

}  // namespace
}  // namespace waybill
