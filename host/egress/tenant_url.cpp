// Whether a tenant may name a URL: what can be told from its text.
#include "egress/tenant_url.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <optional>
#include <string>

#include "base/ascii.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxNameBytes = 253;
constexpr std::size_t kMaxLabelBytes = 63;
constexpr std::string_view kInnerNames[] = {"localhost", "localdomain", "local",     "internal", "intranet",
                                            "corp",      "lan",         "home.arpa", "private",  "onion"};

tl::unexpected<Error> refuse(std::string why) { return fail(Error::Kind::invalid, std::move(why)); }
tl::unexpected<Error> not_allowed() { return refuse("the URL is not allowed"); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex_number(std::string_view text) {
  return text.starts_with("0x") &&
         std::all_of(text.begin() + 2, text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// What somebody may take for an IPv4 address: its last label is a number.
bool ends_in_number(std::string_view name) {
  const auto last = name.substr(name.rfind('.') + 1);
  return !last.empty() && (std::all_of(last.begin(), last.end(), is_digit) || is_hex_number(last));
}

// The same text with every number decimal, as some parsers read 010.0.0.1.
std::string without_leading_zeros(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || text[i - 1] == '.';
    if (begins)
      while (i + 1 < text.size() && text[i] == '0' && is_digit(text[i + 1])) ++i;
    out += text[i];
  }
  return out;
}

bool is_inner(std::string_view name) {
  if (name.find('.') == std::string_view::npos) return true;  // one label: a resolver looks for it inside
  return std::any_of(std::begin(kInnerNames), std::end(kInnerNames), [&](std::string_view inner) {
    return name.ends_with(inner) && (name.size() == inner.size() || name[name.size() - inner.size() - 1] == '.');
  });
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  for (;;) {
    const auto dot = name.find('.');
    const auto label = name.substr(0, dot);
    const auto good = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_'; };
    if (label.empty() || label.size() > kMaxLabelBytes || !std::all_of(label.begin(), label.end(), good)) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

bool may_connect(const std::optional<IpAddress>& address, std::uint16_t port, const EgressPolicy& policy) {
  return address && !policy.refusal(*address, port, Trust::tenant);
}

struct Authority {
  std::string_view host;  // IPv6 in brackets
  std::string_view port;
};

// Read here as well: Boost.URL 1.81 ends a host that begins like an IPv4 address behind those four numbers, and takes what
// follows for a path.
std::optional<Authority> authority_of(std::string_view url) {
  auto rest = url.substr(std::min(url.find("://"), url.size() - 3) + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  const auto end = rest.starts_with('[') ? rest.find(']') : rest.find(':');
  const auto size = std::min(rest.starts_with('[') && end != std::string_view::npos ? end + 1 : end, rest.size());
  Authority out{rest.substr(0, size), {}};
  rest.remove_prefix(size);
  if (rest.empty()) return out;
  out.port = rest.substr(1);
  if (rest.front() != ':' || !std::all_of(out.port.begin(), out.port.end(), is_digit)) return std::nullopt;
  return out;
}

}  // namespace

Result<void> check_tenant_host(std::string_view host, std::uint16_t port, const EgressPolicy& policy) {
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return not_allowed();
    if (!may_connect(parse_address(host.substr(1, host.size() - 2)), port, policy)) return not_allowed();
    return {};
  }
  auto name = lower_ascii(host);
  if (name.ends_with('.')) name.pop_back();
  if (!is_name(name)) return not_allowed();
  if (ends_in_number(name)) {
    if (!may_connect(parse_resolver_v4(name), port, policy)) return not_allowed();
    const auto decimal = parse_resolver_v4(without_leading_zeros(name));
    if (decimal && !may_connect(decimal, port, policy)) return not_allowed();
    return {};
  }
  if (is_inner(name)) return not_allowed();
  return {};
}

Result<void> check_tenant_url(std::string_view url, const EgressPolicy& policy) {
  if (url.empty()) return refuse("a URL is needed");
  if (url.size() > kMaxTenantUrlBytes) return refuse("the URL is longer than 8 KiB");
  if (!std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return refuse("the URL contains a space, a control character or a letter beyond ASCII (write such a host as xn--...)");
  const auto parsed = boost::urls::parse_uri({url.data(), url.size()});
  if (parsed.has_error()) return refuse("the URL is malformed");
  const boost::urls::url_view& view = *parsed;
  const bool plain = view.scheme_id() == boost::urls::scheme::http;
  if (!plain && view.scheme_id() != boost::urls::scheme::https) return refuse("the URL must begin with http:// or https://");
  if (!view.has_authority() || view.encoded_host().empty()) return refuse("the URL has no host");
  if (view.has_userinfo()) return refuse("the URL must not contain a user or a password");
  const auto authority = authority_of(url);
  const std::string_view parsed_host(view.encoded_host().data(), view.encoded_host().size());
  const bool is_v4 = view.host_type() == boost::urls::host_type::ipv4;
  if (!authority || (is_v4 ? !authority->host.starts_with(parsed_host) : authority->host != parsed_host))
    return refuse("the URL is malformed");
  std::uint16_t port = plain ? 80 : 443;
  if (!authority->port.empty()) {
    const auto [stop, error] = std::from_chars(authority->port.data(), authority->port.data() + authority->port.size(), port);
    if (error != std::errc{} || port == 0) return refuse("the URL's port must be from 1 to 65535");
  }
  return check_tenant_host(authority->host, port, policy);  // percent-encoded, it is no host that anybody needs
}

}  // namespace waybill
