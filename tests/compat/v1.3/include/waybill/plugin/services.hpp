// What the host does for a sender: HTTP, time and signatures.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "waybill/plugin/call.hpp"

namespace waybill::plugin {

enum class NetError : std::int32_t {
  none = WB_NET_OK,
  refused = WB_NET_REFUSED,
  resolve = WB_NET_RESOLVE,
  connect = WB_NET_CONNECT,
  tls = WB_NET_TLS,
  timeout = WB_NET_TIMEOUT,
  broken = WB_NET_BROKEN,
  cancelled = WB_NET_CANCELLED
};

struct Header {
  std::string name;
  std::string value;  // may hold {secret:NAME}
};

// AWS Signature Version 4, with two of the host's secrets by their NAMES. Needs a host of minor 3.
struct SigV4 {
  std::string region;
  std::string service;
  std::string key_id;      // a name
  std::string secret_key;  // a name
};

struct Request {
  std::string method = "POST";
  std::string url;
  std::vector<Header> headers;
  std::string body;
  std::chrono::milliseconds timeout{0};  // 0: until the call's deadline
  std::uint32_t max_response_bytes = 0;  // 0: the host's default of 4,096
  // Basic authentication with two of the host's secrets, by their NAMES; empty: none. Needs a host of minor 2.
  std::string basic_user;
  std::string basic_password;
  std::optional<SigV4> sigv4;
};

// A view, valid until the callback returns.
struct Response {
  NetError error = NetError::none;
  Reach reach = Reach::maybe_sent;
  int status = 0;
  bool truncated = false;
  std::optional<std::chrono::milliseconds> retry_after;
  std::string_view body;
  std::string_view error_text;
  const wb_header* headers = nullptr;
  std::size_t header_count = 0;

  // By its name in lower case.
  std::optional<std::string_view> header(std::string_view name) const {
    for (std::size_t i = 0; i < header_count; ++i)
      if (view(headers[i].name) == name) return view(headers[i].value);
    return std::nullopt;
  }
};

using FetchDone = std::function<void(const Response&)>;
enum class FetchId : std::uint64_t {};

namespace detail {

inline Reach reach_of(wb_reach reach) noexcept {
  return reach == WB_NOT_SENT || reach == WB_ANSWERED ? static_cast<Reach>(reach) : Reach::maybe_sent;
}

inline std::uint32_t timeout_ms(std::chrono::milliseconds timeout) {
  const auto longest = std::chrono::milliseconds(std::numeric_limits<std::uint32_t>::max());
  return static_cast<std::uint32_t>(std::clamp(timeout, std::chrono::milliseconds(0), longest).count());
}

struct PendingFetch {
  const wb_host* host;
  wb_call call;
  FetchDone done;

  static void finish(void* user, const wb_http_response* raw) noexcept {
    const std::unique_ptr<PendingFetch> self(static_cast<PendingFetch*>(user));
    guarded(self->host, self->call, [&] {
      Response response;
      response.error = static_cast<NetError>(raw->error);
      response.reach = reach_of(raw->reach);
      response.status = raw->status;
      response.truncated = raw->truncated != 0;
      if (raw->retry_after_ms >= 0) response.retry_after = std::chrono::milliseconds(raw->retry_after_ms);
      response.body = view(raw->body);
      response.error_text = view(raw->error_text);
      response.headers = raw->headers;
      response.header_count = raw->header_count;
      self->done(response);
    });
  }
};

struct PendingTimer {
  const wb_host* host;
  wb_call call;
  std::function<void()> fire;

  // Moved out first: the callback may drop its own Timer.
  static void ring(void* user) noexcept {
    auto& self = *static_cast<PendingTimer*>(user);
    const auto fire = std::exchange(self.fire, nullptr);
    guarded(self.host, self.call, fire);
  }
};

}  // namespace detail

// [strand] Asynchronous HTTP.
class Http {
 public:
  Http(const wb_host* host, const wb_http_service* service) noexcept : host_(host), service_(service) {}

