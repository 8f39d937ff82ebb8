// The seam between executing and plugins: something that turns a job into an outcome. Nothing here knows a .so.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "domain/job.h"
#include "domain/outcome.h"

namespace waybill {

struct CallId {
  std::uint64_t value = 0;
  auto operator<=>(const CallId&) const = default;
};

// Where senders complete their calls. Returns false if the call is unknown or already ended. Safe from any thread.
class Completions {
 public:
  virtual ~Completions() = default;
  virtual bool complete(CallId call, Outcome outcome) = 0;
  // The strand reached the attempt too late to begin it. The call has ended; nothing was sent.
  virtual void not_begun(CallId call) = 0;
  // Hands on what was completed. A sender calls it at the end of each turn of its strand, and after a completion elsewhere.
  virtual void flush() = 0;
};

// One sender with its strand and its services. All but post() and its kin run on the strand.
class Sender {
 public:
  virtual ~Sender() = default;  // [strand's owner] after join(); destroys the plugin's sender
  // [any thread] Begin attempts, in order, on the strand. One that is reached past its deadline, or when its job may be another
  // host's already (Job::begin_before), is not begun.
  struct Attempt {
    CallId call;
    std::shared_ptr<const Job> job;  // kept until the call has ended and the strand has left the plugin
    Millis deadline;
  };
  virtual void send(std::vector<Attempt> attempts) = 0;
  // [any thread] True if the attempt had not begun; now it never will, and its call is forgotten.
  virtual bool withdraw(CallId call) = 0;
  virtual void cancel(CallId call) = 0;  // [any thread]
  virtual void ended(CallId call) = 0;   // [any thread] the call has ended: its fetches and timers go
  // [any thread] Since when the strand has been inside one call of the plugin; none if it is not.
  virtual std::optional<Clock::Monotonic> inside_plugin_since() const = 0;
  // [any thread] No call is open any more. Ends the strand when all fetches and timers are done; true if it ended in time. False:
  // it hangs inside the plugin; the caller must never destroy it (leak it on purpose).
  virtual bool join(Millis within) = 0;
};

class SenderFactory {
 public:
  virtual ~SenderFactory() = default;
  // A new sender of this action type; an error when no plugin has it or its create refused.
  virtual Result<std::unique_ptr<Sender>> make(const std::string& action_type, Completions& completions) = 0;
  virtual std::size_t workers(std::string_view action_type) const = 0;  // senders to make: 1, or a blocking plugin's threads
  virtual std::size_t calls_per_worker(std::string_view action_type) const = 0;  // 1 for a blocking plugin
};

}  // namespace waybill
