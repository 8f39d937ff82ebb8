// Strict reading with nlohmann's SAX parser; values are cut out of the text as they stand.
#include "api/json_object.h"

#include <nlohmann/json.hpp>

namespace waybill {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) break;
      --depth;
    } else if (depth == 0 && (c == ',' || is_space(c))) {
      break;
    }
  }
  return at;
}

namespace {

// Checks the whole text and remembers what the top-level members are. Only strings are kept.
class TopLevel final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TopLevel(const std::set<std::string, std::less<>>& known) : known_(known) {}

  std::string fault;
  std::map<std::string, std::string, std::less<>> strings;
  std::set<std::string, std::less<>> others;  // members that are no strings

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t) override { return value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return value("a number"); }
  bool binary(binary_t&) override { return value("binary"); }
  bool string(string_t& text) override {
    if (depth_ == 1) strings.emplace(key_, text);
    return depth_ > 0 || refuse("the body must be a JSON object, not a string");
  }
  bool start_object(std::size_t) override { return (depth_ != 1 || value("an object")) && deeper(); }
  bool start_array(std::size_t) override { return (depth_ > 1 || value("an array")) && deeper(); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    if (!known_.contains(name)) return refuse("unknown field \"" + shortened(name) + "\"");
    if (!seen_.insert(name).second) return refuse("field \"" + name + "\" is given twice");
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    if (fault.empty()) fault = "malformed JSON at byte " + std::to_string(position) + reason_of(e.what());
    return false;
  }

 private:
  static std::string shortened(const std::string& name) { return name.size() <= 64 ? name : name.substr(0, 64) + "..."; }

  // The library's message without its own prefix: "[json.exception.parse_error.101] parse error at line 1, column 9: ...".
  static std::string reason_of(std::string_view message) {
    const auto at = message.find(": ");
    std::string reason = at == std::string_view::npos ? "" : ": " + std::string(message.substr(at + 2));
    if (reason.size() > 200) reason = reason.substr(0, 200) + "...";
    for (char& c : reason)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
    return reason;
  }

  bool refuse(std::string why) {
    fault = std::move(why);
    return false;
  }
  bool value(std::string_view kind) {
    if (depth_ == 0) return refuse("the body must be a JSON object, not " + std::string(kind));
    if (depth_ == 1) others.insert(key_);
    return true;
  }
  bool deeper() {
    return ++depth_ <= kMostJsonLevels || refuse("JSON is nested more than " + std::to_string(kMostJsonLevels) + " levels deep");
  }

  const std::set<std::string, std::less<>>& known_;
  std::set<std::string> seen_;
  std::string key_;
  std::size_t depth_ = 0;
};

// The bytes of a top-level member's value, in a text known to be a good JSON object that has it.
std::string_view raw_member(std::string_view text, std::string_view name) {
  std::size_t at = skip_space(text, text.find('{') + 1);
  while (at < text.size() && text[at] != '}') {
    std::size_t close = at + 1;  // of the name, which may hold colons and escapes
    for (; text[close] != '"'; ++close)
      if (text[close] == '\\') ++close;
    const auto literal = text.substr(at, close + 1 - at);
    const std::size_t value = skip_space(text, skip_space(text, close + 1) + 1);
    const std::size_t end = end_of_value(text, value);
    if (nlohmann::json::parse(literal) == name) return text.substr(value, end - value);
    at = skip_space(text, end);
    if (at < text.size() && text[at] == ',') at = skip_space(text, at + 1);
  }
  return {};
}

}  // namespace

Result<JsonObject> JsonObject::parse(std::string_view text, const Fields& known) {
  TopLevel top(known);
  if (!nlohmann::json::sax_parse(text, &top)) return fail(Error::Kind::invalid, top.fault);
  JsonObject object;
  object.text_ = text;
  object.strings_ = std::move(top.strings);
  object.others_ = std::move(top.others);
  return object;
}

bool JsonObject::has(std::string_view name) const { return strings_.contains(name) || others_.contains(name); }

Result<std::string> JsonObject::string(std::string_view name) const {
  if (others_.contains(name)) return fail(Error::Kind::invalid, std::string(name) + " must be a string");
  const auto found = strings_.find(name);
  if (found == strings_.end()) return fail(Error::Kind::invalid, std::string(name) + " is missing");
  return found->second;
}

std::string_view JsonObject::raw(std::string_view name) const { return has(name) ? raw_member(text_, name) : std::string_view{}; }

}  // namespace waybill
