// Builds the tree from the reader's events; line ends are counted on the way, which tells where each event stands.
#include "base/json_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/json_events.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace waybill {
namespace {

using Kind = JsonNode::Kind;

// nlohmann's message without its own number and line; its column is kept, unless it points at the start of a further line.
std::string reason_in_line(const JsonFault& fault) {
  std::string text = fault.what();
  const auto cut = [&text](std::string_view mark) {
    const auto at = text.find(mark);
    if (at != std::string::npos) text.erase(0, at + mark.size());
    return at != std::string::npos;
  };
  cut("] ");
  const bool has_column = cut(", column ");
  if (has_column && text.starts_with("0: "))
    text.erase(0, 3);
  else if (has_column)
    text.insert(0, "column ");
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c >= 0x80 || c < 0x20; }, '?');
  return (is_out_of_range(fault) ? "a number is out of range: " : "not valid JSON: ") + text;
}

class TreeBuilder final : public JsonEvents {
 public:
  TreeBuilder(const LineCount& count, const std::string& file) : count_(count), file_(file) {}
  JsonNode root;
  Problems problems;

  bool null() override { return add({.kind = Kind::null}); }
  bool boolean(bool value) override { return add({.kind = Kind::boolean, .scalar = value}); }
  bool number_integer(number_integer_t value) override {
    return add({.kind = Kind::integer, .scalar = value, .written = value == 0 ? "-0" : ""});
  }
  bool number_unsigned(number_unsigned_t value) override { return add({.kind = Kind::integer, .scalar = value}); }
  bool number_float(number_float_t value, const string_t& text) override {
    return add({.kind = Kind::number, .scalar = value, .written = is_written_alike(value, text) ? "" : text});
  }
  bool string(string_t& value) override { return add({.kind = Kind::text, .scalar = std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Kind::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Kind::array); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    auto& parent = open_.back();
    if (!parent.keys.insert(name).second)
      problems.push_back({file_, count_.last_read, field_path(path(), name), "stands here a second time; a key may stand once"});
    parent.key = std::move(name);
    parent.key_line = count_.last_read;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const JsonFault& fault) override {
    problems.push_back({file_, count_.last_read, "", reason_in_line(fault)});
    return false;
  }

 private:
  struct Open {
    JsonNode node;
    std::string path;
    std::string key;
    int key_line = 0;
    std::unordered_set<std::string> keys;
  };

  std::string path() const { return open_.empty() ? std::string{} : open_.back().path; }

  // The path of the value that begins now.
  std::string next_path() const {
    if (open_.empty()) return {};
    const auto& parent = open_.back();
    return parent.node.kind == Kind::array ? field_path(parent.path, parent.node.children.size())
                                           : field_path(parent.path, parent.key);
  }

  JsonNode placed(JsonNode node) {
    node.line = count_.last_read;
    if (!open_.empty() && open_.back().node.kind == Kind::object) {
      node.key = open_.back().key;
      node.line = open_.back().key_line;
    }
    return node;
  }

  bool add(JsonNode node) {
    attach(placed(std::move(node)));
    return true;
  }

  bool open(Kind kind) {
    if (open_.size() >= kMaxJsonDepth) {
      problems.push_back({file_, count_.last_read, "", "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels"});
      return false;
    }
    Open next{.node = placed({.kind = kind}), .path = next_path()};
    open_.push_back(std::move(next));
    return true;
  }

  bool close() {
    auto done = std::move(open_.back().node);
    open_.pop_back();
    attach(std::move(done));
    return true;
  }

  void attach(JsonNode node) {
    if (open_.empty())
      root = std::move(node);
    else
      open_.back().node.children.push_back(std::move(node));
  }

  const LineCount& count_;
  const std::string& file_;
  std::vector<Open> open_;
};

nlohmann::json value_of(const JsonNode& node) {
  if (node.kind == Kind::array) {
    auto list = nlohmann::json::array();
    for (const auto& child : node.children) list.push_back(value_of(child));
    return list;
  }
  if (node.kind == Kind::object) {
    auto object = nlohmann::json::object();
    for (const auto& child : node.children) object[child.key] = value_of(child);
    return object;
  }
  if (!node.written.empty()) return number_as_written(node.written);
  return std::visit(
      [](const auto& value) -> nlohmann::json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return nullptr;
        else
          return value;
      },
      node.scalar);
}

}  // namespace

const JsonNode* JsonNode::find(std::string_view name) const {
  if (kind != Kind::object) return nullptr;
  for (const auto& child : children)
    if (child.key == name) return &child;
  return nullptr;
}

tl::expected<JsonNode, Problems> parse_json(std::string_view text, const std::string& file) {
  if (text.size() > kMaxJsonBytes)
    return tl::unexpected(Problems{{file, 0, "", "larger than " + std::to_string(kMaxJsonBytes >> 20) + " MiB"}});
  if (text.starts_with("\xEF\xBB\xBF"))
    return tl::unexpected(Problems{{file, 1, "", "begins with a byte order mark: save it as UTF-8 without one"}});
  if (const auto nul = nul_in(text)) {  // also in a comment
    const auto line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + *nul, '\n'));
    return tl::unexpected(Problems{{file, line, "", "a NUL byte: this is no text"}});
  }
  const auto json = without_comments(text);
  LineCount count;
  TreeBuilder builder(count, file);
  const bool whole = read_json_events(json, builder, count);
  if (!whole || !builder.problems.empty()) return tl::unexpected(std::move(builder.problems));
  return std::move(builder.root);
}

std::string without_comments(std::string_view text) {
  std::string result(text);
  for (std::size_t begin = 0; begin < result.size();) {
    const auto end = std::min(result.find('\n', begin), result.size());
    const auto first = result.find_first_not_of(" \t\r", begin);
    if (first < end && result[first] == '#') result.replace(first, end - first, end - first, ' ');
    begin = end + 1;
  }
  return result;
}

std::string to_json(const JsonNode& value) { return dump_sorted(value_of(value)); }

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMax = 200;
  return json_string(text.substr(0, kMax)) + (text.size() > kMax ? "..." : "");
}

std::string field_path(const std::string& parent, std::string_view name) {
  const bool plain = !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '$';
  });
  if (!plain) return parent + "[" + in_quotes(name) + "]";
  return field_below(parent, name);
}

std::string field_path(const std::string& parent, std::size_t index) { return parent + "[" + std::to_string(index) + "]"; }

std::string field_below(const std::string& parent, std::string_view path) {
  const bool needs_dot = !parent.empty() && !path.empty() && path.front() != '[';
  return parent + (needs_dot ? "." : "") + std::string(path);
}

}  // namespace waybill
