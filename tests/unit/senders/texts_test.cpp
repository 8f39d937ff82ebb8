// Templates and links as plugins get them.  H4 H5 F8
#include <gtest/gtest.h>
#include <waybill/plugin.h>

#include "support/service_account.h"
#include "unit/senders/plugin_world.h"

namespace waybill {
namespace {

using testing::PluginWorld;

class Texts : public ::testing::Test {
 protected:
  Texts() {
    std::map<std::string, Template, std::less<>> by_id;
    by_id.emplace("contact",
                  Template::compile({.subject = "From {{name}}", .text = "Hi {{name}}", .html = "<b>{{name}}</b>"}).value());
    by_id.emplace("short", Template::compile({.subject = {}, .text = "Hi", .html = {}}).value());
    world.templates = std::make_shared<const Templates>(std::move(by_id));
  }
  Outcome asked(const std::string& target, const std::string& data = R"({"name":"<Ann>"})") {
    auto job = world.job("writer", target);
    job.payload = data;
    return world.run(std::move(job)).outcome.value_or(Outcome{});
  }
  PluginWorld world{{"writer"}};
};

TEST_F(Texts, ATemplateOfTheRegistryComesInItsPartsAndOnlyHtmlIsEscaped) {
  const auto said = asked("contact");
  EXPECT_EQ(said.code, WB_TEMPLATE_OK);
  EXPECT_EQ(said.detail, "subject=From <Ann>;text=Hi <Ann>;html=<b>&lt;Ann&gt;</b>;");
  EXPECT_EQ(asked("short").detail, "text=Hi;");
}

TEST_F(Texts, OneThatIsNotThereIsUnknown) {
  const auto said = asked("letter");
  EXPECT_EQ(said.code, WB_TEMPLATE_UNKNOWN);
  EXPECT_EQ(said.detail, "");
}

TEST_F(Texts, AReloadedRegistrysTemplatesAreTheOnesInUse) {
  world.templates = std::make_shared<const Templates>();
  EXPECT_EQ(asked("contact").code, WB_TEMPLATE_UNKNOWN);
}

TEST_F(Texts, APluginsOwnTextIsRenderedWithNothingEscaped) { EXPECT_EQ(asked("own").detail, "text=To <Ann>;"); }

TEST_F(Texts, GarbageIsMalformedAndHurtsNobody) {
  EXPECT_EQ(asked("contact", "no JSON").code, WB_TEMPLATE_MALFORMED);
  EXPECT_EQ(asked("own", "[]").code, WB_TEMPLATE_MALFORMED);
  EXPECT_EQ(asked("nobody asks").code, WB_TEMPLATE_MALFORMED);
  EXPECT_EQ(asked("null").code, WB_TEMPLATE_MALFORMED);
  EXPECT_EQ(asked("contact").code, WB_TEMPLATE_OK);
}

TEST_F(Texts, WithoutAKeyThereAreNoLinks) { EXPECT_EQ(asked("gs://bucket/key").code, WB_LINK_UNAVAILABLE); }

TEST(Links, AKeySignsThemForSevenDaysAtMost) {
  const SystemClock clock;
  auto key = GcsKey::from_service_account(testing::service_account().json()).value();
  PluginWorld world{{"writer"}, PluginWorld::kPatient, {}, std::make_shared<const GcsLinks>(std::move(key), clock)};
  const auto said = world.run("writer", "gs://bucket/a b.pdf").outcome.value_or(Outcome{});
  EXPECT_EQ(said.code, WB_LINK_OK);
  EXPECT_TRUE(said.detail.starts_with("https://storage.googleapis.com/bucket/a%20b.pdf?")) << said.detail;
  EXPECT_NE(said.detail.find("X-Goog-Expires=3600"), std::string::npos) << said.detail;
  for (const auto* what : {"gs://no", "forever"})
    EXPECT_EQ(world.run("writer", what).outcome.value_or(Outcome{}).code, WB_LINK_INVALID) << what;
}

}  // namespace
}  // namespace waybill
