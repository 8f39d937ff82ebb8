// Carries an answer from whichever thread makes it to the connection that waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <variant>

#include "http/http.h"

namespace waybill::http {

// One per connection. Replies may be called, copied and dropped on any thread, also after the connection and the server are
// gone; the other functions belong to the connection's thread.
class ResponseQueue final : public Connection, public std::enable_shared_from_this<ResponseQueue> {
 public:
  struct Unanswered {};  // nobody will: the reply was dropped
  using Answer = std::variant<Response, std::optional<Principal>, Unanswered>;

  // `wake` is called, under the lock, when an answer comes that take() has asked for in vain. `socket`: the connection's, which
  // is asked whether the client has closed its side, until forget_socket().
  explicit ResponseQueue(std::function<void()> wake, int socket = -1) : wake_(std::move(wake)), socket_(socket) {}

  // Each expects the one next answer: an earlier reply that comes later is ignored. If all copies are dropped without a word,
  // the answer is Unanswered.
  Reply expect_response();
  std::function<void(Admission)> expect_principal();

  // The answer, if it is there; else `wake` will be called.
  std::optional<Answer> take();
  // Nothing is taken in and nobody woken from here on.
  void close();
  // Before the socket is closed: the connection is gone.
  void forget_socket();
  bool is_gone() const override;  // from any thread

 private:
  class Ticket;
  std::shared_ptr<Ticket> next_ticket();
  void deliver(std::uint64_t number, Answer answer);

  mutable std::mutex mutex_;
  std::function<void()> wake_;
  int socket_;                  // -1: closed
  std::uint64_t expected_ = 0;  // the ticket that may still answer
  std::uint64_t last_ = 0;
  std::optional<Answer> answer_;
  bool waiting_ = false;
};

}  // namespace waybill::http
