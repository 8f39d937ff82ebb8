// HTTP requests and what came of them, as values, and the rules a request must keep before a byte of it leaves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/departure.h"
#include "base/error.h"
#include "base/time.h"
#include "domain/outcome.h"
#include "services/address_guard.h"
#include "services/endpoint.h"
#include "services/net_error.h"
#include "services/placeholders.h"
#include "services/secrets.h"
#include "services/transport.h"

namespace waybill {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// AWS Signature Version 4; key and secret are names of secrets.
struct SigV4 {
  std::string region, service, key_id, secret_key;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;      // path and query may contain {secret:NAME}
  HttpHeaders headers;  // values may contain {secret:NAME}
  std::string body;
  std::vector<BodySecret> body_secrets{};
  Millis timeout{0};                   // from the moment the request starts being carried out; 0: until the deadline
  Clock::Monotonic deadline;           // never later than this
  std::size_t max_response_bytes = 0;  // of the body; 0: kDefaultResponseBytes
  std::string basic_user;              // names of secrets; both empty: no Basic authentication
  std::string basic_password;
  std::optional<SigV4> sigv4;
  bool holds_token = false;                      // a header has a token, which must not go out in clear
  Trust trust = Trust::registry;                 // who wrote the URL; a tenant's request is filled in with no secret
  std::shared_ptr<const Transport> transport{};  // null: the defaults
  Departure departure{};                         // asked right before it is written
};

struct HttpResponse {
  NetError error = NetError::ok;
  Reach reach = Reach::not_sent;
  std::int32_t status = 0;
  bool truncated = false;
  std::optional<Millis> retry_after;
  HttpHeaders headers;  // names in lower case
  std::string body;
  std::string error_text;  // one line for people, without secrets
  std::optional<AddressRefusal> refusal;
  // Of a tenant's request:
  std::string address;                 // that was connected to, with its port
  std::optional<Micros> first_byte{};  // from the request's start to the answer's first byte
};

inline constexpr std::size_t kDefaultResponseBytes = 4096;
inline constexpr std::size_t kMaxResponseBytes = 16 << 20;
inline constexpr std::size_t kMaxResponseHeaderBytes = 32 << 10;

// Where a good URL of http or https leads; else why it is refused.
Result<Endpoint> endpoint_of(std::string_view url);
std::optional<std::string> fault_in_method(std::string_view method);
// "Name: value" with secrets filled in; else why the header is refused (never with its value).
Result<std::string> header_line(std::string_view name, std::string_view value, const Secrets& secrets);
// "Authorization: Basic ..." of two secrets by name; else why the request is refused.
Result<std::string> basic_line(std::string_view user, std::string_view password, const Secrets& secrets);
// Why the request must not be signed; none: nothing is wrong.
std::optional<std::string> fault_in_sigv4(const SigV4& sigv4, const Secrets& secrets);
// Retry-After as seconds or as an HTTP date; at most a day, none if it is neither.
std::optional<Millis> parse_retry_after(std::string_view value, std::int64_t unix_now);

}  // namespace waybill
