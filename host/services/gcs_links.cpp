// The rules for buckets and keys: https://cloud.google.com/storage/docs/buckets#naming and /objects#naming.
#include "services/gcs_links.h"

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "services/secrets.h"

namespace waybill {
namespace {

constexpr std::string_view kScheme = "gs://";
constexpr std::size_t kMaxKeyLength = 1024;

tl::unexpected<Error> refuse(const std::string& why) { return fail(Error::Kind::invalid, "object URI: " + why); }

std::vector<std::string_view> split(std::string_view text, char at) {
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

bool is_bucket(std::string_view name) {
  const auto parts = split(name, '.');
  if (name.size() < 3 || name.size() > 222) return false;
  if (!is_letter_or_digit(name.front()) || !is_letter_or_digit(name.back())) return false;
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; };
  const auto is_part = [&](std::string_view part) {
    return !part.empty() && part.size() <= 63 && std::all_of(part.begin(), part.end(), allowed);
  };
  const auto is_number = [](std::string_view part) { return std::all_of(part.begin(), part.end(), is_digit); };
  if (!std::all_of(parts.begin(), parts.end(), is_part)) return false;
  return !(parts.size() == 4 && std::all_of(parts.begin(), parts.end(), is_number));  // an IPv4 address
}

}  // namespace

Result<GcsObject> parse_gcs_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return refuse("does not begin with gs://");
  uri.remove_prefix(kScheme.size());
  const auto slash = uri.find('/');
  const auto bucket = uri.substr(0, slash);
  if (!is_bucket(bucket)) return refuse("names no bucket behind gs://");
  if (slash == std::string_view::npos || slash + 1 == uri.size()) return refuse("has no key behind the bucket");
  const auto key = uri.substr(slash + 1);
  if (key.size() > kMaxKeyLength) return refuse("its key is longer than 1024 bytes");
  if (!is_clean_utf8(key) || key.find_first_of("\r\n") != std::string_view::npos)
    return refuse("its key is not UTF-8 without NUL, CR and LF");
  for (const auto segment : split(key, '/'))
    if (segment == "." || segment == "..") return refuse("its key has a segment \"" + std::string(segment) + "\"");
  return GcsObject{std::string(bucket), std::string(key)};
}

GcsLinks::GcsLinks(GcsKey key, const Clock& clock)
    : key_(std::move(key)), endpoint_{.host = "storage." + key_.universe_domain()}, clock_(clock) {}

GcsLinks::GcsLinks(GcsKey key, GcsEndpoint endpoint, const Clock& clock)
    : key_(std::move(key)), endpoint_(std::move(endpoint)), clock_(clock) {}

Result<std::string> GcsLinks::link(std::string_view object_uri, Seconds lifetime) const {
  if (lifetime < Seconds{1} || lifetime > kMaxLinkLength)
    return fail(Error::Kind::invalid, "a link lives for 1 second to 7 days, not " + std::to_string(lifetime.count()) + " s");
  auto object = parse_gcs_uri(object_uri);
  TRY(object);
  return signed_url({.bucket = std::move(object->bucket),
                     .object = std::move(object->key),
                     .endpoint = endpoint_,
                     .unix_seconds = clock_.unix_seconds(),
                     .lifetime = lifetime},
                    key_);
}

Result<std::shared_ptr<const GcsLinks>> make_links(const std::string& secret, const Secrets& secrets, const Clock& clock) {
  if (secret.empty()) return nullptr;
  const auto* values = secrets.find(secret);
  if (values == nullptr) return fail(Error::Kind::invalid, "there is no secret " + secret);
  auto key = GcsKey::from_service_account(values->front().expose());
  if (!key) return fail(Error::Kind::invalid, "secret " + secret + ": " + key.error().what);
  return std::make_shared<const GcsLinks>(std::move(*key), clock);
}

}  // namespace waybill
