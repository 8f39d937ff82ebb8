// Strict reading. Text is checked with simdjson, which is quick, and only where that does not take it with the slower
// reader, which says what is wrong and where. Values are cut out of the text as they stand.
#include "api/json_object.h"

#include <simdjson.h>

#include <algorithm>
#include <set>

#include "api/json_text.h"
#include "base/json_events.h"
#include "base/json_reader.h"

namespace waybill {
namespace {

// Takes only what the other parser takes as well. Some good texts are not taken: numbers of more than 64 bits, a byte order mark,
// the last of the levels that are allowed.
class QuickCheck {
 public:
  explicit QuickCheck(std::size_t bytes) : usable_(parser_.allocate(bytes, kMaxJsonLevels) == simdjson::SUCCESS) {}
  bool takes(std::string_view text) { return usable_ && parser_.parse(text.data(), text.size()).error() == simdjson::SUCCESS; }

 private:
  simdjson::dom::parser parser_;
  bool usable_;
};

bool is_surely_good(std::string_view text) {
  constexpr std::size_t kKept = 64 << 10;  // bytes; a parser holds some fourteen times as much
  if (text.size() > kKept) return QuickCheck(text.size()).takes(text);
  thread_local QuickCheck check(kKept);
  return check.takes(text);
}

// Reads the whole text, and keeps the first thing that is wrong with it. Reading goes on to the end all the same: a text that is
// no JSON is that before anything else.
class TopLevel final : public JsonEvents {
 public:
  explicit TopLevel(JsonObject::Fields known) : known_(known) {}

  std::string fault;
  bool malformed = false;

  bool null() override { return value("null"); }
  bool boolean(bool) override { return value("a boolean"); }
  bool number_integer(number_integer_t) override { return value("a number"); }
  bool number_unsigned(number_unsigned_t) override { return value("a number"); }
  bool number_float(number_float_t, const string_t&) override { return value("a number"); }
  bool binary(binary_t&) override { return value("binary"); }
  bool string(string_t&) override { return value("a string"); }
  bool start_object(std::size_t) override { return deeper(); }
  bool start_array(std::size_t) override { return value("an array") && deeper(); }
  bool end_object() override { return --depth_, true; }
  bool end_array() override { return --depth_, true; }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    if (std::find(known_.begin(), known_.end(), name) == known_.end()) return refuse("unknown field \"" + shortened(name) + "\"");
    return seen_.insert(name).second || refuse("field \"" + name + "\" is given twice");
  }
  bool parse_error(std::size_t position, const std::string&, const JsonFault& what) override {
    malformed = true;
    fault = (is_out_of_range(what) ? "a number is out of range before byte " : "malformed JSON at byte ") +
            std::to_string(position) + reason_of(what);
    return false;
  }

 private:
  static std::string shortened(const std::string& name) { return name.size() <= 64 ? name : name.substr(0, 64) + "..."; }

  bool refuse(std::string why) {
    if (fault.empty()) fault = std::move(why);
    return true;
  }
  bool value(std::string_view kind) { return depth_ > 0 || refuse("the body must be a JSON object, not " + std::string(kind)); }
  bool deeper() {
    return ++depth_ <= kMaxJsonLevels || refuse("JSON is nested more than " + std::to_string(kMaxJsonLevels) + " levels deep");
  }

  JsonObject::Fields known_;
  std::set<std::string> seen_;
  std::size_t depth_ = 0;
};

// The text of a string literal.
std::string unquoted(std::string_view literal) {
  if (literal.find('\\') == std::string_view::npos) return std::string(literal.substr(1, literal.size() - 2));
  const auto read = read_json(literal);
  return read ? read->get<std::string>() : std::string();
}

// The one of `known` that a literal stands for; empty when it is none.
std::string_view known_name(std::string_view literal, JsonObject::Fields known) {
  const std::string text = unquoted(literal);
  const auto found = std::find(known.begin(), known.end(), text);
  return found == known.end() ? std::string_view{} : *found;
}

}  // namespace

Result<JsonObject> JsonObject::parse(std::string_view text, Fields known) {
  if (auto object = parse_quickly(text, known)) return std::move(*object);
  return parse_thoroughly(text, known);
}

std::optional<JsonObject> JsonObject::parse_quickly(std::string_view text, Fields known) {
  const auto first = skip_space(text, 0);
  if (first == text.size() || text[first] != '{' || !is_surely_good(text)) return std::nullopt;
  return cut(text, known);
}

std::string malformed_json(std::string_view text) {
  if (is_surely_good(text)) return {};
  TopLevel top({});
  read_json_events(text, top);
  return top.malformed ? top.fault : std::string();
}

Result<JsonObject> JsonObject::parse_thoroughly(std::string_view text, Fields known) {
  TopLevel top(known);
  if (!read_json_events(text, top) || !top.fault.empty()) return fail(Error::Kind::invalid, top.fault);
  auto object = cut(text, known);
  if (!object) return fail(Error::Kind::bug, "a good JSON object could not be cut into its members");
  return std::move(*object);
}

// The members of a good JSON object; none if one is unknown or given twice.
std::optional<JsonObject> JsonObject::cut(std::string_view text, Fields known) {
  JsonObject object;
  object.members_.reserve(known.size());
  std::size_t at = skip_space(text, text.find('{') + 1);
  while (at < text.size() && text[at] != '}') {
    const std::size_t close = end_of_string(text, at);
    const auto name = known_name(text.substr(at, close - at), known);
    if (name.empty() || object.has(name)) return std::nullopt;
    const std::size_t value = skip_space(text, skip_space(text, close) + 1);
    const std::size_t end = end_of_value(text, value);
    object.members_.push_back({name, text.substr(value, end - value)});
    at = skip_space(text, end);
    if (at < text.size() && text[at] == ',') at = skip_space(text, at + 1);
  }
  return object;
}

Result<std::string> JsonObject::string(std::string_view name) const {
  const auto value = raw(name);
  if (value.empty()) return fail(Error::Kind::invalid, std::string(name) + " is missing");
  if (value.front() != '"') return fail(Error::Kind::invalid, std::string(name) + " must be a string");
  return unquoted(value);
}

std::string_view JsonObject::raw(std::string_view name) const {
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.name == name; });
  return found == members_.end() ? std::string_view{} : found->value;
}

}  // namespace waybill
