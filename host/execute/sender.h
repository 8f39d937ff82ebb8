// The seam between execute and plugins: a sender turns a job into an outcome. Knows nothing of shared libraries.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/departure.h"
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
  // A process of the plugin's own died inside this call, 0 for none; `words`: how. That call ends here, the others go on in the
  // next process. On the strand.
  virtual void died(CallId inside, std::string_view words) = 0;
  // The call was open in a process that died, and cannot go on: something of it may have been sent. On the strand.
  virtual void interrupted(CallId call, std::string_view words) = 0;
  // There is no process, and the sender is of no use any more: all open calls end here. On the strand.
  virtual void lost(std::string_view words) = 0;
};

// The job of an open call, and how far it has got.
struct OpenJob : Job {
  explicit OpenJob(Job job) : Job(std::move(job)) {}
  mutable std::atomic<Reached> reached{Reached::plugin};  // its sender writes it
};

// One sender with its strand and its services. Functions without [any thread] run on the strand.
class Sender {
 public:
  virtual ~Sender() = default;  // [strand's owner] after join(); destroys the plugin's sender
  // [any thread] Begins attempts on the strand, in order. An attempt is not begun past its deadline, or when another host may
  // have its job (Job::begin_before).
  struct Attempt {
    CallId call;
    std::shared_ptr<const OpenJob> job;  // kept until the call has ended and the strand has left the plugin
    Millis deadline;
  };
  virtual void send(std::vector<Attempt> attempts) = 0;
  // [any thread] True if the attempt had not begun; it never will, and its call is dropped.
  virtual bool withdraw(CallId call) = 0;
  virtual void cancel(CallId call) = 0;  // [any thread]
  virtual void ended(CallId call) = 0;   // [any thread] the call has ended: drops its fetches and timers
  // The entry into the plugin that the strand is inside of.
  struct Inside {
    CallId call;  // that it is for; 0: for none
    Clock::Monotonic since;
  };
  virtual std::optional<Inside> inside_plugin() const = 0;  // [any thread] none if it is outside
  // [any thread] The strand hangs: from now on nothing leaves the host by this sender. Calls that have not reached the network
  // when this returns never will.
  virtual void give_up() = 0;
  // [any thread] All that the plugin sends goes through the host, so that what has not reached the network was not sent.
  virtual bool sends_through_host() const { return false; }
  // [any thread] The plugin has a process of its own: when it hangs, give_up() kills that, and the sender goes on with the next.
  virtual bool runs_apart() const { return false; }
  // [any thread] Requires that no call is open. Ends the strand when all fetches and timers are done; true if that was in time.
  // False: it hangs inside the plugin, and the caller must never destroy it (leak it on purpose).
  virtual bool join(Millis within) = 0;
};

class SenderFactory {
 public:
  virtual ~SenderFactory() = default;
  // A new sender of this action type; an error when no plugin has it or its create refused.
  virtual Result<std::unique_ptr<Sender>> make(const std::string& action_type, Completions& completions) = 0;
  virtual std::size_t senders(std::string_view action_type) const = 0;           // 1, or the threads of a blocking plugin
  virtual std::size_t calls_per_sender(std::string_view action_type) const = 0;  // 1 for a blocking plugin
};

}  // namespace waybill
