// What a name may not hold.  T32
#include "base/names.h"

#include <gtest/gtest.h>

#include "support/unseen.h"

namespace waybill {
namespace {

TEST(Names, HoldNothingThatIsNotSeen) {  // T32
  for (const auto& unseen : testing::kUnseen)
    for (const auto& text : {std::string(unseen.text), "a" + std::string(unseen.text) + "b", "Zoë 😀" + std::string(unseen.text)})
      EXPECT_TRUE(has_control_character(text)) << unseen.json;
  for (const char* good :
       {"Zoë 😀", "\u0645\u06cc\u200c\u062e", "a\u00a0b", "\u00ae", "\u180b", "\U000e0100", "\U000e0080", "\ufefe"})
    EXPECT_FALSE(has_control_character(good)) << good << ": joiners, variants and what only looks like it";
}

TEST(Names, ATextThatIsCutWithinACharacterIsNoControl) {  // T32
  for (const char* cut : {"\xE2\x80", "\xE2", "\xC2", "\xF3\xA0\x80", "\xEF\xBB"}) EXPECT_FALSE(has_control_character(cut));
}

}  // namespace
}  // namespace waybill
