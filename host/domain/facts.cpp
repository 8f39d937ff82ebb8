// Takes values from JSON by pointer, URL part and pattern. Nothing here throws on what tenants sent.
#include "domain/facts.h"

#include <algorithm>
#include <boost/regex.hpp>
#include <boost/url.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/json_reader.h"

namespace waybill {

class TextPattern {
 public:
  explicit TextPattern(const std::string& text) : pattern(text) {}
  boost::regex pattern;
};

struct Facts::Document {
  nlohmann::json json = nlohmann::json::object();
};

namespace {

using nlohmann::json;

constexpr std::size_t kMaxUrl = 8192;      // bytes of a text that a URL part is taken from
constexpr std::size_t kMaxMatched = 1024;  // and of one that a pattern is searched in

std::vector<std::string> tokens_of(std::string_view pointer) {
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      tokens.emplace_back();
    } else if (pointer[i] == '~' && i + 1 < pointer.size()) {
      tokens.back() += pointer[++i] == '0' ? '~' : '/';
    } else {
      tokens.back() += pointer[i];
    }
  }
  return tokens;
}

const json* find(const json& document, std::string_view pointer) {
  const json* at = &document;
  for (const auto& token : tokens_of(pointer)) {
    if (at->is_object()) {
      const auto member = at->find(token);
      if (member == at->end()) return nullptr;
      at = &*member;
    } else if (at->is_array()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
      if (error != std::errc{} || end != token.data() + token.size() || index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else {
      return nullptr;
    }
  }
  return at;
}

// Servers disagree on where a segment with such a slash ends, and on what `..` behind it leads to.
bool has_encoded_slash(std::string_view path) {
  return path.find("%2f") != std::string_view::npos || path.find("%2F") != std::string_view::npos;
}

std::optional<std::string> url_part(const std::string& text, const std::string& part) {
  if (text.size() > kMaxUrl) return std::nullopt;
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed) return std::nullopt;
  boost::urls::url url(*parsed);
  if (part.starts_with("path") && has_encoded_slash(url.encoded_path())) return std::nullopt;
  url.normalize();  // dot segments lead elsewhere
  // Boost keeps the length of the path as it was and fills it up with NUL; a second reading does not.
  const auto normal = boost::urls::parse_uri(url.buffer());
  if (!normal) return std::nullopt;
  if (part == "scheme") return std::string(normal->scheme());
  if (part == "host") return std::string(normal->host());
  if (part == "path") return std::string(normal->path());
  std::size_t wanted = 0;
  std::from_chars(part.data() + part.find('/') + 1, part.data() + part.size(), wanted);
  for (const auto& segment : normal->segments())
    if (wanted-- == 0) return std::string(segment);
  return std::nullopt;
}

std::optional<std::string> matched(const std::string& text, const TextPattern& pattern, int group) {
  if (text.size() > kMaxMatched) return std::nullopt;
  try {
    boost::smatch found;
    if (!boost::regex_search(text, found, pattern.pattern) || static_cast<std::size_t>(group) >= found.size())
      return std::nullopt;
    return found[group].matched ? std::optional(found[group].str()) : std::nullopt;
  } catch (const std::runtime_error&) {  // too complex for this text
    return std::nullopt;
  }
}

std::optional<json> take(const json& document, const Term& term) {
  const json* found = find(document, term.at);
  if (!found) return std::nullopt;
  if (term.count) return found->is_structured() ? std::optional<json>(found->size()) : std::nullopt;
  if (term.is_plain() || !found->is_string()) {
    if (!term.url_part.empty() || term.match) return std::nullopt;
    return *found;
  }
  std::optional<std::string> text = found->get<std::string>();
  if (!term.url_part.empty()) text = url_part(*text, term.url_part);
  if (text && term.match) text = matched(*text, *term.match, term.group);
  if (!text) return std::nullopt;
  if (term.ignore_case) text = lower_ascii(*text);
  return json(std::move(*text));
}

}  // namespace

std::string Term::key() const {
  return at + '\0' + url_part + '\0' + match_text + '\0' + std::to_string(group) + (count ? "#" : "") + (ignore_case ? "i" : "");
}

std::shared_ptr<const TextPattern> compile_pattern(const std::string& text) try {
  return std::make_shared<const TextPattern>(text);
} catch (const std::runtime_error&) {
  return nullptr;
}

Facts::Facts() : document_(std::make_unique<Document>()) {}
Facts::Facts(Facts&&) noexcept = default;
Facts& Facts::operator=(Facts&&) noexcept = default;
Facts::~Facts() = default;

void Facts::set(std::string_view pointer, std::string_view text) {
  auto value = read_sorted_json(text, {.doubled_names = JsonReading::DoubledNames::kept});
  if (!value) return;
  json* at = &document_->json;
  for (const auto& token : tokens_of(pointer)) at = &(*at)[token];
  *at = std::move(*value);
}

void Facts::remove(std::string_view pointer) { document_->json.erase(std::string(pointer.substr(1))); }

JsonValue Facts::value(const Term& term) const {
  const auto found = take(document_->json, term);
  if (!found) return JsonMissing{};
  if (const auto number = number_of(*found)) return *number;
  switch (found->type()) {
    case json::value_t::null:
      return JsonNull{};
    case json::value_t::boolean:
      return found->get<bool>();
    case json::value_t::string:
      return found->get<std::string>();
    default:
      return JsonCompound{};
  }
}

std::string Facts::json_of(const Term& term) const {
  const auto found = take(document_->json, term);
  return found ? dump_sorted(*found) : std::string();
}

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1'))) return false;
  return true;
}

}  // namespace waybill
