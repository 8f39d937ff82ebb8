// Mustache as its specification describes it, its refusals with lines, and its bounds.  F8
#include "templates/mustache.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

std::string render(std::string_view source, std::string_view data, Mustache::Escape escape = Mustache::Escape::none) {
  const auto mustache = Mustache::compile(source);
  if (!mustache) return to_string(mustache.error());
  const auto parsed = parse_template_data(data);
  if (!parsed) return parsed.error().what;
  const auto rendered = mustache->render(*parsed, escape);
  return rendered ? *rendered : "fault: " + rendered.error().what;
}

struct Case {
  const char* source;
  const char* data;
  const char* expected;
};

void check(std::initializer_list<Case> cases) {
  for (const auto& one : cases) EXPECT_EQ(render(one.source, one.data), one.expected) << one.source;
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Mustache, AVariableRendersAsTheJsonHasItAndAMissingOneAsNothing) {
  check({
      {"no tags, {one} brace }}", "{}", "no tags, {one} brace }}"},
      {"Hello {{name}}!", R"({"name":"Ann"})", "Hello Ann!"},
      {"{{ name }}|{{\tname\n}}", R"({"name":"Ann"})", "Ann|Ann"},
      {"[{{gone}}] [{{{gone}}}] [{{&gone}}]", "{}", "[] [] []"},
      {"{{n}} {{d}} {{e}} {{neg}} {{big}}", R"({"n":85,"d":1.10,"e":2E+3,"neg":-7,"big":123456789012345678901234567890})",
       "85 1.10 2E+3 -7 123456789012345678901234567890"},
      {"{{t}} {{f}} [{{z}}]", R"({"t":true,"f":false,"z":null})", "true false []"},
      {"{{a}} {{o}}", R"({"a":[1,"x\"y",null],"o":{"b":{"c":1.50},"a":[]}})", R"([1,"x\"y",null] {"a":[],"b":{"c":1.50}})"},
      {"{{a}}", R"({"a":1,"a":2})", "2"},
  });
}

TEST(Mustache, HtmlIsEscapedOnlyWhereThatIsAskedFor) {
  const auto* data = R"({"x":"<a href=\"b\">&'"})";
  EXPECT_EQ(render("{{x}} {{{x}}} {{&x}} {{& x }}<b>", data, Mustache::Escape::html),
            "&lt;a href=&quot;b&quot;&gt;&amp;&#39; <a href=\"b\">&' <a href=\"b\">&' <a href=\"b\">&'<b>");
  EXPECT_EQ(render("{{x}}", data), "<a href=\"b\">&'");
  EXPECT_EQ(render("{{o}}", R"({"o":{"<":1}})", Mustache::Escape::html), "{&quot;&lt;&quot;:1}");
}

TEST(Mustache, ADottedNameIsFoundStepByStepAndNeverFallsBack) {
  check({
      {"{{fields.name}}", R"({"fields":{"name":"Ann"}})", "Ann"},
      {"{{a.b.c.d}}", R"({"a":{"b":{"c":{"d":1}}}})", "1"},
      {"[{{a.b.c}}]", R"({"a":{}})", "[]"},
      {"[{{a.b.c.name}}]", R"({"a":{"b":{}},"c":{"name":"Jim"}})", "[]"},
      {"[{{#a}}{{b.c}}{{/a}}]", R"({"a":{"b":{}},"b":{"c":"outer"}})", "[]"},
      {"{{#a}}{{b.c}}{{/a}}", R"({"a":{},"b":{"c":"outer"}})", "outer"},
      {"[{{#a}}{{.name}}{{/a}}] [{{#b}}{{.name}}{{/b}}]", R"({"a":{},"b":{"name":"in"},"name":"out"})", "[] [in]"},
      {"[{{a.b}}]", R"({"a":"text","a.b":"no path"})", "[]"},
      {"{{#a.b}}x{{/a.b}}{{^a.c}}y{{/a.c}}", R"({"a":{"b":1}})", "xy"},
  });
}

