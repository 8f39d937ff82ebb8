// What the C++ client's reader of JSON promises of any text, held against nlohmann_json: for its tests and for the fuzzer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "waybill/client.hpp"

namespace waybill::client::testing {

inline nlohmann::json tree_of(const detail::Value& value) {
  nlohmann::json tree;
  std::string text;
  if (value.text()[0] == '{') {
    tree = nlohmann::json::object();
    value.members([&](const std::string& name, const detail::Value& member) {
      tree[name] = tree_of(member);
      return true;
    });
  } else if (value.text()[0] == '[') {
    tree = nlohmann::json::array();
    value.items([&](const detail::Value& item) {
      tree.push_back(tree_of(item));
      return true;
    });
  } else if (detail::read(value, text)) {
    tree = text;
  } else {
    tree = nlohmann::json::parse(value.text(), nullptr, false);
  }
  return tree;
}

// "": all is kept. nlohmann_json also refuses texts that are not UTF-8, and numbers that no double holds.
inline std::string broken_promise(const std::string& text) {
  const auto value = detail::Value::of(text);
  if (text.find('\0') != std::string::npos) return value ? "a NUL was taken" : "";  // which ends a text for nlohmann_json
  const auto expected = nlohmann::json::parse(text, nullptr, false);
  const bool is_ascii = std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > 0x7f; });
  if (!expected.is_discarded()) {
    const bool is_deep = std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; }) > detail::kMaxDepth;
    const bool is_marked = text.substr(0, 3) == "\xEF\xBB\xBF";  // which RFC 8259 lets a reader refuse
    if (!value) return is_deep || is_marked ? "" : "JSON was refused";
    return tree_of(*value) == expected ? "" : "JSON was read as something else";
  }
  if (value && is_ascii && text.find_first_of("eE") == std::string::npos && text.size() < 300) return "what is no JSON was taken";
  return "";
}

}  // namespace waybill::client::testing
