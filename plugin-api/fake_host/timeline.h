// The clock of a fake host, and what falls due on it: answers of the network, and timers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "waybill/testkit/network.hpp"

namespace waybill::fake_host {

enum class Protocol { http, smtp };

struct Due {
  std::int64_t at;
  std::uint64_t sequence;  // among what falls due at the same time
};

struct Exchange {  // a request or a mail under way
  std::uint64_t call;
  Protocol protocol;
  testkit::Ending ending;  // as scripted, unless something else ends it first
  std::function<void(const Exchange&)> deliver;
  bool overruled = false;  // something else ended it first
  Due due{};
};

enum class TieOrder { first_first, last_first };  // of exchanges that fall due at the same time

// Only the strand may use it; now_ms() is [any].
class Timeline {
 public:
  explicit Timeline(TieOrder ties = TieOrder::first_first) : ties_(ties) {}

  std::int64_t now_ms() const { return now_ms_; }
  std::uint64_t next_number() { return next_number_++; }  // of calls, exchanges and timers: never reused

  // Ends in time: at the request's own timeout (0: none), or at the call's deadline. No deadline: the call is not open.
  void begin(std::uint64_t number, Exchange exchange, std::uint32_t timeout_ms, std::optional<std::int64_t> deadline_at);
  bool abort(Protocol protocol, std::uint64_t number);  // false: there is no such exchange
  void start_timer(std::uint64_t number, std::uint64_t call, std::int64_t delay_ms, std::function<void()> fire);
  void cancel_timer(std::uint64_t number) { timers_.erase(number); }
  void end_call(std::uint64_t call);  // cancels its exchanges, which still report their end, and drops its timers

  bool step(std::int64_t limit_ms);  // one thing that falls due by then; false if there is none
  void advance_to(std::int64_t ms);  // the clock alone, never back

  std::size_t open_exchanges(Protocol protocol) const;
  std::size_t open_timers() const { return timers_.size(); }
  bool holds_any() const { return !exchanges_.empty() || !timers_.empty(); }
  bool holds_any_of(std::uint64_t call) const;

 private:
  struct Timer {
    std::uint64_t call;
    std::function<void()> fire;
    Due due;
  };

  void overrule(Exchange& exchange, wb_net_error error, const char* words);

  const TieOrder ties_;
  std::atomic<std::int64_t> now_ms_{1'000'000};
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Exchange> exchanges_;
  std::map<std::uint64_t, Timer> timers_;
};

}  // namespace waybill::fake_host
