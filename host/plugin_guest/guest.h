// The inside of a plugin's process: a shared library and the host that it sees, which is a host at the other end of two sockets.
#pragma once

#include <waybill/plugin.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugin_guest/guest_stream.h"
#include "plugin_protocol/page.h"

namespace waybill::plugin_process {

class Guest;

// The first member is what the plugin holds.
struct GuestFace {
  wb_host host;
  Guest* guest;
};

// The strand of one plugin, and at most one sender of it. One per process; all belongs to the thread that made it but what
// guest_host.cpp says otherwise of.
class Guest {
 public:
  Guest(const wb_plugin& plugin, Page& page);

  [[noreturn]] void serve();  // until the host says so, or is gone

  // What guest_host.cpp needs to serve the plugin. The first four are safe from any thread.
  std::int32_t complete(wb_call call, const wb_outcome* said);
  GuestStream& stream() { return stream_; }
  GuestQuestions& questions() { return questions_; }
  std::uint64_t current_call() const { return stream_.on_strand() ? current_ : 0; }
  std::uint64_t fetch(wb_call call, const wb_http_request* asked, wb_http_done done, void* user);
  std::uint64_t submit(wb_call call, const wb_smtp_message* asked, wb_smtp_done done, void* user);
  std::uint64_t start_timer(wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user);
  void abort_fetch(std::uint64_t id);
  void abort_submission(std::uint64_t id);
  void cancel_timer(std::uint64_t id);
  std::int32_t count(wb_str name, std::uint64_t by);
  void fault(std::string_view word, std::uint64_t call);

 private:
  struct Call {
    std::string body;  // what `begin` points into
    Begin begin;
    wb_failure_query query{};
    Guest* guest = nullptr;
    std::vector<std::uint64_t> timers;
    bool has_ended = false;
  };
  template <class Done>
  struct Pending {
    std::uint64_t call;
    Done done;
    void* user;
  };

  template <class Enter>
  bool throws_inside(std::uint64_t call, Enter enter);
  template <class Enter>
  void enter(std::uint64_t call, Enter enter);
  void dispatch(const Frame& frame);
  void check(const Frame& frame);
  void create(const Frame& frame);
  void begin(const Frame& frame);
  void begin_asked(Call& call);
  void cancel(const Frame& frame);
  void end(const Frame& frame);
  void respond(const Frame& frame);
  void reply(const Frame& frame);
  void fire(const Frame& frame);
  [[noreturn]] void destroy();
  template <class Message>
  Message taken(const Frame& frame);
  const wb_action* action_of(std::string_view type) const;
  template <class Table>
  const Table* ability(const char* id);
  void forget_ended();
  static void take_failure(void* user, const wb_failure* failure) noexcept;
  static void take_next_page(void* user, wb_str name) noexcept;

  const wb_plugin& plugin_;
  Page& page_;
  GuestStream stream_;
  GuestQuestions questions_;
  GuestFace face_;
  std::string settings_;
  wb_sender* sender_ = nullptr;
  const wb_sender_vt* vt_ = nullptr;
  const wb_compose* compose_ = nullptr;
  const wb_status* status_ = nullptr;
  const wb_probe* probe_ = nullptr;
  const wb_failures* failures_ = nullptr;
  std::uint64_t current_ = 0;  // the call that the strand is inside of
  std::uint64_t last_id_ = 0;  // of fetches, submissions and timers
  std::unordered_map<std::uint64_t, Pending<wb_http_done>> fetches_;
  std::unordered_map<std::uint64_t, Pending<wb_smtp_done>> submissions_;
  std::unordered_map<std::uint64_t, Pending<void (*)(void*)>> timers_;
  std::mutex mutex_;  // for the two below
  std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls_;
  std::vector<std::uint64_t> ended_;
  std::mutex names_mutex_;
  std::set<std::string, std::less<>> counted_;  // guarded by names_mutex_
};

}  // namespace waybill::plugin_process
