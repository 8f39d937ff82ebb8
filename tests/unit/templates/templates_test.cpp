// Templates with hostile values: whatever a form's sender writes appears as data, in every part.  F8
#include "templates/templates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <thread>

namespace waybill {
namespace {

using nlohmann::json;

Template compiled(const TemplateParts& parts) {
  auto made = Template::compile(parts);
  EXPECT_TRUE(made) << to_string(made.error().front());
  return std::move(*made);
}

std::string replaced(std::string text, std::initializer_list<std::pair<char, const char*>> signs) {
  for (const auto& [sign, with] : signs)
    for (auto at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1)) text.replace(at, 1, with);
  return text;
}

std::string escaped(const std::string& text) {
  return replaced(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

// A few by hand, the rest put together of the same pieces.
std::vector<std::string> hostile_strings() {
  const std::vector<std::string> pieces{"\r\nBcc: all@example.org\r\n\r\n",
                                        "\n",
                                        "\r",
                                        std::string("\0", 1),
                                        "\t",
                                        "\x1b[31m",
                                        "\x7f",
                                        "\b\f\v",
                                        "\xC2\x85",
                                        "\xE2\x80\xA8",
                                        "\xE2\x80\xA9",
                                        "\"quoted\"",
                                        "'",
                                        "`$(id)`",
                                        "\\",
                                        "<script>alert(1)</script>",
                                        "&amp;",
                                        "</td>",
                                        "\xF0\x9F\x98\x80",
                                        "\xE2\x80\xAE"
                                        "fdp.exe",
                                        "\xE2\x80\x8F",
                                        "\xEF\xBB\xBF",
                                        "e\xCC\x81",
                                        "{{secret}}",
                                        "{{{secret}}}",
                                        "{{#secret}}",
                                        "{{/fields}}",
                                        "{{>secret}}",
                                        "{{=<% %>=}}",
                                        "{{! ",
                                        "}}",
                                        "{{",
                                        "{{.}}",
                                        "=?utf-8?B?SGk=?=",
                                        "%0d%0a",
                                        "--",
                                        "."};
  auto strings = pieces;
  strings.push_back("");
  strings.push_back(std::string(100'000, 'x'));
  std::string long_line;
  while (long_line.size() < 100'000) long_line += pieces[long_line.size() % pieces.size()];
  strings.push_back(long_line);
  std::mt19937 random(4);
  while (strings.size() < 500) {
    std::string text;
    for (auto count = 2 + random() % 6; count > 0; --count) text += pieces[random() % pieces.size()] + (random() % 2 ? " x" : "");
    strings.push_back(text);
  }
  return strings;
}

bool has_control(const std::string& text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') return true;
  for (const auto* separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
    if (text.find(separator) != std::string::npos) return true;
  return false;
}

std::string without_blanks_and_controls(const std::string& text) {
  std::string rest;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = text.substr(i, 3);
    if (at == "\xE2\x80\xA8" || at == "\xE2\x80\xA9")
      i += 2;
    else if (at.starts_with("\xC2\x85"))
      i += 1;
    else if (static_cast<unsigned char>(text[i]) > ' ' && text[i] != '\x7f')
      rest += text[i];
  }
  return rest;
}

TEST(Template, FiveHundredHostileValuesAppearAsDataInEveryPart) {
  const auto strings = hostile_strings();
  ASSERT_EQ(strings.size(), 500u);
  const auto made = compiled({.subject = "Message from {{fields.name}}",
                              .text = "{{fields.name}}|{{#list}}{{.}}{{/list}}|{{{fields.name}}}|{{&fields.name}}",
                              .html = "<p>{{fields.name}}</p>{{#list}}<li>{{.}}</li>{{/list}}<i title=\"{{fields.name}}\">"});
  for (const auto& value : strings) {
    SCOPED_TRACE(value.substr(0, 100));
    const auto mail = made.render(json{{"fields", {{"name", value}}}, {"list", {value}}, {"secret", "SECRET"}}.dump());
    ASSERT_TRUE(mail) << mail.error().what;
    EXPECT_EQ(*mail->text, value + "|" + value + "|" + value + "|" + value);
    EXPECT_EQ(*mail->html, "<p>" + escaped(value) + "</p><li>" + escaped(value) + "</li><i title=\"" + escaped(value) + "\">");
    EXPECT_FALSE(has_control(*mail->subject));
    EXPECT_EQ(without_blanks_and_controls(*mail->subject), "Messagefrom" + without_blanks_and_controls(value));
  }
}

TEST(Template, HostileNamesAreNoMoreThanNames) {
  const auto made = compiled({.text = "{{fields}}"});
  for (const auto& name : hostile_strings()) {
    const json data{{"fields", {{name, "v"}}}};
    EXPECT_EQ(json::parse(*made.render(data.dump())->text), data["fields"]);
  }
}

TEST(Template, RendersThePartsThatItHas) {
  const std::string data = R"({"x":"<1>"})";
  EXPECT_EQ(compiled({.text = "a {{x}}"}).render(data), (TemplateParts{.text = "a <1>"}));
  EXPECT_EQ(compiled({.subject = "s {{x}}", .html = "<b>{{x}}</b>{{{x}}}"}).render(data),
            (TemplateParts{.subject = "s <1>", .html = "<b>&lt;1&gt;</b><1>"}));
  EXPECT_EQ(compiled({.subject = "", .text = ""}).render(data), (TemplateParts{.subject = "", .text = ""}));
}

TEST(Template, EveryBadPartIsNamedWithItsLine) {
  const auto made = Template::compile({.subject = "{{a", .text = "fine", .html = "\n{{>b}}"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), (Problems{{"", 1, "subject", "a tag is not closed"}, {"", 2, "html", "partials are not supported"}}));
  const auto none = Template::compile({});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), (Problems{{"", 0, "", "a template needs a part: subject, text or html"}}));
}

TEST(Template, WhatCannotBeRenderedIsAnErrorThatNamesThePart) {
  const auto made = compiled({.text = "fine", .html = "{{x}}"});
  const auto broken = made.render("{");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, Error::Kind::invalid);
  EXPECT_TRUE(broken.error().what.starts_with("template data: malformed")) << broken.error().what;
  const auto large = made.render(json{{"x", std::string(300'000, '&')}}.dump());
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, Error::Kind::invalid);
  EXPECT_EQ(large.error().what, "html: what comes of it is longer than 1 MiB");
}

TEST(Template, ManyThreadsRenderOneAtTheSameTime) {
  const auto made = compiled({.subject = "{{x}}", .text = "{{#l}}{{x}}{{.}} {{/l}}", .html = "{{x}}"});
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      const auto x = "<" + std::to_string(id) + ">";
      const auto data = json{{"x", x}, {"l", {1, 2}}}.dump();
      const TemplateParts expected{.subject = x, .text = x + "1 " + x + "2 ", .html = "&lt;" + std::to_string(id) + "&gt;"};
      for (int round = 0; round < 200; ++round) good[static_cast<std::size_t>(id)] += made.render(data) == expected;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 200));
}

TEST(Templates, AreFoundById) {
  std::map<std::string, Template, std::less<>> by_id;
  by_id.emplace("contact", compiled({.text = "hello"}));
  const Templates templates(std::move(by_id));
  ASSERT_NE(templates.find("contact"), nullptr);
  EXPECT_EQ(templates.find("contact")->render("{}"), (TemplateParts{.text = "hello"}));
  EXPECT_EQ(templates.find("other"), nullptr);
  EXPECT_EQ(Templates().find("contact"), nullptr);
}

TEST(RenderText, UsesATemplateOnceAndEscapesNothing) {
  EXPECT_EQ(render_text("From {{x}} {{{x}}}", R"({"x":"a<b\r\n"})"), "From a<b\r\n a<b\r\n");
  const auto malformed = render_text("\n{{x", "{}");
  ASSERT_FALSE(malformed);
  EXPECT_EQ(malformed.error().kind, Error::Kind::invalid);
  EXPECT_EQ(malformed.error().what, "template: line 2: a tag is not closed");
  EXPECT_FALSE(render_text("x", "[]"));
}

TEST(OneLine, HasNoControlsAndNoBlanksAtItsEnds) {
  EXPECT_EQ(one_line("  plain text "), "plain text");
  EXPECT_EQ(one_line(" a\r\nBcc: b@example.org\n"), "a Bcc: b@example.org");
  EXPECT_EQ(one_line(std::string("a\0\x01\x1f\x7f"
                                 "b",
                                 6)),
            "a b");
  EXPECT_EQ(one_line("a\xC2\x80\xC2\x9F"
                     "b\xE2\x80\xA8\xE2\x80\xA9"
                     "c\xC2\xA0"
                     "d"),
            "a b c\xC2\xA0"
            "d");
  EXPECT_EQ(one_line("\xE2\x80\xAE\xF0\x9F\x98\x80 a  b"), "\xE2\x80\xAE\xF0\x9F\x98\x80 a  b");
  EXPECT_EQ(one_line("\n\n"), "");
}

}  // namespace
}  // namespace waybill
