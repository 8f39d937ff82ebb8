// One HTTP request being carried out: an easy handle of curl, used again and again, and what it has received so far. prepare()
// fills in the secrets, see placeholders.h.
#include "services/http_transfer.h"

#include <curl/curl.h>

#include <algorithm>

#include "base/ascii.h"
#include "services/aws_signature.h"

namespace waybill {
namespace {

constexpr std::size_t kKeptCapacity = 64 << 10;
constexpr std::string_view kHeadersTooLong = "the answer's headers are longer than 32 KiB";
constexpr std::string_view kHeaderEndless = "the answer has a header line of more than 100 KiB, which may have no end";
constexpr int kTooLarge = 100;                     // CURLE_TOO_LARGE, since curl 8.6
constexpr std::size_t kExpectedBytes = 512 << 10;  // curl asks before it sends a body of more than 1 MiB

}  // namespace

struct HttpTransfer::Callbacks {
  static std::size_t body(char* data, std::size_t, std::size_t size, void* self) {
    auto& response = static_cast<HttpTransfer*>(self)->response_;
    const auto most = static_cast<HttpTransfer*>(self)->request_.max_response_bytes;
    try {
      const auto room = most - response.body.size();
      response.body.append(data, std::min(size, room));
      if (size <= room) return size;
      response.truncated = true;
    } catch (...) {
    }
    return CURL_WRITEFUNC_ERROR;  // the rest is not read
  }

  static std::size_t header(char* data, std::size_t, std::size_t size, void* self) {
    try {
      return static_cast<HttpTransfer*>(self)->take_header({data, size}) ? size : CURL_WRITEFUNC_ERROR;
    } catch (...) {
      return CURL_WRITEFUNC_ERROR;
    }
  }

  // curl sends a request again by itself when a kept connection closes unanswered. Whether an attempt is repeated is not its
  // decision: the receiver may have acted on the first, so the second never starts.
  static int before_request(void* self, char* address, char*, int, int) {
    auto& transfer = *static_cast<HttpTransfer*>(self);
    if (transfer.issued_) return CURL_PREREQFUNC_ABORT;
    try {
      if (!transfer.easy_.leave().may_use(address == nullptr ? "" : address)) return CURL_PREREQFUNC_ABORT;
    } catch (...) {
      return CURL_PREREQFUNC_ABORT;
    }
    long connections = 0;  // made for it
    curl_easy_getinfo(transfer.easy(), CURLINFO_NUM_CONNECTS, &connections);
    if (!transfer.request_.departure.begin(connections > 0)) return CURL_PREREQFUNC_ABORT;
    transfer.issued_ = true;
    return CURL_PREREQFUNC_OK;
  }
};

HttpTransfer::HttpTransfer(const EgressPolicy& policy, const std::string& user_agent) : easy_(policy, this, "http,https") {
  set_constant_options(user_agent);
}

HttpTransfer::~HttpTransfer() = default;

void HttpTransfer::set_constant_options(const std::string& user_agent) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy(), option, value); };
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_USERAGENT, user_agent.c_str());
  set(CURLOPT_BUFFERSIZE, 4096L);  // times thousands of open requests
  set(CURLOPT_MAXAGE_CONN, 30L);   // an older idle connection is likely to be closed by the other side just now
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(CURLOPT_WRITEFUNCTION, &Callbacks::body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_HEADERFUNCTION, &Callbacks::header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_PREREQFUNCTION, &Callbacks::before_request);
  set(CURLOPT_PREREQDATA, this);
}

