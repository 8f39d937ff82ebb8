// What stands for a secret in a request: found, checked, and filled in for http_transfer.cpp and authorized_http.cpp.
#include "services/placeholders.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/json_writer.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxName = 64;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

bool is_unreserved(char c) { return is_name_char(c) || c == '~'; }

// RFC 3986, 3.3 and 3.4: what path and query may hold.
bool is_url_char(char c) { return is_unreserved(c) || std::string_view("!$&'()*+,;=:@/?%").find(c) != std::string_view::npos; }

std::string in_form(const std::string& value, SecretForm form) {
  if (form == SecretForm::form) return percent_encoded(value);
  if (form == SecretForm::raw) return value;
  const auto quoted = json_string(value);
  return quoted.substr(1, quoted.size() - 2);
}

// Each whole placeholder, until `is_it` says yes.
template <class IsIt>
std::optional<std::string> find_placeholder(std::string_view text, const IsIt& is_it) {
  for (auto at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const auto rest = text.substr(at);
    const auto opens = rest.starts_with(kSecretOpens) ? kSecretOpens : kOAuth2Opens;
    if (!rest.starts_with(opens)) continue;
    auto end = opens.size();
    while (end < rest.size() && is_name_char(rest[end])) ++end;
    const auto size = end - opens.size();
    if (size == 0 || size > kMaxName || end == rest.size() || rest[end] != '}') continue;
    if (const auto whole = rest.substr(0, end + 1); is_it(whole)) return std::string(whole);
  }
  return std::nullopt;
}

// All texts of a JSON, names as well, one behind the other: what a plugin may make of it.
void append_texts(const Json& json, std::string& all) {
  if (json.is_string()) all += json.get_ref<const std::string&>();
  if (json.is_object())
    for (const auto& [name, value] : json.items()) {
      all += name;
      append_texts(value, all);
    }
  if (json.is_array())
    for (const auto& value : json) append_texts(value, all);
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return out;
}

bool names_secret(std::string_view text) { return text.find(kSecretOpens) != std::string_view::npos; }

std::vector<std::string_view> names_in(std::string_view text, std::string_view opens) {
  std::vector<std::string_view> names;
  for (auto at = text.find(opens); at != std::string_view::npos; at = text.find(opens, at + 1)) {
    const auto name = text.substr(at + opens.size());
    if (const auto end = name.find('}'); end != std::string_view::npos) names.push_back(name.substr(0, end));
  }
  return names;
}

tl::expected<std::string, std::string> fill_names(std::string_view text, std::string_view opens, const ValueOf& value_of) {
  const auto kind = [&] { return opens == kSecretOpens ? "secret" : "OAuth2 client"; };
  std::string filled;
  filled.reserve(text.size());
  for (;;) {
    const auto at = text.find(opens);
    filled.append(text.substr(0, at));
    if (at == std::string_view::npos) return filled;
    text.remove_prefix(at + opens.size());
    const auto end = text.find('}');
    if (end == std::string_view::npos) return tl::unexpected("has an unfinished " + std::string(opens));
    const auto* value = value_of(text.substr(0, end));
    if (value == nullptr) return tl::unexpected(std::string("names an unknown ") + kind());
    filled.append(*value);
    text.remove_prefix(end + 1);
  }
}

tl::expected<std::string, std::string> fill_secrets(std::string_view text, const Secrets& secrets) {
  return fill_names(text, kSecretOpens, [&](std::string_view name) {
    const auto* found = secrets.find(name);
    return found == nullptr ? nullptr : &found->front().expose();
  });
}

Result<std::string> filled_url(std::string_view url, const Secrets& secrets) {
  const auto refuse = [](std::string why) { return fail(Error::Kind::invalid, "the URL " + why); };
  const auto first = url.find(kSecretOpens);
  if (first == std::string_view::npos) return std::string(url);
  const auto scheme = url.find("://");
  const auto path = scheme == std::string_view::npos ? scheme : url.find_first_of("/?", scheme + 3);
  if (path == std::string_view::npos || first < path) return refuse("has a secret outside of its path and query");
  for (const auto name : names_in(url, kSecretOpens)) {
    const auto* found = secrets.find(name);
    if (found == nullptr) return refuse("names an unknown secret");
    const auto& value = found->front().expose();
    if (!std::all_of(value.begin(), value.end(), is_url_char))
      return refuse("names a secret with characters that a URL may not hold: write them percent-encoded");
  }
  auto filled = fill_secrets(url, secrets);
  if (!filled) return refuse(filled.error());
  return std::move(*filled);
}

Result<std::string> filled_body(std::string body, std::span<const BodySecret> inserts, const Secrets& secrets) {
  const auto refuse = [](const char* why) { return fail(Error::Kind::invalid, std::string("the body ") + why); };
  if (inserts.empty()) return body;
  std::string filled;
  std::size_t done = 0;
  for (const auto& [offset, name, form] : inserts) {
    if (offset < done || offset > body.size()) return refuse("has secrets out of order, or behind its end");
    const auto* found = secrets.find(name);
    if (found == nullptr) return refuse("names an unknown secret");
    filled.append(body, done, offset - done).append(in_form(found->front().expose(), form));
    done = offset;
  }
  filled.append(body, done);
  return filled;
}

bool names_any(std::string_view text) {
  return find_placeholder(text, [](std::string_view) { return true; }).has_value();
}

Submitted::Submitted(std::string_view payload, std::string_view context) {
  for (const auto text : {payload, context}) {
    raw_.append(text);
    if (const auto json = read_json(text)) append_texts(*json, decoded_);
  }
}

bool Submitted::holds(std::string_view placeholder) const {
  return raw_.find(placeholder) != std::string::npos || decoded_.find(placeholder) != std::string::npos;
}

std::optional<std::string> operators_placeholder(std::string_view text, const Submitted& submitted) {
  return find_placeholder(text, [&](std::string_view whole) { return !submitted.holds(whole); });
}

std::optional<std::string> submitted_placeholder(std::string_view text, const Submitted& submitted) {
  return find_placeholder(text, [&](std::string_view whole) { return submitted.holds(whole); });
}

}  // namespace waybill
