// Checks a target's URL with Boost.URL.
#include "registry/target_url.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <cstdint>

#include "base/placeholder.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxLength = 2048;

// Names as DNS has them: whatever else a URL may spell as a host, two libraries may read as two different hosts.
bool is_plain_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

// Boost.URL 1.81 takes 99999 for 34463.
bool is_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc{} && end == digits.data() + digits.size() && port != 0;
}

// The URL with an "x" in place of each {secret:NAME} behind its host, where the host fills them in. One elsewhere stays, and is
// no part of a good URL.
std::string without_secrets(std::string_view text) {
  const auto scheme = text.find("://");
  const auto path = scheme == std::string_view::npos ? scheme : text.find_first_of("/?", scheme + 3);
  std::string out(text.substr(0, path));
  if (path == std::string_view::npos) return out;
  for (auto rest = text.substr(path);;) {
    const auto at = rest.find(kSecretOpens);
    const auto end = at == std::string_view::npos ? at : rest.find('}', at);
    out.append(rest.substr(0, end == std::string_view::npos ? end : at));
    if (end == std::string_view::npos) return out;
    out += 'x';
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<std::string> url_problem(std::string_view written) {
  constexpr auto kShape = "must be an http or https URL with a host, such as http://localhost:8080";
  if (written.size() > kMaxLength) return "is longer than " + std::to_string(kMaxLength) + " bytes";
  const auto text = without_secrets(written);
  const auto parsed = boost::urls::parse_uri(boost::core::string_view(text.data(), text.size()));
  if (parsed.has_error()) return kShape;
  const boost::urls::url_view& url = *parsed;
  if (url.scheme_id() != boost::urls::scheme::http && url.scheme_id() != boost::urls::scheme::https) return kShape;
  if (!url.has_authority() || url.encoded_host().empty()) return kShape;
  if (url.has_userinfo()) return "must not hold a user or password: name a secret in destination instead";
  if (url.has_fragment()) return "must not have a fragment (#...): it is never sent";
  if (url.has_port() && !is_port({url.port().data(), url.port().size()})) return "its port must be from 1 to 65535";
  const auto host = url.encoded_host();
  switch (url.host_type()) {
    case boost::urls::host_type::ipv4:
    case boost::urls::host_type::ipv6:
      return std::nullopt;
    case boost::urls::host_type::name:
      if (is_plain_name({host.data(), host.size()})) return std::nullopt;
      return "its host must consist of letters, digits, '.', '-' and '_' (names in other scripts in their xn-- form)";
    default:
      return kShape;
  }
}

}  // namespace waybill
