// The newer of two versions of a plugin.  D9
#include "senders/plugin_version.h"

#include <gtest/gtest.h>

#include <iterator>

namespace waybill {
namespace {

TEST(PluginVersion, EachIsNewerThanAllBeforeIt) {
  constexpr const char* kRising[] = {"",           "0.9",         "1",    "1.0.1",    "1.2", "1.10-rc1",
                                     "1.10-rc1.2", "1.10-rc1.10", "1.10", "2.0-beta", "2",   "10"};
  for (std::size_t i = 0; i < std::size(kRising); ++i)
    for (std::size_t j = 0; j < std::size(kRising); ++j)
      EXPECT_EQ(is_newer_version(kRising[i], kRising[j]), i > j) << kRising[i] << " and " << kRising[j];
}

TEST(PluginVersion, SomeAreTheSame) {
  for (const auto& [a, b] :
       {std::pair("1.0", "1.0"), std::pair("v1.2", "1.2"), std::pair("1.2+build7", "1.2+build8"), std::pair("01.2", "1.02")}) {
    EXPECT_FALSE(is_newer_version(a, b)) << a << " and " << b;
    EXPECT_FALSE(is_newer_version(b, a)) << a << " and " << b;
  }
}

}  // namespace
}  // namespace waybill
