// Whether what comes in can be stored, by how the last try ended: a client's, or one of the host's own (app/store_probe.h).
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"

namespace waybill {

// Safe from any thread.
class StoreHealth {
 public:
  // `what` is stored: "intents".
  StoreHealth(std::string what, const Clock& clock) : what_(std::move(what)), clock_(clock) {}

  void stored() {
    const std::lock_guard lock(mutex_);
    good_at_ = clock_.now();
    failed_at_.reset();
  }
  void failed() {
    const std::lock_guard lock(mutex_);
    failed_at_ = clock_.now();
  }
  // An error that says nothing of the database, such as a contradiction, counts as neither.
  template <class T>
  void note(const Result<T>& result) {
    if (result)
      stored();
    else if (result.error().kind == Error::Kind::unavailable)
      failed();
  }

  // Why nothing can be stored, in words for everybody; "" if the last try succeeded.
  std::string trouble() const {
    const std::lock_guard lock(mutex_);
    const auto now = clock_.now();
    if (!failed_at_) return {};
    return what_ + " cannot be stored: it failed " + age(now - *failed_at_) + " ago, and " +
           (good_at_ ? "last succeeded " + age(now - *good_at_) + " ago" : "has not succeeded yet");
  }

 private:
  static std::string age(Clock::Monotonic::duration length) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(length).count()) + " s";
  }

  const std::string what_;
  const Clock& clock_;
  mutable std::mutex mutex_;                             // for all below
  std::optional<Clock::Monotonic> good_at_, failed_at_;  // the latter: since the last success
};

}  // namespace waybill
