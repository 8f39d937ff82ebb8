// curl's multi interface, driven by an event loop: its sockets are watched, its timer is set, its ends are reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "services/event_loop.h"

namespace waybill {

// TLS sessions that the next connection to the same place resumes, if it is secured in the same way: no certificate is checked
// anew for it, and the handshake costs a fraction. Belongs to one thread, and outlives every CurlMulti that has it.
class TlsSessions {
 public:
  TlsSessions();
  ~TlsSessions();
  TlsSessions(const TlsSessions&) = delete;
  TlsSessions& operator=(const TlsSessions&) = delete;

 private:
  friend class CurlMulti;
  void* share_;
};

// Belongs to the thread of its loop.
class CurlMulti {
 public:
  // `easy` is done with `code` (a CURLcode) and still added. Must not destroy this object.
  using Ended = std::function<void(void* easy, int code)>;

  CurlMulti(EventLoop& loop, std::size_t kept_connections, Ended ended, TlsSessions& sessions);
  ~CurlMulti();  // every handle was removed before
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  bool add(void* easy);
  void remove(void* easy);

 private:
  struct Callbacks;
  void act(int fd, int flags);

  EventLoop& loop_;
  Ended ended_;
  TlsSessions& sessions_;
  void* multi_;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace waybill
