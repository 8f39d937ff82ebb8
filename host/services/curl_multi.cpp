// curl's multi interface, driven by an event loop.
#include "services/curl_multi.h"

#include <curl/curl.h>
#include <sys/epoll.h>

#include <chrono>
#include <new>
#include <stdexcept>

namespace waybill {
namespace {

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw std::runtime_error("libcurl cannot start");
}

}  // namespace

struct CurlMulti::Callbacks {
  static int socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    auto& multi = *static_cast<CurlMulti*>(self);
    try {
      if (what == CURL_POLL_REMOVE) {
        multi.loop_.unwatch(fd);
        return 0;
      }
      const std::uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
      multi.loop_.watch(fd, events, [&multi, fd](std::uint32_t seen) {
        const int flags = (seen & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) | (seen & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                          (seen & EPOLLERR ? CURL_CSELECT_ERR : 0);
        multi.act(fd, flags);
      });
      return 0;
    } catch (...) {
      return -1;
    }
  }

  static int timer(CURLM*, long millis, void* self) {
    auto& multi = *static_cast<CurlMulti*>(self);
    multi.loop_.cancel(std::exchange(multi.timer_, 0));
    if (millis < 0) return 0;
    try {
      multi.timer_ = multi.loop_.after(std::chrono::milliseconds(millis), [&multi] {
        multi.timer_ = 0;
        multi.act(CURL_SOCKET_TIMEOUT, 0);
      });
      return 0;
    } catch (...) {
      return -1;
    }
  }
};

TlsSessions::TlsSessions() {
  start_curl();
  share_ = curl_share_init();
  if (share_ == nullptr) throw std::bad_alloc();
  curl_share_setopt(static_cast<CURLSH*>(share_), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

TlsSessions::~TlsSessions() { curl_share_cleanup(static_cast<CURLSH*>(share_)); }

CurlMulti::CurlMulti(EventLoop& loop, std::size_t kept_connections, Ended ended, TlsSessions& sessions)
    : loop_(loop), ended_(std::move(ended)), sessions_(sessions), multi_(curl_multi_init()) {
  if (multi_ == nullptr) throw std::bad_alloc();
  const auto set = [this](CURLMoption option, auto value) { curl_multi_setopt(multi_, option, value); };
  set(CURLMOPT_SOCKETFUNCTION, &Callbacks::socket);
  set(CURLMOPT_SOCKETDATA, this);
  set(CURLMOPT_TIMERFUNCTION, &Callbacks::timer);
  set(CURLMOPT_TIMERDATA, this);
  set(CURLMOPT_MAXCONNECTS, static_cast<long>(kept_connections));
  set(CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
}

CurlMulti::~CurlMulti() {
  curl_multi_cleanup(multi_);
  loop_.cancel(timer_);
}

// curl takes a share while a handle is idle only, and remembers sessions for eight destinations.
bool CurlMulti::add(void* easy) {
  curl_easy_setopt(easy, CURLOPT_SHARE, sessions_.share_);
  return curl_multi_add_handle(multi_, easy) == CURLM_OK;
}

void CurlMulti::remove(void* easy) {
  curl_multi_remove_handle(multi_, easy);
  curl_easy_setopt(easy, CURLOPT_SHARE, nullptr);
}

void CurlMulti::act(int fd, int flags) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, flags, &running);
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const int code = message->data.result;  // gone once the handle is removed
    ended_(message->easy_handle, code);
  }
}

}  // namespace waybill
