// The host that a check puts one sender on: it answers as scripted, turns the clock, lends memory in the memory mode that the
// check wants, and writes down what the sender does. The thread that made it is the strand, and nothing happens but inside its
// functions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "check_host_parts.h"
#include "findings.h"

namespace waybill::conformance {

class CheckHost {
 public:
  // Of the nth request or mail of this call, from 0.
  using Script = std::function<Answer(std::uint64_t call, std::size_t nth)>;

  CheckHost(const wb_action& action, Findings& findings, Shape shape = {});
  ~CheckHost();
  CheckHost(const CheckHost&) = delete;
  CheckHost& operator=(const CheckHost&) = delete;

  bool create(const std::string& settings);  // false: there is no sender that could be used
  bool create_threw() const { return create_threw_; }
  const std::vector<std::string>& refusal() const { return refusal_; }
  bool made_sender() const { return sender_ != nullptr; }
  bool has_whole_table() const;
  void destroy();
  const void* extension(std::string_view id);
  bool can(CallKind asked);  // every sender can send; the rest are extensions

  void script(Script script) { script_ = std::move(script); }
  std::uint64_t begin(CallKind asked, const Job& job);
  void cancel(std::uint64_t call);
  void give_up(std::uint64_t call);  // the host ends the call, and its job is gone
  bool step();                       // one thing that falls due before the deadlines; false if there is none
  void run();
  void run_for(std::int64_t ms);  // of this host's clock

  Call call(std::uint64_t id) const;
  std::vector<Call> calls() const;
  std::vector<SentRequest> sent() const { return sent_; }
  std::vector<std::pair<Violation, std::string>> breaches() const;
  std::vector<std::string> logged() const;  // every text and value

 private:
  friend struct CheckHostFace;

  void enter(const std::string& what, std::uint64_t call, const std::function<void()>& body);
  const void* table_of(CallKind asked);
  void breach(Violation kind, const std::string& words);
  bool on_strand(const char* what);
  wb_str lend(std::vector<Block>& keep, std::string_view text) const;
  Block lend_struct(const void* bytes, std::size_t size, Memory memory) const;
  BorrowedJob lend_job(const Job& job) const;
  void lend_query(BorrowedJob& lent, std::uint64_t call);

  std::int32_t complete(wb_call call, const wb_outcome* outcome);    // [any]
  void log(wb_str text, const wb_field* fields, std::size_t count);  // [any]
  std::uint64_t fetch(wb_call call, const wb_http_request* request, wb_http_done done, void* user);
  std::uint64_t submit(wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user);
  std::uint64_t begin_exchange(Exchange exchange, std::uint32_t timeout_ms, const std::string& fault);
  void abort(const void* service, std::uint64_t exchange);
  std::uint64_t after(wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user);
  void tell_http(const Exchange& exchange, std::size_t most, wb_http_done done, void* user);
  void tell_smtp(const Exchange& exchange, wb_smtp_done done, void* user);
  void report_failure(std::uint64_t call, const wb_failure* failure);

  bool step_until(std::int64_t limit);
  void forget_ended();
  bool any_open() const;
  bool wait_for_other_threads();
  void deliver(std::uint64_t exchange);

  const wb_action& action_;
  Findings& findings_;
  const Shape shape_;
  const std::thread::id strand_ = std::this_thread::get_id();
  Block table_;
  const wb_host* host_ = nullptr;
  wb_sender* sender_ = nullptr;
  const wb_sender_vt* vt_ = nullptr;
  std::vector<std::string> refusal_;
  bool creating_ = false, destroying_ = false, create_threw_ = false;
  Script script_;
  std::int64_t now_ms_ = 1'000'000;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Exchange> exchanges_;
  std::map<std::uint64_t, Timer> timers_;
  std::vector<SentRequest> sent_;
  std::deque<Question> questions_;  // kept to the end: a plugin may come back to one late

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint64_t, Call> calls_;  // guarded by mutex_, with what follows
  std::map<std::uint64_t, BorrowedJob> lent_;
  std::vector<std::pair<Violation, std::string>> breaches_;
  std::vector<std::string> logged_;
};

}  // namespace waybill::conformance
