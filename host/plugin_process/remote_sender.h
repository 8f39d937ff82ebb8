// A plugin's sender that lives in a process of its own, seen from the host: a wb_sender like any other, whose work goes to the
// process as messages, and for which the messages of the process become calls of the host.
#pragma once

#include <waybill/plugin.h>

#include <functional>
#include <memory>
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
#include "services/event_loop.h"

namespace waybill::plugin_process {

// Whose sender it is. On its strand, unless said otherwise.
class RemoteOwner {
 public:
  virtual ~RemoteOwner() = default;
  // The plugin's code threw an exception inside the call.
  virtual void threw(std::uint64_t call) = 0;
  virtual void violated(std::string_view how, std::uint64_t call) = 0;  // [any thread]
  // The process is gone; `inside`: the call that its code was inside of, 0 for none.
  virtual void lost(const Exit& exit, std::uint64_t inside) = 0;
  // [the process's thread] Runs `work` as if inside this call, which may be 0. False: it is no open call of this sender.
  virtual bool within(std::uint64_t call, const std::function<void()>& work) = 0;
  virtual void wrote(std::string_view line) = 0;  // [the process's thread]
};

// Functions belong to the strand, which is the loop's thread, unless said otherwise.
class RemoteSender {
 public:
  // A process that said hello, with what came after that. `host` and `owner` outlive it.
  RemoteSender(ReadyProcess ready, EventLoop& loop, const wb_host& host, RemoteOwner& owner);
  ~RemoteSender();

  // [before the strand runs] Creates the sender in the process; an error names what it reports.
  Result<void> create(std::string_view action_type, std::string_view settings, Millis within);
  wb_sender* sender() { return reinterpret_cast<wb_sender*>(this); }
  static const wb_sender_vt* functions();

  void attach();                 // once, first
  void flush();                  // at the end of a turn
  void end(std::uint64_t call);  // the call is over; more than once is nothing
  // [any thread] The call that the process's code is inside of, and since when on CLOCK_MONOTONIC.
  std::optional<Page::Inside> inside() const { return process_->page().inside(); }
  void kill(std::string_view why) { process_->kill(why); }  // [any thread]
  pid_t pid() const { return process_->pid(); }             // [any thread]

 private:
  struct Call {
    std::size_t requests = 0;  // fetches and submissions that are open
    const wb_failure_query* query = nullptr;
    std::vector<std::uint64_t> timers{};
  };
  struct Request {  // the user of a fetch or a submission
    RemoteSender* sender;
    std::uint64_t call, id;
  };
  struct Waiting {  // the user of a timer
    RemoteSender* sender;
    std::uint64_t call, id;
  };
  struct Functions;

  void begin(std::uint64_t call, Asked asked, const wb_job* job, const wb_failure_query* query = nullptr);
  void on_events(std::uint32_t events);
  void watch(std::uint32_t events);
  void take_frames();
  bool handle(const Frame& frame);
  template <class Message, class Use>
  bool with(const Frame& frame, Use use);
  void complete(const Complete& message);
  void fetch(Fetch& message);
  void submit(Submit& message);
  void start_timer(const Timer& message);
  void log(const Log& message) const;
  void list_failure(const Failure& message);
  bool may_request(std::uint64_t call);
  void request_over(std::uint64_t call);
  void forget(std::uint64_t call);
  void forget_timer(const Waiting& waiting);
  void give_up(std::string_view why);
  void has_ended(const Exit& exit);
  static void fetched(void* user, const wb_http_response* response);
  static void submitted(void* user, const wb_smtp_reply* reply);
  static void fired(void* user);
  template <class Service>
  const Service& service(const char* id) const;

  const std::unique_ptr<Process> process_;
  HostStream stream_;
  EventLoop& loop_;
  const wb_host& host_;
  RemoteOwner& owner_;
  std::uint32_t abilities_ = 0;
  bool attached_ = false, gone_ = false, destroyed_ = false;
  std::uint32_t watched_ = 0;
  std::unordered_map<std::uint64_t, Call> calls_;
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::unique_ptr<Request>>> fetches_;      // by the process's id
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::unique_ptr<Request>>> submissions_;  // by the process's id
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::unique_ptr<Waiting>>> timers_;       // by the process's id
};

}  // namespace waybill::plugin_process
