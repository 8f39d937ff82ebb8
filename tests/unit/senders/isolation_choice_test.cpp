// Where a plugin's code runs, and why. I6
#include "senders/isolation_choice.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace waybill {
namespace {

using Types = std::vector<std::string>;

Isolations said(std::map<std::string, IsolationMode> by_type) {
  Isolations isolations;
  for (const auto& [type, mode] : by_type) isolations.by_type[type].mode = mode;
  return isolations;
}

void expect(const IsolationChoice& choice, IsolationMode mode, const std::string& why, bool by_default) {
  EXPECT_EQ(choice.mode, mode);
  EXPECT_EQ(choice.why, why);
  EXPECT_EQ(choice.by_default, by_default);
}

TEST(IsolationChoice, IsTheHostForWhatComesWithWaybillAndAProcessForAllElse) {
  expect(choose_isolation({}, "sms.so", Types{"sms"}), IsolationMode::in_process, "it comes with Waybill", false);
  expect(choose_isolation({}, "fax.so", Types{"fax"}), IsolationMode::process, "it does not come with Waybill", true);
}

TEST(IsolationChoice, IsTheOperatorsIfThereIsOne) {
  const auto process = said({{"sms", IsolationMode::process}});
  expect(choose_isolation(process, "sms.so", Types{"sms"}), IsolationMode::process, "senders.sms.isolation", false);
  const auto host = said({{"fax", IsolationMode::in_process}});
  expect(choose_isolation(host, "fax.so", Types{"fax"}), IsolationMode::in_process, "senders.fax.isolation", false);
  const Isolations others{.by_type = {}, .others = IsolationMode::in_process, .says_others = true};
  expect(choose_isolation(others, "fax.so", Types{"fax"}), IsolationMode::in_process, "plugin_isolation", false);
  expect(choose_isolation(others, "sms.so", Types{"sms"}), IsolationMode::in_process, "it comes with Waybill", false);
}

TEST(IsolationChoice, IsOneForAllActionTypesOfAPlugin) {
  const auto both = said({{"a", IsolationMode::in_process}, {"b", IsolationMode::process}});
  expect(choose_isolation(both, "ab.so", Types{"a", "b"}), IsolationMode::process, "senders.b.isolation", false);
  expect(choose_isolation(both, "ab.so", Types{"b", "a"}), IsolationMode::process, "senders.b.isolation", false);
}

TEST(IsolationChoice, KnowsWhichPluginsAreBuilt) {
  std::set<std::string> built;
  for (const auto& folder : std::filesystem::directory_iterator(WAYBILL_SOURCE_DIR "/plugins"))
    if (std::filesystem::exists(folder.path() / "README.md")) built.insert(folder.path().filename().string() + ".so");
  EXPECT_GE(built.size(), 8u);
  for (const auto& file : built) EXPECT_TRUE(comes_with_waybill(file)) << file;
  EXPECT_FALSE(comes_with_waybill("fax.so"));
}

}  // namespace
}  // namespace waybill
