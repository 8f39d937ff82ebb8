// A plugin's sender that lives in a process of its own, seen from the host: a wb_sender like any other, whose work goes to the
// process as messages, and for which the messages of the process become calls of the host.
#pragma once

#include <waybill/plugin.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/problem.h"
#include "plugin_process/greeting.h"
#include "plugin_process/host_stream.h"
#include "plugin_process/process.h"
#include "plugin_process/suspects.h"
#include "services/event_loop.h"

namespace waybill::plugin_process {

// Another process, if one is ready. Says whether it is asked for because one died; it is asked again until one is.
using NextProcess = std::function<Result<ReadyProcess>(bool after_death)>;

// Whose sender it is. On its strand, unless said otherwise.
class RemoteOwner {
 public:
  virtual ~RemoteOwner() = default;
  // The plugin's code threw an exception inside the call.
  virtual void threw(std::uint64_t call) = 0;
  virtual void violated(std::string_view how, std::uint64_t call) = 0;  // [any thread]
  // The process died, and the next one takes over its calls: all but the one that its code was inside of (0 for none), which the
  // owner ends.
  virtual void died(const Exit& exit, std::uint64_t inside) = 0;
  // The next process does otherwise than the one that died, which had something sent: the owner ends the call.
  virtual void cannot_repeat(std::uint64_t call) = 0;
  // There is no next process: the owner ends all calls, and the sender is of no use any more.
  virtual void lost(std::string_view why) = 0;
  // [the process's thread] Runs `work` as if inside this call, which may be 0. False: it is no open call of this sender.
  virtual bool within(std::uint64_t call, const std::function<void()>& work) = 0;
  virtual void wrote(std::string_view line) = 0;  // [the process's thread]
  virtual void answered() {}                      // what the host gave the process is about to leave: an answer, or a timer's end
};

// Functions belong to the strand, which is the loop's thread, unless said otherwise.
//
// When the process dies, its calls begin once more in the next one. What the first one had the host send is not sent again: the
// next one asks for the same, and is given the answer, when it is there. So a call that happens to be open outlives any number of
// processes, and its receiver sees it once.
class RemoteSender {
 public:
  // `host` and `owner` outlive it. `sends_through_host`: the plugin has no other way to send.
  RemoteSender(ReadyProcess first, NextProcess next, bool sends_through_host, EventLoop& loop, const wb_host& host,
               RemoteOwner& owner);
  ~RemoteSender();

  // [before the strand runs] Creates the sender in the process; an error names what it reports.
  Result<void> create(std::string_view action_type, std::string_view settings, Millis within);
  wb_sender* sender() { return reinterpret_cast<wb_sender*>(this); }
  static const wb_sender_vt* functions();

  void attach();                 // once, first
  void flush();                  // at the end of a turn
  void end(std::uint64_t call);  // the call is over; more than once is nothing
  // What became of a call so far: nothing, in no process; or something of it may have been sent.
  enum class Begun { no, yes, in_a_process_that_died };
  Begun has_begun(std::uint64_t id) const;
  bool is_lost() const { return state_ == State::lost; }  // no call can begin any more
  // [any thread] The call that the process's code is inside of, and since when on CLOCK_MONOTONIC.
  std::optional<Page::Inside> inside() const;
  void kill(std::string_view why);  // [any thread]
  // For checks, whose host does nothing meanwhile: turns the loop until the process has nothing to do until something comes. An
  // error if that takes longer, or the process is gone.
  Result<void> settle(Millis within);
  // After its sender was destroyed, or never made: the process, for another one, if it lives again.
  ReadyProcess give_back();

