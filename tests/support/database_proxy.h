// A network between the host and PostgreSQL that fails on command: it cuts, stalls, keeps answers back, or loses one answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/socket.h"

namespace waybill::testing {

// Listens on a port of 127.0.0.1 and connects to the server's unix socket. Safe from any thread; what was asked for holds when a
// call returns.
//
// `of` chooses sessions by a text of their startup message, such as "waybill-liveness" (their application_name) or a role;
// "" is all of them.
class DatabaseProxy {
 public:
  enum class Flow {
    open,
    stalled,  // half-open: nothing passes, nobody is told, new connections are accepted and get no answer
    mute      // what the client sends arrives and is carried out; answers are kept back
  };
  enum class Backend {
    ends,  // the server's side is closed too
    lives  // the server's side stays, so its backend goes on; what it answers is thrown away. See end_backends()
  };
  enum class Moment {
    before,   // the text does not reach the server
    sent,     // it has reached the server, which may not have begun
    answered  // the server's answer is there, and lost
  };

  // `url` is of a database on a unix socket, as PostgresCluster::create_database() gives it.
  explicit DatabaseProxy(const std::string& url);
  ~DatabaseProxy();
  DatabaseProxy(const DatabaseProxy&) = delete;
  DatabaseProxy& operator=(const DatabaseProxy&) = delete;

  std::string url() const;  // the same database through here

  // For sessions that are open and those to come, until the next call with the same `of`. What was kept back is then passed on.
  void set(Flow flow, const std::string& of = "");
  void refuse(bool all_new_connections);
  // Resets the clients' connections, also stalled ones; answers how many.
  std::size_t cut(const std::string& of = "", Backend backend = Backend::ends);
  // Once: the next session of these that sends `text` (a statement's name, or COMMIT) is cut then.
  void cut_at(const std::string& text, Moment moment, const std::string& of = "", Backend backend = Backend::lives);
  std::size_t end_backends();  // that were left alive; answers how many

  std::size_t open(const std::string& of = "");  // clients' connections
  std::size_t cuts();                            // by cut_at so far

 private:
  struct Trap {
    std::string text;
    Moment moment;
    std::string of;
    Backend backend;
  };
  struct Session {
    Socket client, server;
    std::string startup;               // the client's first bytes, by which it is chosen
    std::string to_server, to_client;  // read and not yet written
    std::string tail;                  // of what the client sent last: a text may come in two parts
    bool client_ended = false, server_ended = false;
    bool caught = false;  // the trap below has seen its text
    Trap trap{};
  };

  void run();
  bool connect(Session& session);
  void wait_and_move();
  void read_client(Session& session);
  void read_server(Session& session);
  void write(Session& session);
  bool is_over(const Session& session) const;
  Flow flow_of(const Session& session) const;
  void cut(Session& session, Backend backend);
  void wake();

  std::string base_url_, server_path_;
  Socket listener_, wake_read_, wake_write_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;  // for all below
  std::list<Session> sessions_;
  std::vector<std::pair<std::string, Flow>> flows_;  // the last that fits counts
  std::vector<Trap> traps_;
  bool refusing_ = false, stopping_ = false;
  std::size_t cuts_ = 0;
  std::thread thread_;  // last: it uses all above
};

}  // namespace waybill::testing
