// Texts that no plugin should be given.
#include "hostile_texts.h"

#include <nlohmann/json.hpp>

namespace waybill::conformance {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeep = 100'000;
constexpr std::size_t kLarge = 10 << 20;

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
