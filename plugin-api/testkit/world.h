// The inside of the fake host: one small world with calls, a network, a clock and secrets.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "bytes.h"
#include "waybill/testkit.hpp"

namespace waybill::testkit {

// One breach of the rules, told when it has been written whole.
class Violation {
 public:
  explicit Violation(const Breaches& breaches) : breaches_(breaches) {}
  Violation(const Violation&) = delete;
  Violation& operator=(const Violation&) = delete;
  ~Violation() { breaches_(words_.str()); }
  template <class T>
  Violation& operator<<(const T& words) {
    words_ << words;
    return *this;
  }

 private:
  const Breaches& breaches_;
  std::ostringstream words_;
};

// What a plugin holds as its wb_host.
struct HostTable {
  wb_host host;
  World* world;
};

class World {
 public:
  World(const wb_plugin* descriptor, Breaches breaches);

  Violation breach() const { return Violation(breaches_); }

  // calls (fake_host.cpp)
  std::uint64_t open_call(const wb_sender* sender, const wb_action* action, CallKind asked, const Job& job);
  const wb_job* job_of(std::uint64_t call) const { return calls.at(call).job->raw(); }
  bool is_open(std::uint64_t call) const { return calls.count(call) != 0; }
  std::int32_t complete(wb_call call, const wb_outcome* outcome);  // [any]
  void take_arrivals();
  // True when the call has ended. Waits for another thread of the plugin if nothing else is left that could end the call.
  bool settled(std::uint64_t call);
  void log(wb_call call, std::int32_t level, wb_str words, const wb_field* fields, std::size_t count);  // [any]
  void check_words(std::string_view where, std::string_view words, bool one_line) const;
  bool on_own_thread(std::string_view what) const;

  // network: what fetches and submissions have in common (fake_network.cpp), and what they have not
  struct Exchange;
  // False, after telling the breach, if `call` is not open: then nothing must be asked for it.
  bool may_ask(const char* what, wb_call call) const;
  void begin(std::uint64_t number, std::uint32_t timeout_ms, Exchange exchange);
  bool abort(const void* service, std::uint64_t number);
  void cancel_exchanges_of(std::uint64_t call);
  std::size_t open_exchanges(const void* service) const;
  std::uint64_t fetch(wb_call call, const wb_http_request* request, wb_http_done done, void* user);
  std::uint64_t submit(wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user);

  // failures (fake_failures.cpp)
  const wb_failure_query* open_query(std::uint64_t call, std::int64_t since, std::string_view page);

  // clock (fake_time.cpp)
  std::uint64_t after(wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user);
  void run_until(std::int64_t time_ms);

  // secrets (fake_sign.cpp)
  std::int32_t hmac_sha256(std::string_view name, const wb_str* parts, std::size_t count,
                           void (*sink)(void*, const std::uint8_t*, std::size_t), void* user) const;

  struct OpenCall {
    const wb_sender* sender;
    const wb_action* action;
    CallKind asked;
    std::unique_ptr<JobBytes> job;
    std::int64_t deadline_at;
  };
  struct Due {  // in order of time, then of asking
    std::int64_t at;
    std::uint64_t sequence;
    bool operator<(const Due& other) const { return at != other.at ? at < other.at : sequence < other.sequence; }
  };
  struct Exchange {  // under way on the network for a call: a fetch or a submission
    std::uint64_t call;
    const void* service;  // that it was asked of
    Ending ending;        // as scripted, unless something else ends it first
    std::function<void(const Exchange&)> tell;
    bool overruled = false;
    Due due{};
  };
  struct Query {  // one page of failures that a plugin was asked for
    World* world;
    std::uint64_t call;
    Bytes page;
    wb_failure_query raw;
    std::vector<Failure> failures;
    std::optional<std::string> next_page;
  };
  struct Timer {
    std::uint64_t call;
    void (*fire)(void*);
    void* user;
    Due due;
  };

  const wb_plugin* plugin;
  HostTable table{};
  std::thread::id thread = std::this_thread::get_id();
  std::uint64_t next_number = 1;  // of calls, fetches, timers and moments: never reused
  std::map<std::uint64_t, OpenCall> calls;
  std::map<std::uint64_t, Outcome> outcomes;
  std::map<std::uint64_t, Exchange> exchanges;
  std::map<std::uint64_t, Timer> timers;
  std::atomic<std::int64_t> now_ms{1'000'000};
  std::chrono::milliseconds patience{2000};
  std::int64_t unix_at_zero_ms = 1'700'000'000'000 - 1'000'000;
  std::deque<Answer> answers;
  std::map<std::string, std::deque<Answer>> answers_by_url;
  std::deque<MailAnswer> mail_answers;
  std::deque<Query> queries;  // kept to the end: a plugin may come back to one late
  std::map<std::string, std::vector<std::string>, std::less<>> secrets;
  std::set<std::string, std::less<>> missing_services;
  std::vector<SentRequest> requests;
  std::vector<SentMail> mails;
  std::vector<LogEvent> logs;  // guarded by mutex_
  std::map<std::string, std::map<std::string, std::string>, std::less<>> templates;
  std::mutex renderings_mutex;
  std::vector<Rendering> renderings;  // guarded by renderings_mutex
  bool link_key = true;
  std::vector<Problem> create_problems;

 private:
  Answer choose_answer(const wb_http_request& request, SentRequest& sent);
  MailAnswer choose_mail_answer(SentMail& sent);
  std::optional<std::string> fill_secrets(std::string_view value) const;
  void overrule(Exchange& exchange, wb_net_error error, const char* words);
  void deliver(std::uint64_t exchange);
  void end(std::uint64_t call, Outcome outcome);

  const Breaches breaches_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::set<std::uint64_t> open_;                             // guarded by mutex_: the calls that can still be completed
  std::set<std::uint64_t> ended_;                            // guarded by mutex_
  std::vector<std::pair<std::uint64_t, Outcome>> arrivals_;  // guarded by mutex_: completed by other threads
};

const wb_http_service* http_service();
const wb_timer_service* timer_service();
const wb_sign_service* sign_service();
const wb_smtp_service* smtp_service();
const wb_template_service* template_service();
const wb_link_service* link_service();
inline World& world_of(const wb_host* host) { return *reinterpret_cast<const HostTable*>(host)->world; }

}  // namespace waybill::testkit
