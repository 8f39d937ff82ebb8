// The plain fields of a JSON object: for a sender that wants a few words of its settings or its destination, and no JSON library.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waybill/plugin/json_string.hpp"

namespace waybill::plugin {

// A view of one JSON object, which must outlive it. Made for what the host hands over, whose shape it has checked against the
// action's schema: text that is no JSON object makes the constructor throw, but what stands inside nested values is passed over.
// The host is told what a sender's constructor or send throws (see plugin.hpp), so the sender need not catch it.
class Fields {
 public:
  explicit Fields(std::string_view json) : rest_(json) {
    expect('{');
    if (!take('}')) {
      do {
        skip_space();
        auto name = detail::decoded(string());
        expect(':');
        members_.emplace_back(std::move(name), value());
      } while (take(','));
      expect('}');
    }
    skip_space();
    if (!rest_.empty()) fail();
  }

  // Of a field that is there and not null. Throw if it is of another type; number() also if it does not fit.
  std::optional<std::string> text(std::string_view name) const {
    const auto found = find(name);
    if (!found) return std::nullopt;
    if (found->front() != '"') throw std::invalid_argument(std::string(name) + " is not a string");
    return detail::decoded(*found);
  }
  std::optional<std::int64_t> number(std::string_view name) const {
    const auto found = find(name);
    if (!found) return std::nullopt;
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), out);
    if (error != std::errc() || end != found->data() + found->size())
      throw std::invalid_argument(std::string(name) + " is not a whole number");
    return out;
  }
  std::optional<bool> flag(std::string_view name) const {
    const auto found = find(name);
    if (!found) return std::nullopt;
    if (*found != "true" && *found != "false") throw std::invalid_argument(std::string(name) + " is neither true nor false");
    return *found == "true";
  }

 private:
  [[noreturn]] static void fail() { throw std::invalid_argument("this is not a JSON object"); }

  std::optional<std::string_view> find(std::string_view name) const {
    for (const auto& [key, value] : members_)
      if (key == name && value != "null") return value;
    return std::nullopt;
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail();
  }
  std::string_view cut(std::size_t size) {
    const auto out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  // With its quotes.
  std::string_view string() {
    if (rest_.empty() || rest_.front() != '"') fail();
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        return cut(i + 1);
      }
    }
    fail();
  }

  std::string_view value() {
    skip_space();
    const auto whole = rest_;
    std::size_t open = 0;
    do {
      const char c = rest_.empty() ? '\0' : rest_.front();
      if (c == '"') {
        string();
      } else if (c == '{' || c == '[') {
        ++open, cut(1);
      } else if (open > 0 && (c == '}' || c == ']')) {
        --open, cut(1);
      } else if (open > 0 && (c == ',' || c == ':')) {
        cut(1);
      } else {
        const auto size = std::min(rest_.find_first_of(" \t\r\n,:]}[{\""), rest_.size());
        if (size == 0) fail();
        cut(size);
      }
      if (open > 0) skip_space();
    } while (open > 0);
    return whole.substr(0, whole.size() - rest_.size());
  }

  std::string_view rest_;
  std::vector<std::pair<std::string, std::string_view>> members_;
};

}  // namespace waybill::plugin