Result<void> HttpTransfer::prepare(HttpRequest request, const Secrets& secrets, std::int64_t unix_now) {
  request_ = std::move(request);
  if (auto fault = fault_in_method(request_.method)) return fail(Error::Kind::invalid, std::move(*fault));
  const bool secret_in_url = names_secret(request_.url);
  if (secret_in_url) {
    auto url = filled_url(request_.url, secrets);
    TRY(url);
    request_.url = std::move(*url);
  }
  if (request_.url != endpoint_url_) {
    auto endpoint = endpoint_of(request_.url);
    TRY(endpoint);
    endpoint_ = std::move(endpoint->authority);
    in_clear_ = endpoint->scheme == "http";
    endpoint_url_ = request_.url;
  }
  easy_.leave().reset(request_.trust, endpoint_);
  easy_.secure(request_.transport);
  if (request_.max_response_bytes == 0) request_.max_response_bytes = kDefaultResponseBytes;
  request_.max_response_bytes = std::min(request_.max_response_bytes, kMaxResponseBytes);

  if (secret_in_url || request_.holds_token || !request_.body_secrets.empty()) TRY(refuse_secret_in_clear());
  if (!request_.body_secrets.empty()) {
    auto body = filled_body(std::move(request_.body), request_.body_secrets, secrets);
    TRY(body);
    request_.body = std::move(*body);
  }

  // Without "Expect:" and "Content-Type:", curl would add headers of its own.
  bool typed = request_.body.empty(), has_type = false;
  for (const auto& [name, value] : request_.headers) {
    if (names_secret(value)) TRY(refuse_secret_in_clear());
    auto line = header_line(name, value, secrets);
    TRY(line);
    header_lines_.push_back(std::move(*line));
    has_type = has_type || curl_strequal(name.c_str(), "content-type");
    typed = typed || has_type;
  }
  if (!request_.basic_user.empty() || !request_.basic_password.empty()) {
    TRY(refuse_secret_in_clear());
    auto line = basic_line(request_.basic_user, request_.basic_password, secrets);
    TRY(line);
    header_lines_.push_back(std::move(*line));
  }
  if (request_.body.size() > kExpectedBytes) header_lines_.emplace_back("Expect:");
  if (!typed && request_.sigv4) header_lines_.emplace_back("Content-Type: application/octet-stream");
  if (request_.sigv4) TRY(sign(secrets, unix_now));
  if (request_.sigv4 ? request_.body.empty() && !has_type : !typed) header_lines_.emplace_back("Content-Type:");
  header_list_.resize(header_lines_.size());
  for (std::size_t i = 0; i < header_lines_.size(); ++i)
    header_list_[i] = {header_lines_[i].data(), i + 1 < header_lines_.size() ? &header_list_[i + 1] : nullptr};

  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy(), option, value); };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_HTTPHEADER, header_list_.empty() ? nullptr : header_list_.data());
  const auto& method = request_.method;
  const bool with_body = !request_.body.empty() || method == "POST" || method == "PUT" || method == "PATCH";
  if (with_body) {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, request_.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  } else {
    set(CURLOPT_HTTPGET, 1L);
  }
  set(CURLOPT_NOBODY, method == "HEAD" && !with_body ? 1L : 0L);
  set(CURLOPT_CUSTOMREQUEST, method.c_str());
  return {};
}

Result<void> HttpTransfer::refuse_secret_in_clear() const {
  if (!in_clear_ || (request_.transport && request_.transport->insecure)) return {};
  return fail(Error::Kind::invalid,
              endpoint_ +
                  ": a request with a secret does not go out in clear: use https, or write `insecure: true` "
                  "for the target or its sender");
}

// Not by curl, which takes the machine's time, and sends a second date where it is given another one.
Result<void> HttpTransfer::sign(const Secrets& secrets, std::int64_t unix_now) {
  const auto& sigv4 = *request_.sigv4;
  if (auto fault = fault_in_sigv4(sigv4, secrets)) return fail(Error::Kind::invalid, std::move(*fault));
  for (const auto& line : header_lines_)
    if (line.ends_with(';') && line.find(':') == std::string::npos)
      return fail(Error::Kind::invalid, "a request with an AWS signature has no empty headers");
  const AwsRequest request{
      .method = request_.method, .url = request_.url, .body = request_.body, .authority = endpoint_, .headers = header_lines_};
  auto lines = aws_signature(request,
                             {.region = sigv4.region,
                              .service = sigv4.service,
                              .id = secrets.find(sigv4.key_id)->front(),
                              .secret = secrets.find(sigv4.secret_key)->front()},
                             unix_now);
  std::move(lines.begin(), lines.end(), std::back_inserter(header_lines_));
  return {};
}

void HttpTransfer::connect_only_to(std::vector<IpAddress> addresses) {
  easy_.leave().allow_only(std::move(addresses));
  easy_.pin_addresses(endpoint_);
}

