// The rules that a request must keep before a byte of it leaves.
#include "services/http_message.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/base64.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxHeaderBytes = 16 << 10;
constexpr Millis kMaxCooldown{24LL * 3600 * 1000};

// What describes the connection or frames the message belongs to the host alone.
constexpr std::array<std::string_view, 11> kHostOnly{
    "host",    "content-length", "transfer-encoding", "connection",         "keep-alive", "te", "trailer",
    "upgrade", "expect",         "proxy-connection",  "proxy-authorization"};

bool is_token_char(char c) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char); }

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

tl::unexpected<Error> refuse(std::string why) { return fail(Error::Kind::invalid, std::move(why)); }

}  // namespace

Result<Endpoint> endpoint_of(std::string_view url) { return parse_endpoint(url, {"http", "https"}); }

std::optional<std::string> fault_in_method(std::string_view method) {
  const bool upper = !method.empty() && method.size() <= 16 &&
                     std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (!upper || method == "CONNECT" || method == "TRACE") return "the method is not allowed";
  return std::nullopt;
}

Result<std::string> basic_line(std::string_view user, std::string_view password, const Secrets& secrets) {
  const auto refuse = [](std::string what) { return fail(Error::Kind::invalid, std::move(what)); };
  const auto* user_secret = secrets.find(user);
  const auto* password_secret = secrets.find(password);
  if (user_secret == nullptr || password_secret == nullptr) return refuse("Basic authentication names an unknown secret");
  const auto& name = user_secret->front().expose();
  if (name.find(':') != std::string::npos)
    return refuse("the user of Basic authentication must not hold a colon");  // RFC 7617, 2
  const auto both = name + ":" + password_secret->front().expose();
  return "Authorization: Basic " + encode_base64(both);
}

std::optional<std::string> fault_in_sigv4(const SigV4& sigv4, const Secrets& secrets) {
  for (const auto* word : {&sigv4.region, &sigv4.service}) {
    const bool good = !word->empty() && word->size() <= 64 && std::all_of(word->begin(), word->end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (!good) return "the AWS signature's region or service is malformed";
  }
  for (const auto* name : {&sigv4.key_id, &sigv4.secret_key})
    if (secrets.find(*name) == nullptr) return "the AWS signature names an unknown secret";
  return std::nullopt;
}

Result<std::string> header_line(std::string_view name, std::string_view value, const Secrets& secrets) {
  if (!is_token(name) || name.size() > 256) return refuse("a header's name is malformed");
  const auto low = lower_ascii(name);
  if (std::find(kHostOnly.begin(), kHostOnly.end(), low) != kHostOnly.end())
    return refuse("the header " + low + " is the host's alone");
  if (value.size() > kMaxHeaderBytes) return refuse("the header " + low + " is longer than 16 KiB");
  const auto filled = fill_secrets(value, secrets);
  if (!filled) return refuse("the header " + low + " " + filled.error());
  if (has_control(*filled)) return refuse("the header " + low + " contains a control character");
  if (filled->find_first_not_of(" \t") == std::string::npos)
    return std::string(name) + ";";  // curl's way to write an empty value
  return std::string(name) + ": " + *filled;
}

std::optional<Millis> parse_retry_after(std::string_view value, std::int64_t unix_now) {
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  if (value.empty() || value.size() > 64) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error != std::errc{}) return kMaxCooldown;  // more digits than fit: as long as we wait at all
    return std::min(kMaxCooldown, Millis(std::min<std::int64_t>(seconds, 1'000'000) * 1000));
  }
  const auto date = static_cast<std::int64_t>(curl_getdate(std::string(value).c_str(), nullptr));
  if (date < 0) return std::nullopt;
  return std::clamp(Millis(std::clamp<std::int64_t>(date - unix_now, 0, 1'000'000) * 1000), Millis{0}, kMaxCooldown);
}

}  // namespace waybill