 private:
  struct Request {  // a fetch or a submission: the user of it
    RemoteSender* sender;
    std::uint64_t call;
    std::uint64_t id;         // as the process calls it; 0: of a process that died, and nobody asked for it again
    std::uint64_t begun;      // as the host calls it
    std::size_t fingerprint;  // of what was asked
    bool is_mail;
    bool is_open = true;
    bool was_sent = true;  // or may have been
    std::string answer{};  // the frame, once it is there
  };
  struct Call {
    std::uint64_t begun_as = 0;  // the how manieth that this process was told to begin
    Asked asked = Asked::send;
    const wb_job* job = nullptr;
    const wb_failure_query* query = nullptr;
    std::vector<std::uint64_t> timers{};
    std::vector<std::unique_ptr<Request>> requests{};
    std::size_t open_requests = 0;
    std::size_t kept_bytes = 0;
    bool can_repeat = true;
  };
  struct Waiting {  // the user of a timer
    RemoteSender* sender;
    std::uint64_t call, id;
  };
  struct Functions;

  void listen();
  void begin(std::uint64_t id, Asked asked, const wb_job* job, const wb_failure_query* query = nullptr);
  void begin_in_process(std::uint64_t id, Call& call);
  void on_events(std::uint32_t events);
  void watch(std::uint32_t events);
  void take_frames();
  bool handle(const Frame& frame);
  template <class Message, class Use>
  bool with(const Frame& frame, Use use);
  Result<void> take_created(const Created& created);
  void complete(const Complete& message);
  void fetch(Fetch& message);
  void submit(Submit& message);
  // The request that the call made before and now asks for again; null: it is another one.
  Request* asked_before(Call& call, std::size_t fingerprint, bool is_mail);
  bool may_begin(Call* call, std::uint64_t id);
  void take_over(Request& request, std::uint64_t id);
  void put_answer(const Request& request);
  void add_request(std::uint64_t id, Call* call, std::unique_ptr<Request> request);
  void answered(Request& request, std::string frame, bool was_sent);
  void start_timer(const Timer& message);
  void log(const Log& message);
  void list_failure(const Failure& message);
  void forget(std::uint64_t id);
  void forget_timer(const Waiting& waiting);
  void drop_timers(const std::vector<std::uint64_t>& timers);
  void give_up(std::string_view why);
  void has_ended(const Process* process, const Exit& exit);
  void stream_ended();
  void ping();
  void look_at_life();
  void later(EventLoop::Duration delay, EventLoop::Task task);  // not once this is gone
  void look_at_suspects();
  void take_next(bool after_death);
  void begin_all_again();
  static void fetched(void* user, const wb_http_response* response);
  static void submitted(void* user, const wb_smtp_reply* reply);
  static void fired(void* user);
  template <class Service>
  const Service& service(const char* id) const;

  std::shared_ptr<Process> process_;  // replaced on the strand, with process_mutex_ held
  mutable std::mutex process_mutex_;
  HostStream stream_;
  const NextProcess next_;
  const bool sends_through_host_;
  EventLoop& loop_;
  const wb_host& host_;
  RemoteOwner& owner_;
  std::string action_type_, settings_;
  std::uint32_t abilities_ = 0;
  enum class State { creating, runs, gone, lost } state_ = State::creating;
  const std::shared_ptr<const int> alive_ = std::make_shared<const int>();
  bool attached_ = false, destroyed_ = false;
  EventLoop::Time gone_since_{}, creating_since_{};
  std::uint64_t pinged_ = 0, ponged_ = 0;
  int silent_looks_ = 0, unanswered_looks_ = 0;  // since the ping; the former begins anew while its code is inside of a call
  EventLoop::Time logged_since_{};
  std::size_t logged_ = 0;  // since then
  Suspects suspects_;
  bool looks_at_suspects_ = false;
  std::uint32_t watched_ = 0;
  std::uint64_t settling_ = 0, settled_ = 0;
  std::uint64_t begun_ = 0;  // Begins that this process was sent
  std::unordered_map<std::uint64_t, Call> calls_;
  std::unordered_map<std::uint64_t, Request*> requests_;                                          // by the process's id
  std::unordered_map<Request*, std::unique_ptr<Request>> orphans_;                                // open, of calls that are over
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::unique_ptr<Waiting>>> timers_;  // by the process's id
};

}  // namespace waybill::plugin_process
