// Builds the tree from yaml-cpp's events, so that duplicate keys, quotes and lines are still there to be seen.
#include "config/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/json_document.h"
#include "base/json_reader.h"

namespace waybill::config {
namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr auto kBadKey = "a key must be a word (is a bracket before it left open?)";

struct Refusal {
  int line;
  std::string message;
};

int line_of(const YAML::Mark& mark) { return mark.line + 1; }

bool names_own_type(const std::string& tag, std::string_view standard) {
  return !tag.empty() && tag != "?" && tag != "!" && tag != std::string("tag:yaml.org,2002:").append(standard);
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  Node root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add({.kind = Node::Kind::empty, .line = line_of(mark)}); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{line_of(mark), "aliases (*name) are not allowed"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    if (names_own_type(tag, "str")) throw Refusal{line_of(mark), "tags (!name) are not allowed"};
    add({.kind = Node::Kind::scalar, .line = line_of(mark), .text = value, .plain = tag.empty() || tag == "?"});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    if (names_own_type(tag, "seq")) throw Refusal{line_of(mark), "tags (!name) are not allowed"};
    open({.kind = Node::Kind::list, .line = line_of(mark)});
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    if (names_own_type(tag, "map")) throw Refusal{line_of(mark), "tags (!name) are not allowed"};
    open({.kind = Node::Kind::map, .line = line_of(mark)});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    bool has_key = false;  // a map whose next event is the value of `key`
    std::string key;
    int key_line = 0;
  };

  void open(Node node) {
    if (open_.size() >= kMaxDepth) throw Refusal{node.line, "nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    if (!open_.empty() && open_.back().node.kind == Node::Kind::map && !open_.back().has_key) throw Refusal{node.line, kBadKey};
    open_.push_back({.node = std::move(node)});
  }

  void close() {
    Node done = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(done));
  }

  void add(Node node) {
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    auto& parent = open_.back();
    if (parent.node.kind == Node::Kind::map) {
      if (!parent.has_key) {
        if (node.kind != Node::Kind::scalar || node.text.empty()) throw Refusal{node.line, kBadKey};
        parent.has_key = true;
        parent.key = std::move(node.text);
        parent.key_line = node.line;
        return;
      }
      parent.has_key = false;
      node.key = std::move(parent.key);
      node.line = parent.key_line;
    }
    parent.node.children.push_back(std::move(node));
  }

  std::vector<Open> open_;
};

void find_duplicates(const Node& node, const std::string& path, const std::string& file, Problems& problems) {
  std::set<std::string_view> seen;
  for (const auto& child : node.children) {
    const auto child_path = field_below(path, child.key);
    if (node.kind == Node::Kind::map && !seen.insert(child.key).second)
      problems.push_back({file, child.line, child_path, "stands here a second time; a key may stand once"});
    find_duplicates(child, child_path, file, problems);
  }
}

nlohmann::json value_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::empty:
      return nullptr;
    case Node::Kind::list: {
      auto list = nlohmann::json::array();
      for (const auto& child : node.children) list.push_back(value_of(child));
      return list;
    }
    case Node::Kind::map: {
      auto map = nlohmann::json::object();
      for (const auto& child : node.children) map[child.key] = value_of(child);
      return map;
    }
    case Node::Kind::scalar:
      break;
  }
  if (!node.plain) return node.text;
  auto value = read_sorted_json(node.text);
  if (!value) return node.text;
  if (value->is_boolean() || value->is_number_integer()) return std::move(*value);
  const bool has_point = node.text.find_first_of(".eE") != std::string::npos;  // else a whole number that is too long to keep
  return has_point && number_of(*value) ? std::move(*value) : nlohmann::json(node.text);
}

// The first line up to `last` that is indented with a tab; 0 if there is none.
int tabbed_line(const std::string& text, int last) {
  std::istringstream in(text);
  std::string line;
  for (int number = 1; number <= last && std::getline(in, line); ++number)
    if (line.find('\t') < line.find_first_not_of(" \t")) return number;
  return 0;
}

Problem syntax_problem(const std::string& text, const std::string& file, const YAML::Exception& error) {
  const int line = error.mark.is_null() ? 0 : line_of(error.mark);
  if (const int tabbed = tabbed_line(text, line + 1))
    return {file, tabbed, "", "not valid YAML: the line is indented with a tab; indent with spaces"};
  return {file, line, "", "not valid YAML: " + error.msg};
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  for (const auto& child : children)
    if (child.key == name) return &child;
  return nullptr;
}

tl::expected<Node, Problems> parse_document(const std::string& text, const std::string& file) {
  if (const auto nul = nul_in(text)) {
    const auto line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(*nul), '\n'));
    return tl::unexpected(Problems{{file, line, "", "a NUL byte: this is no text"}});
  }
  TreeBuilder builder;
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    if (parser.HandleNextDocument(builder)) {
      TreeBuilder second;
      if (parser.HandleNextDocument(second)) throw Refusal{second.root.line, "a second document is not allowed"};
    }
  } catch (const Refusal& refused) {
    return tl::unexpected(Problems{{file, refused.line, "", refused.message}});
  } catch (const YAML::Exception& error) {
    return tl::unexpected(Problems{syntax_problem(text, file, error)});
  }
  Problems problems;
  find_duplicates(builder.root, "", file, problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return std::move(builder.root);
}

std::string to_json(const Node& node) { return dump_sorted(value_of(node)); }

}  // namespace waybill::config
