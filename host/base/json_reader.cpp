// Builds trees from nlohmann's events. A number that would be changed becomes a binary value, which JSON itself does not have.
#include "base/json_reader.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/json_events.h"

namespace waybill {
namespace {

constexpr Json::binary_t::subtype_type kNumber = 1;

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, LineCount* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    count_->last_read = count_->next;
    if (*at_ == '\n') ++count_->next;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  LineCount* count_;
};

bool refuse_nul(std::size_t at, JsonEvents& events) {
  return events.parse_error(at + 1, "", nlohmann::json::parse_error::create(101, at + 1, "a NUL byte", nullptr));
}

template <class Tree>
Tree as_written(std::string text) {
  return Tree::binary(typename Tree::binary_t::container_type(text.begin(), text.end()), kNumber);
}

std::string refused_name(const std::string& name) {
  constexpr std::size_t kMax = 64;
  return "the name " + json_string(std::string_view(name).substr(0, kMax)) + (name.size() > kMax ? "..." : "") +
         " stands twice in one object";
}

// What both ways of reading have in common: depth, doubled names, and what is said of malformed texts.
class CheckedEvents : public JsonEvents {
 public:
  explicit CheckedEvents(JsonReading reading) : reading_(reading) {}
  std::string fault;

  bool binary(binary_t&) override { return false; }  // not in JSON
  bool parse_error(std::size_t position, const std::string&, const JsonFault& what) override {
    if (fault.empty())
      fault = (is_out_of_range(what) ? "a number is out of range before byte " : "malformed JSON at byte ") +
              std::to_string(position) + reason_of(what);
    return false;
  }

 protected:
  bool refuse(std::string why) {
    fault = std::move(why);
    return false;
  }
  bool deeper(std::size_t levels) {
    return levels < reading_.levels || refuse("JSON is nested more than " + std::to_string(reading_.levels) + " levels deep");
  }
  bool refuses_doubled() const { return reading_.doubled_names == JsonReading::DoubledNames::refused; }

 private:
  JsonReading reading_;
};

template <class Tree>
class TreeOfText final : public CheckedEvents {
 public:
  using CheckedEvents::CheckedEvents;
  Tree root;

  bool null() override { return place(nullptr), true; }
  bool boolean(bool value) override { return place(value), true; }
  bool number_integer(number_integer_t value) override { return place(value == 0 ? as_written<Tree>("-0") : Tree(value)), true; }
  bool number_unsigned(number_unsigned_t value) override { return place(value), true; }
  bool number_float(number_float_t value, const string_t& text) override {
    return place(is_written_alike(value, text) ? Tree(value) : as_written<Tree>(text)), true;
  }
  bool string(string_t& value) override { return place(std::move(value)), true; }
  bool start_object(std::size_t) override { return open(Tree::object()); }
  bool start_array(std::size_t) override { return open(Tree::array()); }
  bool end_array() override { return open_.pop_back(), true; }
  bool end_object() override {
    if constexpr (kKeepsOrder) {  // a search in each that came before would take the square of their number
      if (refuses_doubled()) {
        std::vector<std::string_view> names;
        for (const auto& member : open_.back()->template get_ref<typename Tree::object_t&>()) names.push_back(member.first);
        std::sort(names.begin(), names.end());
        const auto doubled = std::adjacent_find(names.begin(), names.end());
        if (doubled != names.end()) return refuse(refused_name(std::string(*doubled)));
      }
    }
    return open_.pop_back(), true;
  }
  bool key(string_t& name) override {
    auto& members = open_.back()->template get_ref<typename Tree::object_t&>();
    if constexpr (kKeepsOrder) {
      members.emplace_back(name, nullptr);
      next_ = &members.back().second;
      return true;
    } else {
      const auto [at, fresh] = members.emplace(name, nullptr);
      next_ = &at->second;
      return fresh || !refuses_doubled() || refuse(refused_name(name));
    }
  }

 private:
  static constexpr bool kKeepsOrder = std::is_same_v<Tree, Json>;

