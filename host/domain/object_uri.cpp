// The rules for buckets and keys: https://cloud.google.com/storage/docs/buckets#naming and /objects#naming.
#include "domain/object_uri.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"

namespace waybill {
namespace {

constexpr std::string_view kScheme = "gs://";
constexpr std::size_t kMaxKeyLength = 1024;

tl::unexpected<Error> refuse(const std::string& why) { return fail(Error::Kind::invalid, "object URI: " + why); }

std::vector<std::string_view> split_at(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (auto end = text.find(at); end != std::string_view::npos; end = text.find(at)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

// What is wrong with a bucket's name; "": nothing.
std::string fault_in_bucket(std::string_view name) {
  const auto parts = split_at(name, '.');
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
  const auto is_number = [](std::string_view part) { return !part.empty() && std::all_of(part.begin(), part.end(), is_digit); };
  if (name.empty()) return "names no bucket behind gs://";
  if (!std::all_of(name.begin(), name.end(), allowed)) return "its bucket's name has other characters than a-z, 0-9, -, _ and .";
  if (name.size() < 3 || name.size() > 222) return "its bucket's name must have 3 to 222 characters";
  if (!is_letter_or_digit(name.front()) || !is_letter_or_digit(name.back()))
    return "its bucket's name must begin and end with a letter or a digit";
  for (const auto part : parts)
    if (part.empty() || part.size() > 63) return "between its dots, a bucket's name must have 1 to 63 characters";
  if (parts.size() == 4 && std::all_of(parts.begin(), parts.end(), is_number)) return "its bucket's name is an IP address";
  if (name.starts_with("goog") || name.find("google") != std::string_view::npos || name.find("g00gle") != std::string_view::npos)
    return "a bucket's name must not begin with goog, and must not have google in it";
  return {};
}

}  // namespace

Result<GcsObject> parse_gcs_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return refuse("does not begin with gs://");
  uri.remove_prefix(kScheme.size());
  const auto slash = uri.find('/');
  const auto bucket = uri.substr(0, slash);
  if (auto fault = fault_in_bucket(bucket); !fault.empty()) return refuse(fault);
  if (slash == std::string_view::npos || slash + 1 == uri.size()) return refuse("has no key behind the bucket");
  const auto key = uri.substr(slash + 1);
  if (key.size() > kMaxKeyLength) return refuse("its key is longer than 1024 bytes");
  if (!is_clean_utf8(key) || key.find_first_of("\r\n") != std::string_view::npos)
    return refuse("its key is not UTF-8 without NUL, CR and LF");
  if (key.starts_with(".well-known/acme-challenge/")) return refuse("its key begins with .well-known/acme-challenge/");
  for (const auto segment : split_at(key, '/'))
    if (segment == "." || segment == "..") return refuse("its key has a segment \"" + std::string(segment) + "\"");
  return GcsObject{std::string(bucket), std::string(key)};
}

}  // namespace waybill
