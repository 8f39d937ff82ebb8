// One HTTP request being carried out: an easy handle of curl, used again and again, and what it has received so far.
#include "services/http_transfer.h"

#include <curl/curl.h>

#include <algorithm>
#include <new>

namespace waybill {
namespace {

constexpr std::size_t kKeptCapacity = 64 << 10;

std::string one_line(std::string_view text) {
  std::string out(text.substr(0, 200));
  for (auto& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = ' ';
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

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
  static int before_request(void* self, char*, char*, int, int) {
    auto& transfer = *static_cast<HttpTransfer*>(self);
    if (transfer.issued_) return CURL_PREREQFUNC_ABORT;
    transfer.issued_ = true;
    return CURL_PREREQFUNC_OK;
  }

  static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto& transfer = *static_cast<HttpTransfer*>(self);
    try {
      if (transfer.allow_ && !transfer.allow_(address->addr)) {
        transfer.address_refused_ = true;
        return CURL_SOCKET_BAD;
      }
    } catch (...) {
      return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }
};

HttpTransfer::HttpTransfer(const AddressGuard& allow, const std::string& user_agent)
    : easy_(curl_easy_init()), allow_(allow), error_text_(CURL_ERROR_SIZE) {
  if (easy_ == nullptr) throw std::bad_alloc();
  set_constant_options(user_agent);
}

HttpTransfer::~HttpTransfer() { curl_easy_cleanup(easy_); }

void HttpTransfer::set_constant_options(const std::string& user_agent) {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, error_text_.data());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // giving up a request must not wait for the resolver's thread
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");  // also shuts out the environment's
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
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
  set(CURLOPT_OPENSOCKETFUNCTION, &Callbacks::open_socket);
  set(CURLOPT_OPENSOCKETDATA, this);
}

Result<void> HttpTransfer::prepare(HttpRequest request, const Secrets& secrets) {
  request_ = std::move(request);
  if (auto fault = fault_in_method(request_.method)) return fail(Error::Kind::invalid, std::move(*fault));
  auto endpoint = endpoint_of(request_.url);
  if (!endpoint) return tl::unexpected(std::move(endpoint.error()));
  endpoint_ = std::move(*endpoint);
  if (request_.max_response_bytes == 0) request_.max_response_bytes = kDefaultResponseBytes;
  request_.max_response_bytes = std::min(request_.max_response_bytes, kMostResponseBytes);

  // Without these, curl would add headers of its own.
  bool typed = request_.body.empty();
  for (const auto& [name, value] : request_.headers) {
    auto line = header_line(name, value, secrets);
    if (!line) return tl::unexpected(std::move(line.error()));
    header_lines_.push_back(std::move(*line));
    typed = typed || curl_strequal(name.c_str(), "content-type");
  }
  header_lines_.emplace_back("Expect:");
  if (!typed) header_lines_.emplace_back("Content-Type:");
  header_list_.resize(header_lines_.size());
  for (std::size_t i = 0; i < header_lines_.size(); ++i)
    header_list_[i] = {header_lines_[i].data(), i + 1 < header_lines_.size() ? &header_list_[i + 1] : nullptr};

  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_URL, request_.url.c_str());
  set(CURLOPT_HTTPHEADER, header_list_.data());
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

void HttpTransfer::limit_time(Millis timeout) {
  const auto millis = static_cast<long>(std::clamp<Millis::rep>(timeout.count(), 1, 24LL * 3600 * 1000));
  curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, millis);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, millis);
}

bool HttpTransfer::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMostResponseHeaderBytes) {
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
  std::string name(line.substr(0, colon));
  for (auto& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  auto value = line.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  response_.headers.emplace_back(std::move(name), value);
  return true;
}

NetError HttpTransfer::classify(int code) const {
  if (address_refused_ && !issued_) return NetError::refused;
  switch (code) {
    case CURLE_OK:
      return NetError::ok;
    case CURLE_WRITE_ERROR:
      return response_.truncated ? NetError::ok : NetError::broken;
    case CURLE_COULDNT_RESOLVE_HOST:
      return NetError::resolve;
    case CURLE_COULDNT_CONNECT:
      return NetError::connect;
    case CURLE_OPERATION_TIMEDOUT:
      return NetError::timeout;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_USE_SSL_FAILED:
      return issued_ ? NetError::broken : NetError::tls;
    case CURLE_URL_MALFORMAT:
      return NetError::refused;
    case CURLE_UNSUPPORTED_PROTOCOL:
      return issued_ ? NetError::broken : NetError::refused;
    default:
      return issued_ ? NetError::broken : NetError::connect;
  }
}

std::int32_t HttpTransfer::status() const {
  long status = 0;
  if (issued_) curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);  // before that, it is the last request's
  return status >= 200 ? static_cast<std::int32_t>(status) : 0;
}

Reach HttpTransfer::reach() const {
  if (!issued_) return Reach::not_sent;
  return status() != 0 ? Reach::answered : Reach::maybe_sent;
}

HttpResponse HttpTransfer::finish(int code, std::int64_t unix_now) {
  response_.error = classify(code);
  auto response = std::move(response_);
  response.status = status();
  response.reach = reach();
  if (response.error != NetError::ok) {
    std::string_view text = error_text_.data();
    if (address_refused_) text = "the address is not allowed";
    if (headers_too_long_) text = "the answer's headers are longer than 32 KiB";
    if (code == CURLE_ABORTED_BY_CALLBACK) text = "the connection was closed before an answer came";
    if (text.empty()) text = curl_easy_strerror(static_cast<CURLcode>(code));
    response.error_text = one_line(endpoint_ + ": " + std::string(text));
  }
  for (const auto& [name, value] : response.headers)
    if (name == "retry-after") response.retry_after = parse_retry_after(value, unix_now);
  return response;
}

void HttpTransfer::clear() {
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, nullptr);
  request_ = {};
  endpoint_.clear();
  header_lines_.clear();
  header_list_.clear();
  response_ = {};
  header_bytes_ = 0;
  issued_ = address_refused_ = headers_too_long_ = false;
  error_text_.front() = '\0';
  if (response_.body.capacity() > kKeptCapacity) response_.body.shrink_to_fit();
}

}  // namespace waybill
