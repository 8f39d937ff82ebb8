// Texts that no plugin should be given.
#include "hostile_texts.h"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace waybill::conformance {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeep = 100'000;
constexpr std::size_t kLarge = 10 << 20;

const std::vector<std::pair<const char*, Json>>& odd_values() {
  static const auto& list = *new std::vector<std::pair<const char*, Json>>{
      {"null", nullptr},
      {"false", false},
      {"0", 0},
      {"-1", -1},
      {"1.5", 1.5},
      {"a number beyond 64 bits", 1e300},
      {"the greatest whole number", std::numeric_limits<std::uint64_t>::max()},
      {"an empty text", ""},
      {"a text of 300 bytes", std::string(300, 'x')},
      {"a text of 70,000 bytes", std::string(70'000, 'x')},
      {"a text that is not ASCII", "Zo\u00eb \xf0\x9f\x93\xae \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"},
      {"a text with a zero byte", std::string("a\0b", 3)},
      {"a text with line breaks", "a\r\nBcc: b@b.test\n\n.\n"},
      {"a text of format directives", "%s%n%p{0}{secret:x}{{y}}"},
      {"a text that is a number", "12"},
      {"an empty array", Json::array()},
      {"an array of 1,000", Json(1000, "x")},
      {"an empty object", Json::object()},
      {"an object", {{"a", {{"b", 1}}}}}};
  return list;
}

void add_odd(const Json& whole, const Json::json_pointer& at, std::vector<NamedText>& list) {
  const auto add = [&](const std::string& what, const Json& json) {
    if (list.size() < kMaxOddTexts) list.emplace_back(what, json.dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  const auto& here = whole.at(at);
  if (!at.empty()) {
    const auto name = "the sample with " + at.to_string();
    for (const auto& [what, value] : odd_values()) {
      auto odd = whole;
      odd.at(at) = value;
      add(name + " as " + what, odd);
    }
    auto without = whole;
    auto& parent = without.at(at.parent_pointer());
    if (parent.is_object()) {
      parent.erase(at.back());
      add(name + " left out", without);
    }
  }
  if (here.is_object())
    for (const auto& [field, unused] : here.items()) add_odd(whole, at / field, list);
  if (here.is_array())
    for (std::size_t i = 0; i < here.size() && i < 2; ++i) add_odd(whole, at / i, list);
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace

std::vector<NamedText> wrong_objects(const std::string& sample) {
  std::vector<NamedText> list{{"the sample", sample},
                              {"{}", "{}"},
                              {"an unknown field", R"({"no_such_field":true})"},
                              {"a url that is a number", R"({"url":1})"},
                              {"a url that is empty", R"({"url":""})"},
                              {"a url that is none", R"({"url":"\n://"})"}};
  const auto json = Json::parse(sample, nullptr, false);
  if (!json.is_object()) return list;
  const std::pair<const char*, Json> values[] = {{"null", nullptr},      {"true", true},
                                                 {"a number", -1e300},   {"a text", "\u0001x"},
                                                 {"an array", {1, "x"}}, {"an object", {{"a", {{"b", 1}}}}}};
  for (const auto& [field, unused] : json.items())
    for (const auto& [what, value] : values) {
      auto wrong = json;
      wrong[field] = value;
      list.emplace_back("the sample with " + field + " as " + what, wrong.dump());
    }
  return list;
}

std::vector<NamedText> odd_texts(const std::string& sample) {
  std::vector<NamedText> list;
  const auto json = Json::parse(sample, nullptr, false);
  if (!json.is_discarded()) add_odd(json, Json::json_pointer(), list);
  return list;
}

std::vector<NamedText> hostile_texts(const std::string& sample) {
  auto list = wrong_objects(sample);
  list.insert(list.end(), {{"nothing at all", ""},
                           {"an array", "[]"},
                           {"null", "null"},
                           {"a number", "12"},
                           {"a text", "\"x\""},
                           {"no JSON", "waybill"},
                           {"JSON that is cut off", sample.substr(0, sample.size() - 1)},
                           {"a zero byte", std::string(1, '\0')},
                           {"bytes that are not UTF-8", "{\"url\":\"\xff\xfe\xc0\xaf\",\"\x80\":\"\xed\xa0\x80\"}"},
                           {"arrays nested 100,000 deep", std::string(kDeep, '[') + std::string(kDeep, ']')},
                           {"arrays nested 100,000 deep and cut off", std::string(kDeep, '[')},
                           {"objects nested 100,000 deep", repeated("{\"a\":", kDeep) + "1" + std::string(kDeep, '}')},
                           {"a text of 10 MB", "{\"url\":\"" + std::string(kLarge, 'x') + "\"}"},
                           {"10 MB that are not JSON", std::string(kLarge, '{')}});
  return list;
}

}  // namespace waybill::conformance
