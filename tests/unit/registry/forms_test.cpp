// A form's file: what it says, and every mistake with file, line and field.  F2
#include <gtest/gtest.h>

#include "registry/forms_file.h"
#include "registry/registry.h"
#include "support/unseen.h"
#include "unit/registry/fake_action_types.h"

namespace waybill {
namespace {

using testing::FakeActionTypes;
using testing::joined;

// A plugin that minds its destination.
class Types final : public ActionTypes {
 public:
  const ActionType* find(std::string_view name) const override { return name == "letter" ? &letter : nullptr; }
  std::vector<std::string> names() const override { return {"letter"}; }
  Problems check_destination(std::string_view, const std::string& json) const override {
    asked.push_back(json);
    const auto destination = nlohmann::json::parse(json);
    if (destination.value("destination", "") == "nowhere") return {{"", 0, "destination", "there is no such place"}};
    return {};
  }
  Problems check_settings(std::string_view, const std::string&) const override { return {}; }

  ActionType letter{"letter", false, {{"no_such_place", true, false}, {"seen", false, true}, {"busy", false, false}}};
  mutable std::vector<std::string> asked;
};

constexpr const char* kContact = R"(form_id: contact
name: Contact us
actions:
  - {action_order: 2, action_type: letter, destination: desk, happyfox_category: "3"}
  - action_order: 1
    action_type: letter
    template_id: contact
    destination: "team@example.org, desk@example.org"
    subject_template: "Message from {{fields.name}}"
)";

class Forms : public ::testing::Test {
 protected:
  tl::expected<Form, Problems> read(const std::string& text, Problems* absent = nullptr) {
    return read_form(text, "forms/contact.yaml",
                     {types, [](const std::string& id) { return id == "contact"; }, absent,
                      [this](const std::string& name) {
                        files_read.push_back(name);
                        return name == "schemas/contact.json" ? tl::expected<std::string, std::string>(schema_file)
                                                              : tl::unexpected(std::string("cannot be read: there is none"));
                      }});
  }
  std::string problems_of(const std::string& text) {
    const auto form = read(text);
    return form ? "none" : joined(form.error());
  }
  // The sample with one line in the place of another.
  std::string with(const std::string& line, const std::string& instead) {
    std::string text = kContact;
    const auto at = text.find(line);
    EXPECT_NE(at, std::string::npos) << line;
    return text.replace(at, line.size(), instead);
  }
  Types types;
  std::string schema_file = R"({"required": ["email"]})";
  std::vector<std::string> files_read;
};

TEST_F(Forms, ActionsComeInTheirOrderWhateverTheFilesOrderIs) {
  const auto form = read(kContact);
  ASSERT_TRUE(form) << joined(form.error());
  EXPECT_EQ(*form, (Form{"contact",
                         "Contact us",
                         {{1, "letter", "team@example.org, desk@example.org", "contact", "Message from {{fields.name}}", ""},
                          {2, "letter", "desk", "", "", "3"}}}));
}

TEST_F(Forms, AnActionMayHaveATimeLimitOfItsOwn) {  // T25
  ActionLimits limits;
  const auto form =
      read_form(with("    template_id: contact\n", "    template_id: contact\n    timeout: 40s\n"), "forms/contact.yaml",
                {types, [](const std::string& id) { return id == "contact"; }, nullptr, {}, &limits});
  ASSERT_TRUE(form) << joined(form.error());
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0].place.line, 8);
  const Registry registry({}, {*form}, {}, {}, {}, {}, limits);
  std::size_t limited = 0;
  for (const auto& action : form->actions) {
    const auto limit = registry.time_limit(contract_of(*form, action, nullptr));
    EXPECT_EQ(limit, action.timeout) << action.order;
    limited += limit.has_value();
  }
  EXPECT_EQ(limited, 1u) << "of its action only";
  auto other = *form;
  other.actions[0].timeout = other.actions[1].timeout = std::nullopt;
  EXPECT_NE(further_terms(*form), further_terms(other)) << "T27: a change of it is a change of the form";
  EXPECT_EQ(destination_json(form->actions[0]), destination_json(other.actions[0])) << "no business of the plugin";
}

TEST_F(Forms, APluginIsHandedTheFieldsThatAreSet) {
  const auto form = read(kContact);
  EXPECT_EQ(destination_json(form->actions[1]), R"({"destination":"desk","happyfox_category":"3"})");
  EXPECT_EQ(types.asked.size(), 2u);
}

TEST_F(Forms, AnActionMayBeTriedFiveTimesAndItsPluginsPermanentReasonsEndIt) {  // F10
  const auto form = read(kContact);
  const auto contract = contract_of(*form, form->actions[0], types.find("letter"));
  EXPECT_EQ(contract.target, "contact/1");
  EXPECT_EQ(contract.policy, Policy::max_attempts);
  EXPECT_EQ(contract.max_attempts, 5u);
  EXPECT_EQ(contract.terminal_outcomes, std::vector<std::string>{"no_such_place"});
  EXPECT_EQ(contract.duplicate_reasons, std::vector<std::string>{"seen"});
  EXPECT_TRUE(contract_of(*form, form->actions[0], nullptr).terminal_outcomes.empty());
}

