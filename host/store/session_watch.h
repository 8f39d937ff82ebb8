// A deadline for every statement, kept from outside: libpq waits for an answer for as long as the connection seems to live, and
// that of a server that hangs seems to live for ever.
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
// When the sign of life (purpose "liveness") has to be cut off, its server is taken to hang: all sessions that do nothing are
// ended as well, so that they connect anew, and what runs is held to the time that the sign of life had.
class SessionWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // How the sessions of one purpose do.
  struct Health {
    Time good_at{};              // when a statement last succeeded; {} for never
    std::uint64_t sessions = 0;  // opened so far
    std::string refusal;         // why the server is of no use, in words for everybody; "" after a success
  };

  SessionWatch();
  ~SessionWatch();

  // No statement goes on past `last`, and none begins after it.
  void stop_at(Time last);
  bool is_over() const;
  Health health(const std::string& purpose) const;
  void refused(const std::string& purpose, const std::string& why);

  class Place;

 private:
  struct Entry {
    int socket;      // a duplicate, so that its number is ours until the place goes
    bool leads;      // it is the sign of life
    Health* health;  // of its purpose
    bool runs = false;
    bool is_cut = false;
    Time began{}, until = Time::max();  // of what runs
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
  bool is_news_ = false;  // for the thread: something ends sooner than it wakes
  std::jthread thread_;   // last: it uses all above
};

// A session's place on the watch, for as long as the session has its socket. One thread at a time.
class SessionWatch::Place {
 public:
  Place(std::shared_ptr<SessionWatch> watch, const std::string& purpose, int socket);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // A statement begins; its connection is shut down at `until`. False: none may begin any more.
  bool begin(Time until);
  // It has ended. True if its connection was shut down.
  bool end(bool well);
  bool is_cut() const;

 private:
  const std::shared_ptr<SessionWatch> watch_;
  Entries::iterator entry_;
};

}  // namespace waybill
