// The seam between execute and plugins: a sender turns a job into an outcome. Knows nothing of shared libraries.
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
  // The strand reached the attempt too late to begin it: the call has ended, and nothing was sent.
  virtual void not_begun(CallId call) = 0;
  // Hands on completed calls. A sender calls it at the end of each turn of its strand, and after a completion on another thread.
  virtual void flush() = 0;
};

// One sender with its strand and its services. Functions without [any thread] run on the strand.
class Sender {
 public:
  virtual ~Sender() = default;  // [strand's owner] after join(); destroys the plugin's sender
  // [any thread] Begins attempts on the strand, in order. An attempt is not begun past its deadline, or when another host may
  // have its job (Job::begin_before).
  struct Attempt {
    CallId call;
    std::shared_ptr<const Job> job;  // kept until the call has ended and the strand has left the plugin
    Millis deadline;
  };
  virtual void send(std::vector<Attempt> attempts) = 0;
  // [any thread] True if the attempt had not begun; it never will, and its call is dropped.
  virtual bool withdraw(CallId call) = 0;
  virtual void cancel(CallId call) = 0;  // [any thread]
  virtual void ended(CallId call) = 0;   // [any thread] the call has ended: drops its fetches and timers
  // [any thread] When the strand entered the plugin call that it is inside of; none if it is in none.
  virtual std::optional<Clock::Monotonic> inside_plugin_since() const = 0;
  // [any thread] Requires that no call is open. Ends the strand when all fetches and timers are done; true if that was in time.
  // False: it hangs inside the plugin, and the caller must never destroy it (leak it on purpose).
  virtual bool join(Millis within) = 0;
};

class SenderFactory {
 public:
  virtual ~SenderFactory() = default;
  // A new sender of this action type; an error when no plugin has it or its create refused.
  virtual Result<std::unique_ptr<Sender>> make(const std::string& action_type, Completions& completions) = 0;
  virtual std::size_t workers(std::string_view action_type) const = 0;           // 1, or the threads of a blocking plugin
  virtual std::size_t calls_per_worker(std::string_view action_type) const = 0;  // 1 for a blocking plugin
};

}  // namespace waybill
