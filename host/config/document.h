// A YAML document as a plain tree in which every node knows its line. yaml-cpp stays inside document.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/problem.h"

namespace waybill::config {

struct Node {
  enum class Kind { empty, scalar, list, map };
  Kind kind = Kind::empty;
  int line = 0;        // of the key, for a member of a map
  std::string key;     // set for a member of a map
  std::string text;    // scalar
  bool plain = false;  // scalar: written without quotes, so it may be a number or true or false
  std::vector<Node> children;

  const Node* find(std::string_view name) const;
};

// One document; keys are words and stand once in their map; aliases, tags of one's own and further documents are refused. An
// empty text is an empty node.
tl::expected<Node, Problems> parse_document(const std::string& text, const std::string& file);

// A node as JSON: a plain scalar that JSON reads as a number, true, false or null is that, all else is text.
std::string to_json(const Node& node);

}  // namespace waybill::config
