// Forms and templates as folders of the registry: read with the rest, and refused with file and line.  F2
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "registry/registry.h"
#include "unit/registry/fake_action_types.h"

namespace waybill {
namespace {

using testing::FakeActionTypes;
using testing::joined;

class RegistryFolders : public ::testing::Test {
 protected:
  RegistryFolders() {
    auto pattern = (std::filesystem::temp_directory_path() / "waybill-registry-XXXXXX").string();
    if (mkdtemp(pattern.data())) folder_ = pattern;
    write("targets.json", R"({"targets": [{"submissionTarget": "a", "gatewayType": "sms", "gatewayUrl": "http://g.example.org/",
      "policy": "one_shot", "terminalOutcomes": ["invalid_request"]}]})");
    write("forms/contact.yaml",
          "form_id: contact\nname: Contact\nactions:\n"
          "  - {action_order: 1, action_type: sms, template_id: hello, destination: x}\n");
    write("templates/hello.subject", "Hello {{name}}");
    write("templates/hello.txt", "Dear {{name}}");
  }
  ~RegistryFolders() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }
  std::string in(const std::string& file) const { return (folder_ / file).string(); }
  tl::expected<Registry, Problems> load() const { return load_registry(folder_, FakeActionTypes{}); }
  std::string problems() const {
    const auto registry = load();
    return registry ? "" : joined(registry.error());
  }
  std::filesystem::path folder_;
};

TEST_F(RegistryFolders, FormsAndTemplatesAreReadWithTheTargets) {
  const auto registry = load();
  ASSERT_TRUE(registry) << joined(registry.error());
  ASSERT_NE(registry->find_form("contact"), nullptr);
  EXPECT_EQ(registry->find_form("contact")->actions.size(), 1u);
  EXPECT_EQ(registry->find_form("contac"), nullptr);
  ASSERT_NE(registry->templates().find("hello"), nullptr);
  EXPECT_EQ(registry->templates().find("hello")->render(R"({"name":"Ann"})"),
            (TemplateParts{.subject = "Hello Ann", .text = "Dear Ann", .html = {}}));
}

TEST_F(RegistryFolders, BothMayBeMissing) {
  std::filesystem::remove_all(folder_ / "forms");
  std::filesystem::remove_all(folder_ / "templates");
  EXPECT_EQ(problems(), "");
}

TEST_F(RegistryFolders, ATemplatesMistakeIsNamedWithItsFileAndLineAndNoFormIsBlamed) {
  write("templates/hello.txt", "Dear\n{{#name}}\n");
  const auto said = problems();
  EXPECT_TRUE(said.starts_with(in("templates/hello.txt") + ":2: ")) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(RegistryFolders, AFormThatNamesNoTemplateIsRefused) {
  std::filesystem::remove_all(folder_ / "templates");
  EXPECT_EQ(problems(), in("forms/contact.yaml") + ":4: actions[0].template_id: there is no template \"hello\"\n");
}

TEST_F(RegistryFolders, AFormsSchemaIsAFileOfTheFolder) {  // D4
  write("schemas/contact.json", R"({"required": ["email"]})");
  write("forms/contact.yaml",
        "form_id: contact\nname: Contact\nfields_schema: schemas/contact.json\nactions:\n"
        "  - {action_order: 1, action_type: sms, destination: x}\n");
  const auto registry = load();
  ASSERT_TRUE(registry) << joined(registry.error());
  EXPECT_EQ(registry->find_form("contact")->fields_schema.fault_in("{}"), "fields.email: is missing");
  write("schemas/contact.json", R"({"required": "email"})");
  EXPECT_TRUE(
      problems().starts_with(in("forms/contact.yaml") + ":3: fields_schema: \"schemas/contact.json\" is no JSON Schema: "))
      << problems();
  std::filesystem::remove(folder_ / "schemas/contact.json");
  EXPECT_TRUE(problems().starts_with(in("forms/contact.yaml") + ":3: fields_schema: \"schemas/contact.json\" cannot be read: "))
      << problems();
}

TEST_F(RegistryFolders, TwoFilesCannotDescribeOneForm) {
  write("forms/kontakt.yaml",
        "form_id: contact\nname: Kontakt\nactions:\n  - {action_order: 1, action_type: sms, destination: x}\n");
  EXPECT_EQ(problems(), in("forms/kontakt.yaml") + ": form_id: is taken by contact.yaml\n");
}

TEST_F(RegistryFolders, OtherFilesAreNamedAndHiddenOnesAreNot) {
  write("templates/hello.md", "x");
  write("templates/.hello.txt.swp", "x");
  write("templates/a b.txt", "x");
  write("forms/README.md", "x");
  const auto said = problems();
  EXPECT_NE(said.find(in("templates/a b.txt") + ": must be named ID.subject, ID.txt or ID.html"), std::string::npos) << said;
  EXPECT_NE(said.find(in("templates/hello.md") + ": must be named"), std::string::npos) << said;
  EXPECT_NE(said.find(in("forms/README.md") + ": must be named NAME.yaml"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 3) << said;
}

TEST_F(RegistryFolders, AllMistakesOfAllFilesAreFoundTogether) {
  write("targets.json", "{}");
  write("templates/hello.txt", "{{#a}}");
  write("forms/other.yaml", "form_id: other\n");
  const auto said = problems();
  for (const auto* file : {"targets.json", "templates/hello.txt", "forms/other.yaml"})
    EXPECT_NE(said.find(in(file)), std::string::npos) << file << "\n" << said;
}

}  // namespace
}  // namespace waybill
