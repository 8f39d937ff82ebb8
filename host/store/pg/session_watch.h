// Enforces a deadline for every statement from outside. libpq waits as long as the connection seems alive, and the connection to
// a hanging server seems alive for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace waybill {

// One for all sessions of a process, with one thread. Safe from any thread.
//
// If the liveness session (purpose "liveness") must be cut, the server is assumed to hang. Then all idle sessions are closed too,
// so that they reconnect, and running statements get the time limit of the liveness session.
class SessionWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The state of the sessions of one purpose.
  struct Health {
    Time good_at{};              // when a statement last succeeded; {}: never
    std::uint64_t sessions = 0;  // opened so far
    std::string refusal;         // why the server is unusable, safe to show to anybody; "" after a success
  };

  SessionWatch();
  ~SessionWatch();

  // No statement runs past `last`, and none begins after it.
  void stop_at(Time last);
  bool is_over() const;
  Health health(const std::string& purpose) const;
  void refused(const std::string& purpose, const std::string& why);

  class Place;

 private:
  struct Entry {
    int socket;      // a duplicate, so that its number stays ours
    bool leads;      // it is the liveness session
    Health* health;  // of its purpose
    bool runs = false;
    bool is_cut = false;
    Time began{}, until = Time::max();  // of the running statement
  };
  using Entries = std::list<Entry>;
  void run(const std::stop_token& stop);
  void cut_late(Time now);
  static void cut(Entry& entry);

  mutable std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  Entries entries_;
  std::map<std::string, Health> health_;  // by purpose; entries point into it
  Time last_ = Time::max();
  Time wakes_at_ = Time::max();
  bool is_news_ = false;  // for the thread: a deadline is before its wake-up
  std::jthread thread_;   // last: it uses all above
};

// A session's registration with the watch, while the session has its socket. One thread at a time.
class SessionWatch::Place {
 public:
  Place(std::shared_ptr<SessionWatch> watch, const std::string& purpose, int socket);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // A statement begins; its connection is shut down at `until`. False: no statement may begin any more.
  bool begin(Time until);
  // The statement has ended. True if its connection was shut down.
  bool end(bool well);
  bool is_cut() const;

 private:
  const std::shared_ptr<SessionWatch> watch_;
  Entries::iterator entry_;
};

}  // namespace waybill