TEST(Mustache, ASectionRendersOnceForEachItemOrOnceForWhatIsTruthy) {
  check({
      {"{{#l}}<{{n}}>{{/l}}", R"({"l":[{"n":1},{"n":2}]})", "<1><2>"},
      {"{{#l}}({{.}}){{/l}}", R"({"l":["a",1,2.50,true]})", "(a)(1)(2.50)(true)"},
      {"{{#l}}({{#.}}{{.}}{{/.}}){{/l}}", R"({"l":[[1,2],["a"],[]]})", "(12)(a)()"},
      {"[{{#l}}x{{/l}}]", R"({"l":[]})", "[]"},
      {"{{#o}}{{n}}{{m}}{{/o}}", R"({"o":{"n":1},"n":9,"m":2})", "12"},
      {"{{#o}}{{x}}{{/o}}{{x}}", R"({"o":{"x":1},"x":2})", "12"},
      {"{{#s}}{{.}} is {{s}}{{/s}}", R"({"s":"x"})", "x is x"},
      {"[{{#t}}t{{/t}}{{#f}}f{{/f}}{{#z}}z{{/z}}{{#gone}}g{{/gone}}]", R"({"t":true,"f":false,"z":null})", "[t]"},
      {"[{{#e}}empty{{/e}}{{#o}}object{{/o}}{{#n}}zero{{/n}}]", R"({"e":"","o":{},"n":0})", "[objectzero]"},
      {"| A {{#b}}B {{#b}}C{{/b}} D{{/b}} E |", R"({"b":true})", "| A B C D E |"},
      {"| A {{#b}}B {{#b}}C{{/b}} D{{/b}} E |", R"({"b":false})", "| A  E |"},
      {"{{# b }}={{/ b }}", R"({"b":true})", "="},
      {"{{#a}}{{one}}{{#b}}{{one}}{{two}}{{#c.d}}{{one}}{{two}}{{.}}{{/c.d}}{{/b}}{{/a}}",
       R"({"a":{"one":1},"b":{"two":2},"c":{"d":3}})", "112123"},
  });
}

TEST(Mustache, AnInvertedSectionRendersForWhatIsNot) {
  check({
      {"{{^t}}t{{/t}}{{^f}}f{{/f}}{{^z}}z{{/z}}{{^gone}}g{{/gone}}", R"({"t":true,"f":false,"z":null})", "fzg"},
      {"{{^l}}none{{/l}}{{^m}}some{{/m}}", R"({"l":[],"m":[0]})", "none"},
      {"{{^e}}empty{{/e}}{{^o}}object{{/o}}{{^n}}zero{{/n}}", R"({"e":"","o":{},"n":0})", "empty"},
      {"{{^f}}{{x}}{{^f}}{{x}}{{/f}}{{/f}}", R"({"f":false,"x":1})", "11"},
  });
}

TEST(Mustache, ACommentLeavesNothing) {
  check({{"12{{! no {{#such}34}}56", "{}", "1256"}, {"12{{!\n a\n b\n}}34", "{}", "1234"}, {"1 {{! c }} 2", "{}", "1  2"}});
}