void HttpTransfer::limit_time(Millis timeout) {
  const auto millis = static_cast<long>(std::clamp<Millis::rep>(timeout.count(), 1, 24LL * 3600 * 1000));
  curl_easy_setopt(easy(), CURLOPT_TIMEOUT_MS, millis);
  curl_easy_setopt(easy(), CURLOPT_CONNECTTIMEOUT_MS, millis);
}

bool HttpTransfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxResponseHeaderBytes) {
    headers_too_long_ = true;
    return false;
  }
  if (line.starts_with("HTTP/")) {  // also after an interim answer (100, 103)
    response_.headers.clear();
    return true;
  }
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n' || line.back() == ' ' || line.back() == '\t'))
    line.remove_suffix(1);
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return true;
  auto name = lower_ascii(line.substr(0, colon));
  auto value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  response_.headers.emplace_back(std::move(name), value);
  return true;
}

NetError HttpTransfer::classify(int code) const {
  if (easy_.leave().refusal() && !issued_) return NetError::refused;
  if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && response_.truncated)) return NetError::ok;
  if (refused_us_) return NetError::tls;
  if (issued_) return error_of(code, NetError::broken, NetError::broken);
  return code == CURLE_UNSUPPORTED_PROTOCOL ? NetError::refused : error_of(code, NetError::tls, NetError::connect);
}

std::int32_t HttpTransfer::status() const {
  long status = 0;
  if (issued_) curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);  // before that, it is the last request's
  return status >= 200 ? static_cast<std::int32_t>(status) : 0;
}

Reach HttpTransfer::reach() const {
  if (!issued_ || refused_us_) return Reach::not_sent;
  return status() != 0 ? Reach::answered : Reach::maybe_sent;
}

void HttpTransfer::describe_connection(HttpResponse& response) const {
  const char* address = nullptr;
  long port = 0;
  curl_off_t micros = 0;
  curl_easy_getinfo(easy(), CURLINFO_PRIMARY_IP, &address);
  curl_easy_getinfo(easy(), CURLINFO_PRIMARY_PORT, &port);
  curl_easy_getinfo(easy(), CURLINFO_STARTTRANSFER_TIME_T, &micros);
  if (address != nullptr && *address != '\0') {
    const std::string_view ip = address;
    response.address =
        (ip.find(':') == std::string_view::npos ? std::string(ip) : "[" + std::string(ip) + "]") + ":" + std::to_string(port);
  }
  if (micros > 0 && response.status != 0) response.first_byte = Micros{micros};
}

HttpResponse HttpTransfer::finish(int code, std::int64_t unix_now) {
  refused_us_ = issued_ && status() == 0 && easy_.refused_us(code);
  response_.error = classify(code);
  auto response = std::move(response_);
  response.status = status();
  response.reach = reach();
  if (response.error != NetError::ok) {
    auto text = easy_.failure(code);
    if (headers_too_long_) text = kHeadersTooLong;
    // What curl says of a line that does not fit into its buffer; the host itself does not outlive a want of memory.
    if ((code == CURLE_OUT_OF_MEMORY || code == kTooLarge) && issued_ && response.body.empty()) text = kHeaderEndless;
    if (code == CURLE_ABORTED_BY_CALLBACK) text = "the connection was closed before an answer came";
    response.error_text = endpoint_ + ": " + text;
    if (response.error == NetError::refused) response.refusal = easy_.leave().refusal();
  }
  if (request_.trust == Trust::tenant) describe_connection(response);
  for (const auto& [name, value] : response.headers)
    if (name == "retry-after") response.retry_after = parse_retry_after(value, unix_now);
  return response;
}

void HttpTransfer::clear() {
  curl_easy_setopt(easy(), CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy(), CURLOPT_POSTFIELDS, nullptr);
  request_ = {};
  header_lines_.clear();
  header_list_.clear();
  response_ = {};
  header_bytes_ = 0;
  issued_ = headers_too_long_ = refused_us_ = false;
  easy_.forget();
  if (response_.body.capacity() > kKeptCapacity) response_.body.shrink_to_fit();
}

}  // namespace waybill
