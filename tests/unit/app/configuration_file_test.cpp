// Which file the configuration is, in which order, and what is said where there is none.  O8
#include "app/configuration_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/temp_folder.h"

namespace waybill {
namespace {

class ConfigurationFile : public ::testing::Test {
 protected:
  ConfigurationFile() {
    places_.here = folder_.path() / "here.yaml";
    places_.system = folder_.path() / "system.yaml";
  }
  testing::TempFolder folder_;
  ConfigurationPlaces places_;
};

TEST_F(ConfigurationFile, IsTheFirstThatIsNamedOrThere) {
  EXPECT_EQ(configuration_file(places_), "");
  testing::write_file(places_.system, "");
  EXPECT_EQ(configuration_file(places_), places_.system);
  testing::write_file(places_.here, "");
  EXPECT_EQ(configuration_file(places_), places_.here);
  places_.variable = "named.yaml";
  EXPECT_EQ(configuration_file(places_), "named.yaml") << "whether it is there or not: a wrong name must be told";
  places_.given = "given.yaml";
  EXPECT_EQ(configuration_file(places_), "given.yaml");
}

TEST_F(ConfigurationFile, IsByDefaultInTheWorkingFolderOrInEtc) {
  EXPECT_EQ(ConfigurationPlaces{}.here, "waybill.yaml");
  EXPECT_EQ(ConfigurationPlaces{}.system, "/etc/waybill/waybill.yaml");
}

TEST_F(ConfigurationFile, ThatIsMissingIsHelpedWithInFourLines) {
  const auto words = first_steps(places_);
  EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 3);
  for (const auto& part : {places_.here.string(), places_.system.string(), std::string("--config"), std::string("WAYBILL_CONFIG"),
                           std::string("share/waybill/waybill.yaml"), std::string("waybill check && waybill migrate"),
                           std::string("WAYBILL_DATABASE_URL=")})
    EXPECT_NE(words.find(part), std::string::npos) << part << " in " << words;
}

}  // namespace
}  // namespace waybill