  // `done` runs exactly once, on the strand, after fetch has returned; what it throws completes the call as plugin_error.
  FetchId fetch(Call call, const Request& request, FetchDone done) const {
    if (!request.basic_user.empty() && host_->abi_minor < 2)
      throw std::runtime_error("this host is too old for Basic authentication");
    if (request.sigv4 && host_->abi_minor < 3) throw std::runtime_error("this host is too old for AWS signatures");
    auto pending = std::make_unique<detail::PendingFetch>(detail::PendingFetch{host_, call.raw(), std::move(done)});
    std::vector<wb_header> headers;
    headers.reserve(request.headers.size());
    for (const auto& header : request.headers) headers.push_back({str(header.name), str(header.value)});
    wb_http_request raw{};
    raw.size = sizeof raw;
    raw.timeout_ms = detail::timeout_ms(request.timeout);
    raw.max_response_bytes = request.max_response_bytes;
    raw.method = str(request.method);
    raw.url = str(request.url);
    raw.headers = headers.data();
    raw.header_count = headers.size();
    raw.body = str(request.body);
    raw.basic_user = str(request.basic_user);
    raw.basic_password = str(request.basic_password);
    if (request.sigv4) {
      raw.sigv4_region = str(request.sigv4->region);
      raw.sigv4_service = str(request.sigv4->service);
      raw.sigv4_key_id = str(request.sigv4->key_id);
      raw.sigv4_secret_key = str(request.sigv4->secret_key);
    }
    return FetchId{service_->fetch(host_, call.raw(), &raw, &detail::PendingFetch::finish, pending.release())};
  }

  // The fetch's callback still comes, with NetError::cancelled.
  void abort(FetchId fetch) const { service_->abort(host_, static_cast<std::uint64_t>(fetch)); }

 private:
  const wb_host* host_;
  const wb_http_service* service_;
};

// [strand] One timer, cancelled when this goes. It also goes without a word when its call ends.
class [[nodiscard]] Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept { swap(other); }
  Timer& operator=(Timer&& other) noexcept {
    Timer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Timer() { cancel(); }

  void cancel() noexcept {
    if (pending_ && pending_->fire) service_->cancel(pending_->host, id_);
    pending_.reset();
  }

 private:
  friend class Timers;
  void swap(Timer& other) noexcept {
    std::swap(service_, other.service_);
    std::swap(id_, other.id_);
    std::swap(pending_, other.pending_);
  }

  const wb_timer_service* service_ = nullptr;
  std::uint64_t id_ = 0;
  std::unique_ptr<detail::PendingTimer> pending_;
};

// Clocks that tests can turn, and timers on them.
class Timers {
 public:
  Timers(const wb_host* host, const wb_timer_service* service) noexcept : host_(host), service_(service) {}

  std::chrono::milliseconds monotonic() const { return std::chrono::milliseconds(service_->monotonic_ms(host_)); }  // [any]
  std::int64_t unix_seconds() const { return service_->unix_seconds(host_); }                                       // [any]
  // [strand] Keep the answer: dropping it cancels the timer. What `fire` throws completes the call as plugin_error.
  Timer after(Call call, std::chrono::milliseconds delay, std::function<void()> fire) const {
    Timer timer;
    timer.service_ = service_;
    timer.pending_ = std::make_unique<detail::PendingTimer>(detail::PendingTimer{host_, call.raw(), std::move(fire)});
    timer.id_ = service_->after(host_, call.raw(), delay.count(), &detail::PendingTimer::ring, timer.pending_.get());
    return timer;
  }

 private:
  const wb_host* host_;
  const wb_timer_service* service_;
};

using Mac = std::array<std::uint8_t, 32>;

// [any] Signatures with secrets that only the host knows.
class Signer {
 public:
  Signer(const wb_host* host, const wb_sign_service* service) noexcept : host_(host), service_(service) {}

  // HMAC-SHA256 of the concatenated parts, one for each secret now valid under the name, the newest first; none if the host
  // has no secret of that name.
  std::optional<std::vector<Mac>> hmac_sha256(std::string_view secret, std::initializer_list<std::string_view> parts) const {
    std::vector<wb_str> raw;
    raw.reserve(parts.size());
    for (const auto part : parts) raw.push_back(str(part));
    MacCollector macs;
    if (service_->hmac_sha256(host_, str(secret), raw.data(), raw.size(), &MacCollector::take, &macs) != WB_SIGN_OK)
      return std::nullopt;
    if (macs.failed) throw std::bad_alloc();
    return std::move(macs.list);
  }

 private:
  struct MacCollector {
    std::vector<Mac> list;
    bool failed = false;

    static void take(void* user, const std::uint8_t* bytes, std::size_t size) noexcept {
      auto& self = *static_cast<MacCollector*>(user);
      try {
        Mac mac{};
        std::memcpy(mac.data(), bytes, std::min(size, mac.size()));
        self.list.push_back(mac);
      } catch (...) {
        self.failed = true;
      }
    }
  };

  const wb_host* host_;
  const wb_sign_service* service_;
};

}  // namespace waybill::plugin
