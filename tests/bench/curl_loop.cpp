// Easy handles that go round: added, done, added again; epoll tells curl which sockets move.
#include "bench/curl_loop.h"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/interrupt.h"

namespace waybill::bench {
namespace {

double thread_cpu() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

std::size_t discard(char*, std::size_t size, std::size_t count, void*) { return size * count; }

class Loop {
 public:
  Loop(std::uint16_t port, std::size_t count, std::size_t body_bytes, std::size_t connections)
      : left_to_start_(count), left_(count), body_(body_bytes, 'x'), url_("http://127.0.0.1:" + std::to_string(port) + "/hook") {
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &on_socket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &on_timer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(connections));
    for (const char* line :
         {"Content-Type: application/json", "Expect:", "webhook-id: bench-12345678", "webhook-timestamp: 1700000000",
          "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="})
      headers_.reset(curl_slist_append(headers_.release(), line));
    for (std::size_t i = 0; i < connections; ++i) easy_.push_back(make_easy());
  }
  ~Loop() {
    for (const auto& easy : easy_) curl_multi_remove_handle(multi_.get(), easy.get());
    ::close(epoll_);
  }

  void run() {
    for (const auto& easy : easy_) start(easy.get());
    std::array<epoll_event, 128> events;
    while (left_ > 0) {
      check_interrupted();
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), timeout_ < 0 ? 1000 : static_cast<int>(timeout_));
      if (count <= 0 || timeout_ == 0) {
        timeout_ = -1;
        act(CURL_SOCKET_TIMEOUT, 0);
      }
      for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        act(event.data.fd, (event.events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                               (event.events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                               (event.events & EPOLLERR ? CURL_CSELECT_ERR : 0));
      }
    }
  }

 private:
  struct CloseEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct CloseMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using Easy = std::unique_ptr<CURL, CloseEasy>;

  Easy make_easy() const {
    Easy easy(curl_easy_init());
    curl_easy_setopt(easy.get(), CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, body_.data());
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body_.size()));
    curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &discard);
    curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
    return easy;
  }

  void start(CURL* easy) {
    if (left_to_start_ == 0) return;
    --left_to_start_;
    curl_multi_add_handle(multi_.get(), easy);
  }

  void act(curl_socket_t fd, int flags) {
    int running = 0;
    curl_multi_socket_action(multi_.get(), fd, flags, &running);
    int more = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &more)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* easy = message->easy_handle;
      const CURLcode code = message->data.result;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      if (code != CURLE_OK || status != 200)
        throw std::runtime_error(std::string("the bare curl loop failed: ") + curl_easy_strerror(code) + ", status " +
                                 std::to_string(status));
      curl_multi_remove_handle(multi_.get(), easy);
      --left_;
      start(easy);
    }
  }

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void* known) {
    auto& loop = *static_cast<Loop*>(self);
    epoll_event event{};
    event.data.fd = fd;
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (what == CURL_POLL_REMOVE) {
      ::epoll_ctl(loop.epoll_, EPOLL_CTL_DEL, fd, nullptr);
    } else {
      ::epoll_ctl(loop.epoll_, known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
      curl_multi_assign(loop.multi_.get(), fd, &loop);
    }
    return 0;
  }

  static int on_timer(CURLM*, long millis, void* self) {
    static_cast<Loop*>(self)->timeout_ = millis;
    return 0;
  }

  std::size_t left_to_start_, left_;
  const std::string body_, url_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  long timeout_ = -1;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURLM, CloseMulti> multi_{curl_multi_init()};
  std::vector<Easy> easy_;
};

}  // namespace

CurlLoopResult run_curl_loop(std::uint16_t port, std::size_t count, std::size_t body_bytes, std::size_t connections) {
  Loop loop(port, count, body_bytes, connections);
  const auto from = std::chrono::steady_clock::now();
  const double cpu_from = thread_cpu();
  loop.run();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count(), thread_cpu() - cpu_from};
}

}  // namespace waybill::bench
