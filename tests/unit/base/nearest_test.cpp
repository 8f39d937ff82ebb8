// What a misspelt word most probably means.
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace waybill {
namespace {

const std::vector<std::string> kKnown{"check", "email_raw", "email_template", "sms", "serve"};

TEST(Nearest, FindsWhatWasMeant) {  // D11
  EXPECT_EQ(nearest("emailraw", kKnown), "email_raw");
  EXPECT_EQ(nearest("chekc", kKnown), "check") << "two neighbours swapped are one mistake";
  EXPECT_EQ(nearest("sns", kKnown), "sms");
  EXPECT_EQ(nearest("emial_templat", kKnown), "email_template");
  EXPECT_EQ(nearest("ema", kKnown), "email_raw") << "what was cut short";
  EXPECT_EQ(did_you_mean("serv", kKnown), "; did you mean \"serve\"?");
}

TEST(Nearest, GuessesNothingFromAfar) {  // D11
  EXPECT_EQ(nearest("dance", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest("x", kKnown), "");
  EXPECT_EQ(nearest(std::string(1000, 'a'), kKnown), "");
  EXPECT_EQ(did_you_mean("dance", kKnown), "");
}

}  // namespace
}  // namespace waybill