TEST(Mustache, ALineWithNothingButATagIsNoLine) {
  check({
      {"a\n{{! c }}\nb", "{}", "a\nb"},
      {"a\n  {{!\n c\n }}  \nb", "{}", "a\nb"},
      {"a\n{{=<% %>=}}\n<%x%>", R"({"x":1})", "a\n1"},
      {"a\n{{#t}}\nx\n{{/t}}\nb", R"({"t":true})", "a\nx\nb"},
      {"a\n{{#t}}\nx\n{{/t}}\nb", R"({"t":false})", "a\nb"},
      {"a\n{{^t}}\nx\n{{/t}}\nb", R"({"t":true})", "a\nb"},
      {"a\n \t{{#l}}\n- {{.}}\n\t{{/l}} \nb", R"({"l":[1,2]})", "a\n- 1\n- 2\nb"},
      {"|\r\n{{#t}}\r\n{{/t}}\r\n|", R"({"t":true})", "|\r\n|"},
      {"  {{#t}}\n#{{/t}}\n/", R"({"t":true})", "#\n/"},
      {"#{{#t}}\n/\n  {{/t}}", R"({"t":true})", "#\n/\n"},
      {"{{! a }}\n{{! b }}\n\n{{! c }}", "{}", "\n"},
  });
}

TEST(Mustache, ALineWithMoreThanATagIsLeftAsItIs) {
  check({
      {"  {{x}}\n", R"({"x":""})", "  \n"},
      {"  {{{x}}}\n {{&x}}\n", R"({"x":1})", "  1\n 1\n"},
      {" {{#t}}YES{{/t}}\n {{#t}}{{/t}}\n", R"({"t":true})", " YES\n \n"},
      {" | {{#t}} {{! c }}\n {{/t}} | \n", R"({"t":true})", " |  \n  | \n"},
      {"a\n{{#t}}{{x}}{{/t}}\nb", R"({"t":true,"x":" "})", "a\n \nb"},
      {"{{! a }} {{! b }}\nc", "{}", " \nc"},
      {"a\r{{! c }}\rb", "{}", "a\r\rb"},
  });
}

TEST(Mustache, DelimitersCanBeSet) {
  check({
      {"{{=<% %>=}}(<%x%> {{x}})", R"({"x":1})", "(1 {{x}})"},
      {"({{=[ ]=}}[x])", R"({"x":1})", "(1)"},
      {"|{{=   @\t @   =}}|@x@|", R"({"x":1})", "||1|"},
      {"{{=| |=}}|#t||x||={{ }}=|{{x}}|x||/t|{{/t}}", R"({"t":true,"x":1})", "11|x||/t|"},
      {"{{=# #=}}##t##x##/t#", R"({"t":true,"x":1})", "1"},
      {"{{=<% %>=}}<%{x}%>", R"({"{x}":1})", "line 1: a tag's content is no name"},
      {"{{=<% %>=}}<%&x%>", R"({"x":1})", "1"},
  });
}

TEST(Mustache, WhatIsWrongIsSaidWithItsLine) {
  check({
      {"a\n{{", "{}", "line 2: a tag is not closed"},
      {"a\n\n{{x}", "{}", "line 3: a tag is not closed"},
      {"{{{x}}", "{}", "line 1: a tag is not closed"},
      {"{{! x\n\n", "{}", "line 1: a tag is not closed"},
      {"a\n{{#b}}\n{{#c}}\n{{/c}}\n", "{}", "line 2: section \"b\" is never closed"},
      {"a\n{{/b}}", "{}", "line 2: section \"b\" is closed and was never opened"},
      {"{{#a}}\n{{#b}}\n{{/a}}\n{{/b}}", "{}", "line 3: section \"a\" is closed inside \"b\""},
      {"{{}}", "{}", "line 1: a tag has no name"},
      {"\n{{ # }}", "{}", "line 2: a tag has no name"},
      {"{{#if x}}{{/if}}", "{}", "line 1: a tag's content is no name"},
      {"{{a {{b}}", "{}", "line 1: a tag's content is no name"},
      {"{{a..b}}", "{}", "line 1: a tag's content is no name"},
      {"{{a.}}", "{}", "line 1: a tag's content is no name"},
      {"{{..}}", "{}", "line 1: a tag's content is no name"},
      {"\r\n\r\n{{>header}}", "{}", "line 3: partials are not supported"},
      {"{{ > header }}", "{}", "line 1: partials are not supported"},
      {"{{=<% %>=}}\n<%> header %>", "{}", "line 2: partials are not supported"},
      {"{{<layout}}{{/layout}}", "{}", "line 1: parents and blocks are not supported"},
      {"{{$title}}{{/title}}", "{}", "line 1: parents and blocks are not supported"},
      {"{{=<%=}}", "{}", "line 1: delimiters are set as in {{=<% %>=}}"},
      {"{{=a b c=}}", "{}", "line 1: delimiters are set as in {{=<% %>=}}"},
      {"{{==}}", "{}", "line 1: delimiters are set as in {{=<% %>=}}"},
      {"{{=}}", "{}", "line 1: a tag is not closed"},
      {"\xFF", "{}", "not UTF-8, or with NUL bytes"},
  });
  EXPECT_EQ(render("{{/a" + repeated("é", 40) + "}}", "{}"),
            "line 1: section \"a" + repeated("é", 30) + "...\" is closed and was never opened");
  EXPECT_EQ(render(std::string(kMaxTemplateLength + 1, 'x'), "{}"), "longer than 1 MiB");
}