TEST_F(Forms, EachMistakeIsNamedWithLineAndField) {
  const auto expect = [&](const std::string& text, const std::string& problem) {
    EXPECT_EQ(problems_of(text), "forms/contact.yaml:" + problem + "\n");
  };
  expect(with("form_id: contact\n", "form_id: contact us\n"), "1: form_id: must be letters, digits, _, - and ., at most 64");
  expect(with("name: Contact us\n", "name:\n"), "2: name: must be a text");
  expect(with("name: Contact us\n", "nam: Contact us\nname: x\n"),
         "2: nam: unknown field (known here: form_id, name, attachments, fields_schema, actions)");
  expect(with("template_id: contact", "template_id: other"), R"(7: actions[1].template_id: there is no template "other")");
  expect(with("action_order: 1\n", "action_order: 0\n"), "5: actions[1].action_order: must be a whole number from 1 to 1000");
  expect(with("action_order: 1\n", "action_order: \"1\"\n"), "5: actions[1].action_order: must be a whole number from 1 to 1000");
  expect(with("action_order: 1\n", "action_order: 2\n"), "5: actions[1].action_order: is taken by actions[0] (line 4)");
  expect(with("    action_type: letter\n", "    action_type: fax\n"),
         R"(6: actions[1].action_type: unknown action type "fax" (loaded: letter))");
  expect(with("destination: desk", "destination: nowhere"), "4: actions[0].destination: there is no such place");
  expect(with("destination: desk", "destination: \"a\\nb\""), "4: actions[0].destination: must not hold control characters");
  for (const auto& unseen : testing::kUnseen)  // T32
    expect(with("destination: desk", "destination: \"a" + std::string(unseen.text) + "b\""),
           "4: actions[0].destination: must not hold control characters");
  expect(with("    template_id: contact\n", "    templat_id: contact\n"),
         "7: actions[1].templat_id: unknown field (known here: action_order, action_type, template_id, destination, "
         "destination_field, destination_lookup, happyfox_category, from, reply_to, cc, reply_to_field, bcc, subject_template, "
         "attachment_links, timeout)");
  for (const char* bad : {"9ms", "2h", "soon", "[1s]"})  // T25
    expect(with("    template_id: contact\n", "    template_id: contact\n    timeout: " + std::string(bad) + "\n"),
           "8: actions[1].timeout: must be how long one attempt may take, from 10ms to 1h: \"30s\"");
}

TEST_F(Forms, ASubjectIsReadAsATemplateWithTheFile) {  // D2
  const auto expect = [&](const std::string& subject, const std::string& problem) {
    EXPECT_EQ(problems_of(with("Message from {{fields.name}}", subject)),
              "forms/contact.yaml:9: actions[1].subject_template: " + problem + "\n");
  };
  expect("Message from {{fields.name", "a tag is not closed");
  expect("{{#fields}}Message", "section \"fields\" is never closed");
  expect("{{> partial}}", "partials are not supported");
  EXPECT_EQ(problems_of(with("Message from {{fields.name}}", "{{#fields}}From {{name}}{{/fields}}")), "none");
}

TEST_F(Forms, MaySayWhoseMailItIsAndWhoGetsIt) {  // D4
  const auto form =
      read(with("destination: \"team@example.org, desk@example.org\"\n",
                "destination_lookup: {field: department, addresses: {it: it@example.org, sales: \"a@x.test, b@x.test\"}, "
                "default: all@example.org}\n    from: Contact <contact@example.org>\n    reply_to_field: email\n"
                "    cc: boss@example.org\n    bcc: archive@example.org\n"));
  ASSERT_TRUE(form) << joined(form.error());
  const auto& action = form->actions[0];
  EXPECT_EQ(action.destination, "");
  ASSERT_TRUE(action.lookup);
  EXPECT_EQ(*action.lookup, (RecipientLookup{.field = "department",
                                             .addresses = {{"it", "it@example.org"}, {"sales", "a@x.test, b@x.test"}},
                                             .otherwise = "all@example.org"}));
  EXPECT_EQ(action.from + " " + action.reply_to_field + " " + action.cc + " " + action.bcc,
            "Contact <contact@example.org> email boss@example.org archive@example.org");
  const auto confirmation = read(with("destination: \"team@example.org, desk@example.org\"", "destination_field: email"));
  ASSERT_TRUE(confirmation) << joined(confirmation.error());
  EXPECT_EQ(confirmation->actions[0].destination_field, "email");
  EXPECT_EQ(types.asked.size(), 4u) << "its plugin is asked about each";
}

