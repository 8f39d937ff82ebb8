// Hands each answer over once, and lets late ones go.
#include "http/response_queue.h"

#include <poll.h>

#include <atomic>
#include <utility>

namespace waybill::http {
namespace {

ResponseQueue::Answer answer_of(Admission admission) {
  return std::visit([](auto& one) -> ResponseQueue::Answer { return std::move(one); }, admission);
}

}  // namespace

// Shared by the copies of one reply function; the last one to go answers if nobody has.
class ResponseQueue::Ticket {
 public:
  Ticket(std::shared_ptr<ResponseQueue> response_queue, std::uint64_t number)
      : response_queue_(std::move(response_queue)), number_(number) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() {
    if (!used_) response_queue_->deliver(number_, Unanswered{});
  }
  void deliver(Answer answer) {
    used_ = true;
    response_queue_->deliver(number_, std::move(answer));
  }

 private:
  std::shared_ptr<ResponseQueue> response_queue_;
  std::uint64_t number_;
  std::atomic<bool> used_ = false;
};

Reply ResponseQueue::expect_response() {
  return [ticket = next_ticket()](Response response) { ticket->deliver(std::move(response)); };
}

std::function<void(Admission)> ResponseQueue::expect_principal() {
  return [ticket = next_ticket()](Admission principal) { ticket->deliver(answer_of(std::move(principal))); };
}

std::shared_ptr<ResponseQueue::Ticket> ResponseQueue::next_ticket() {
  std::lock_guard lock(mutex_);
  answer_.reset();
  expected_ = ++last_;
  return std::make_shared<Ticket>(shared_from_this(), expected_);
}

void ResponseQueue::deliver(std::uint64_t number, Answer answer) {
  std::lock_guard lock(mutex_);
  if (number != expected_) return;
  expected_ = 0;
  answer_ = std::move(answer);
  if (waiting_) wake_();
  waiting_ = false;
}

std::optional<ResponseQueue::Answer> ResponseQueue::take() {
  std::lock_guard lock(mutex_);
  waiting_ = !answer_;
  return std::exchange(answer_, std::nullopt);
}

void ResponseQueue::close() {
  std::lock_guard lock(mutex_);
  expected_ = 0;
  waiting_ = false;
  answer_.reset();
}

void ResponseQueue::forget_socket() {
  std::lock_guard lock(mutex_);
  socket_ = -1;
}

bool ResponseQueue::is_gone() const {
  std::lock_guard lock(mutex_);
  if (socket_ < 0) return true;
  pollfd one{.fd = socket_, .events = POLLRDHUP, .revents = 0};
  return poll(&one, 1, 0) > 0;  // POLLRDHUP, or an error
}

}  // namespace waybill::http