  Tree* place(Tree value) {
    Tree* at = &root;
    if (!open_.empty() && open_.back()->is_array()) {
      auto& list = open_.back()->template get_ref<typename Tree::array_t&>();
      at = &list.emplace_back(nullptr);
    } else if (!open_.empty()) {
      at = next_;
    }
    *at = std::move(value);
    return at;
  }
  bool open(Tree empty) {
    if (!deeper(open_.size())) return false;
    open_.push_back(place(std::move(empty)));
    return true;
  }

  std::vector<Tree*> open_;  // only the innermost one grows, so that these stay where they are
  Tree* next_ = nullptr;     // where the value of the name goes that was read last
};

class NamesOfText final : public CheckedEvents {
 public:
  using CheckedEvents::CheckedEvents;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    return !refuses_doubled() || names_.back().insert(name).second || refuse(refused_name(name));
  }

 private:
  bool open() {
    if (!deeper(depth_++)) return false;
    if (refuses_doubled()) names_.emplace_back();
    return true;
  }
  bool close() {
    --depth_;
    if (refuses_doubled()) names_.pop_back();
    return true;
  }

  std::size_t depth_ = 0;
  std::vector<std::set<std::string>> names_;  // of each value that is open, where they matter
};

template <class Tree>
Result<Tree> tree_of(std::string_view text, JsonReading reading) {
  TreeOfText<Tree> tree(reading);
  if (!read_json_events(text, tree)) return fail(Error::Kind::invalid, tree.fault);
  return std::move(tree.root);
}

template <class Tree>
std::optional<std::string> text_of_number(const Tree& value) {
  if (!value.is_binary()) return std::nullopt;
  const auto& bytes = value.get_binary();
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

bool read_json_events(std::string_view text, JsonEvents& events) {
  if (const auto nul = nul_in(text)) return refuse_nul(*nul, events);
  return nlohmann::json::sax_parse(text.begin(), text.end(), &events);
}

bool read_json_events(std::string_view text, JsonEvents& events, LineCount& lines) {
  if (const auto nul = nul_in(text)) {
    lines.next = lines.last_read = 1 + static_cast<int>(std::count(text.begin(), text.begin() + *nul, '\n'));
    return refuse_nul(*nul, events);
  }
  const CountingIterator begin(text.data(), &lines), end(text.data() + text.size(), &lines);
  return nlohmann::json::sax_parse(begin, end, &events);
}

// nlohmann's message without its own prefix, "[json.exception.parse_error.101] parse error at line 1, column 9: ", and without
// what it repeats of the text.
std::string reason_of(const JsonFault& fault) {
  std::string_view message = fault.what();
  message = message.substr(0, message.find("; last read"));
  const auto at = message.find(": ");
  std::string reason;
  if (at != std::string_view::npos && !is_out_of_range(fault)) reason = ": " + std::string(message.substr(at + 2));
  if (reason.size() > 200) reason = reason.substr(0, 200) + "...";
  for (char& c : reason)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  return reason;
}

bool is_out_of_range(const JsonFault& fault) { return fault.id == 406; }

bool is_written_alike(double value, const std::string& text) { return nlohmann::json(value).dump() == text; }

Result<Json> read_json(std::string_view text, JsonReading reading) { return tree_of<Json>(text, reading); }
Result<nlohmann::json> read_sorted_json(std::string_view text, JsonReading reading) {
  return tree_of<nlohmann::json>(text, reading);
}

std::optional<std::string> number_text(const Json& value) { return text_of_number(value); }
std::optional<std::string> number_text(const nlohmann::json& value) { return text_of_number(value); }

std::optional<double> number_of(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  const auto text = number_text(value);
  return text ? std::optional(std::strtod(text->c_str(), nullptr)) : std::nullopt;
}

nlohmann::json number_as_written(std::string text) { return as_written<nlohmann::json>(std::move(text)); }

std::optional<std::size_t> nul_in(std::string_view text) {
  const auto at = text.find('\0');
  return at == std::string_view::npos ? std::nullopt : std::optional(at);
}

bool is_json(std::string_view text) {
  NamesOfText names({.doubled_names = JsonReading::DoubledNames::kept, .levels = text.size()});
  return read_json_events(text, names);
}

Result<void> check_names(std::string_view json) {
  NamesOfText names(JsonReading{});
  if (!read_json_events(json, names)) return fail(Error::Kind::invalid, names.fault);
  return {};
}

}  // namespace waybill