TEST_F(Forms, AnActionMayTellOfAttachmentsOrNot) {  // T28
  const auto links_of = [&](const std::string& more) {
    const auto form = read(with("destination: desk", "destination: desk" + more));
    EXPECT_TRUE(form) << joined(form.error());
    return form ? form->actions[1].attachment_links : std::nullopt;
  };
  EXPECT_EQ(links_of(""), std::nullopt);
  EXPECT_EQ(links_of(", attachment_links: true"), true);
  EXPECT_EQ(links_of(", attachment_links: false"), false);
  EXPECT_EQ(problems_of(with("destination: desk", "destination: desk, attachment_links: maybe")),
            "forms/contact.yaml:4: actions[0].attachment_links: must be true or false\n");
}

TEST_F(Forms, SaysOnceWhoGetsItsMail) {  // D4
  const auto expect = [&](const std::string& instead, const std::string& problem) {
    EXPECT_EQ(problems_of(with("destination: desk", instead)), "forms/contact.yaml:4: " + problem + "\n");
  };
  expect("destination: desk, destination_field: email",
         "actions[0].destination_field: only one of destination, destination_field, destination_lookup says who gets it");
  expect("template_id: contact", "actions[0].destination: is missing");
  expect("destination_lookup: it", "actions[0].destination_lookup: must be a map with field, addresses, default");
  expect("destination_lookup: {field: a, addresses: {}}",
         "actions[0].destination_lookup.addresses: must be a map of at least one value and its address");
  expect("destination_lookup: {field: a, addresses: {b: []}}", "actions[0].destination_lookup.addresses.b: must be a text");
}

TEST_F(Forms, HaveASchemaOfTheirFieldsInThemOrInAFile) {  // D4
  const auto schema = [&](const std::string& lines) { return read(with("name: Contact us\n", "name: Contact us\n" + lines)); };
  const auto inside = schema("fields_schema:\n  type: object\n  required: [email]\n  properties: {age: {minimum: 18}}\n");
  ASSERT_TRUE(inside) << joined(inside.error());
  EXPECT_EQ(inside->fields_schema.fault_in("{}"), "fields.email: is missing");
  EXPECT_NE(inside->fields_schema.fault_in(R"({"email":"a","age":17})"), "");
  const auto beside = schema("fields_schema: schemas/contact.json\n");
  ASSERT_TRUE(beside) << joined(beside.error());
  EXPECT_EQ(files_read, std::vector<std::string>{"schemas/contact.json"});
  EXPECT_EQ(beside->fields_schema.fault_in("{}"), "fields.email: is missing");
  EXPECT_TRUE(beside->takes_attachments);
  EXPECT_FALSE(schema("attachments: false\n")->takes_attachments);

  const auto expect = [&](const std::string& lines, const std::string& problem) {
    const auto form = schema(lines);
    ASSERT_FALSE(form) << lines;
    EXPECT_TRUE(joined(form.error()).starts_with("forms/contact.yaml:3: " + problem)) << joined(form.error());
  };
  expect("fields_schema: schemas/none.json\n", R"(fields_schema: "schemas/none.json" cannot be read: there is none)");
  expect("fields_schema: {type: strin}\n", "fields_schema: is no JSON Schema: ");
  expect("fields_schema: {properties: {a: {pattern: \"(\"}}}\n",
         R"(fields_schema: is no JSON Schema: the pattern "(" is no regular expression)");
  expect("fields_schema: [a]\n", "fields_schema: must be a text");
  expect("attachments: \"false\"\n", "attachments: must be true or false");
  schema_file = "{";
  expect("fields_schema: schemas/contact.json\n", R"(fields_schema: "schemas/contact.json" is no JSON Schema: )");
}

TEST_F(Forms, AFormWithoutActionsIsNone) {
  EXPECT_NE(problems_of("form_id: a\nname: b\n").find("actions: must be a list of at least one action"), std::string::npos);
  EXPECT_NE(problems_of("form_id: a\nname: b\nactions: []\n").find("at least one action"), std::string::npos);
  EXPECT_NE(problems_of("form_id: a\nname: b\nactions: [x]\n").find("actions[0]: must be a map"), std::string::npos);
  EXPECT_NE(problems_of("just words").find("must be a map with form_id, name, attachments, fields_schema, actions"),
            std::string::npos);
  EXPECT_NE(problems_of(": : [").find("forms/contact.yaml:1"), std::string::npos);
}

TEST_F(Forms, AllMistakesAreFoundAndNotOnlyTheFirst) {
  const auto form = read("form_id: a b\nactions:\n  - {action_order: x}\n");
  ASSERT_FALSE(form);
  EXPECT_EQ(form.error().size(), 5u) << joined(form.error());  // form_id, name, action_order, action_type, destination
}

TEST_F(Forms, AnActionTypeThatIsAbsentMayBeTolerated) {
  Problems absent;
  const auto form = read(with("    action_type: letter\n", "    action_type: fax\n"), &absent);
  ASSERT_TRUE(form) << joined(form.error());
  ASSERT_EQ(absent.size(), 1u);
  EXPECT_EQ(absent[0].field, "actions[1].action_type");
}

}  // namespace
}  // namespace waybill