TEST(Mustache, SectionsAndDataAreNestedOnlySoDeep) {
  const auto deep = [](int levels) { return repeated("{{#a}}", levels) + "x" + repeated("{{/a}}", levels); };
  EXPECT_EQ(render(deep(64), R"({"a":1})"), "x");
  EXPECT_EQ(render(deep(65), R"({"a":1})"), "line 1: sections are nested more than 64 levels deep");
  EXPECT_EQ(render("x", repeated("{\"a\":", 63) + "{}" + repeated("}", 63)), "x");
  EXPECT_EQ(render("x", repeated("{\"a\":", 64) + "{}" + repeated("}", 64)), "template data: nested more than 64 levels deep");
  EXPECT_EQ(render("x", "{\"a\":" + repeated("[", 100000)), "template data: nested more than 64 levels deep");
}

TEST(Mustache, TheOutputIsAtMostAMebibyte) {
  const auto kib = R"({"x":")" + std::string(1024, 'k') + R"(","l":[)" + repeated("1,", 1023) + "1]}";
  EXPECT_EQ(render("{{#l}}{{x}}{{/l}}", kib).size(), kMaxRenderingLength);
  EXPECT_EQ(render("{{#l}}{{x}}{{/l}}!", kib), "fault: what comes of it is longer than 1 MiB");
  EXPECT_EQ(render("{{#l}}{{#l}}{{#l}}{{x}}{{/l}}{{/l}}{{/l}}", kib), "fault: what comes of it is longer than 1 MiB");
}

TEST(Mustache, LoopsInLoopsEndEvenWhenNothingIsWritten) {
  const auto list = R"({"l":[)" + repeated("1,", 9999) + R"(1],"o":{"a":1}})";
  const auto deep = repeated("{{#o}}", 60) + "{{#l}}{{gone}}{{gone}}{{gone}}{{gone}}{{/l}}" + repeated("{{/o}}", 60);
  for (const std::string& source :
       {std::string("{{#l}}{{#l}}{{/l}}{{/l}}"), std::string("{{#l}}{{#l}}{{gone}}{{/l}}{{/l}}"), deep})
    EXPECT_EQ(render(source, list), "fault: it takes too many steps with this data") << source;
}

TEST(TemplateData, IsAnObjectOfGoodJson) {
  for (const auto* data : {"[]", "1", "\"x\"", "null"}) EXPECT_EQ(render("x", data), "template data: no JSON object") << data;
  EXPECT_EQ(render("x", ""), "template data: malformed JSON at byte 1");
  for (const auto* data : {"{\"a\":}", "{\"a\":1}x", "{\"a\":\"\xC3\"}", "{\"a\":\"\\ud800\"}"})
    EXPECT_TRUE(render("x", data).starts_with("template data: malformed JSON at byte ")) << data;
}

}  // namespace
}  // namespace waybill
