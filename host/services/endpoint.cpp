// Where a URL leads, by curl's own parser.
#include "services/endpoint.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/ascii.h"

namespace waybill {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

struct FreePart {
  void operator()(char* part) const { curl_free(part); }
};

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* found = nullptr;
  if (curl_url_get(url, which, &found, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, FreePart> owner(found);
  return found;
}

tl::unexpected<Error> refuse(std::string why) { return fail(Error::Kind::invalid, "the URL " + std::move(why)); }

}  // namespace

HostAndPort split_authority(std::string_view authority) {
  const auto colon = std::min(authority.rfind(':'), authority.size());
  HostAndPort out{authority.substr(0, colon)};
  const auto digits = authority.substr(std::min(colon + 1, authority.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  return out;
}

Result<Endpoint> parse_endpoint(std::string_view url, const std::array<std::string_view, 2>& schemes) {
  if (url.size() > kMaxUrlBytes) return refuse("is longer than 8 KiB");
  const auto bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  if (std::any_of(url.begin(), url.end(), bad)) return refuse("contains a space or a control character");
  if (url.find("://") == std::string_view::npos)
    return refuse("does not begin with " + std::string(schemes[0]) + ":// or " + std::string(schemes[1]) + "://");
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  if (!parsed) return refuse("cannot be read: memory is short");
  const auto code = curl_url_set(parsed.get(), CURLUPART_URL, std::string(url).c_str(), CURLU_NON_SUPPORT_SCHEME);
  if (code == CURLUE_BAD_PORT_NUMBER) return refuse("has a port that is not from 1 to 65535");
  if (code != CURLUE_OK) return refuse("is malformed");
  Endpoint endpoint{.scheme = part(parsed.get(), CURLUPART_SCHEME), .authority = part(parsed.get(), CURLUPART_HOST)};
  if (std::find(schemes.begin(), schemes.end(), endpoint.scheme) == schemes.end())
    return refuse("is neither " + std::string(schemes[0]) + " nor " + std::string(schemes[1]));
  if (endpoint.authority.empty()) return refuse("has no host");
  if (!part(parsed.get(), CURLUPART_USER).empty() || !part(parsed.get(), CURLUPART_PASSWORD).empty())
    return refuse("contains a user or a password");
  endpoint.authority = lower_ascii(endpoint.authority) + ":" + part(parsed.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  const auto path = part(parsed.get(), CURLUPART_PATH);
  endpoint.bare = (path.empty() || path == "/") && part(parsed.get(), CURLUPART_QUERY).empty() &&
                  part(parsed.get(), CURLUPART_FRAGMENT).empty();
  return endpoint;
}

}  // namespace waybill
