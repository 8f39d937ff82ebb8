// A gateway for sms, push and webhooks that does what a test tells it: accept, refuse, answer nonsense, be late, hang or die.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/eventually.h"
#include "support/socket.h"

namespace waybill::testing {

// How one request is met. In a body, {reference} stands for the request's reference.
struct Reply {
  enum class How {
    answer,
    hang,   // no answer until the other side gives up or release() is called; then the connection is closed
    reset,  // RST instead of an answer
    die     // read the request, close without a word
  };
  How how = How::answer;
  int status = 200;
  std::string body;
  std::string headers;                 // further lines, each with \r\n
  std::chrono::milliseconds delay{0};  // before the answer
  bool held = false;                   // the answer waits for release()
  std::string type = "application/json";

  static Reply accept();
  static Reply reject(const std::string& reason);
  static Reply not_json();
  static Reply no_status();
  static Reply unknown_status();
  static Reply rejection_without_reason();
  static Reply http_error(int status);
  static Reply too_many_requests(int retry_after_seconds);
  static Reply late(std::chrono::milliseconds delay);  // accepts after that
  static Reply accept_when_released();
  static Reply hang();
  static Reply reset();
  static Reply die();
};

// One request as it came.
struct Received {
  std::chrono::steady_clock::time_point at;
  std::string method;
  std::string path;
  std::string head;
  std::string body;
  std::string reference;     // referenceId of the body, else the header webhook-id or Idempotency-Key, else the path of a GET,
                             // without its query
  bool interrupted = false;  // met by interrupt()'s reply
};

// Safe from any thread. A thread for each connection.
class FakeGateway {
 public:
  enum class Door { open, shut };  // shut: connections are refused

  explicit FakeGateway(Door door = Door::open);
  ~FakeGateway();
  FakeGateway(const FakeGateway&) = delete;
  FakeGateway& operator=(const FakeGateway&) = delete;

  std::string url() const;
  void open();  // accepts connections from now on, on the same port

  // The replies to this reference's requests, or to those of a method and path ("POST /hook"), in turn; the last one stays.
  void script(const std::string& reference, std::vector<Reply> replies);
  void by_default(Reply reply);  // for every reference without a script
  // For every request without a script. `decide` is called by one thread at a time, and must not ask this gateway anything.
  void answer_by(std::function<Reply(const Received&)> decide);
  void interrupt(const std::string& path, Reply reply);  // until resume(), for every request of that path, before any script
  void resume();
  void release();  // lets everything go that is held or hangs, now and later

  std::vector<Received> received() const;
  std::vector<Received> received(const std::string& reference) const;
  std::size_t count() const;
  std::size_t count(const std::string& reference) const;
  std::map<std::string, std::size_t> counts() const;
  bool wait_for(const std::function<bool()>& predicate, std::chrono::milliseconds bound = kBound) const;
  bool wait_for_count(const std::string& reference, std::size_t least) const;

 private:
  struct Connection {
    Socket socket;
    bool over = false;
    std::jthread thread;
  };

  void accept_connections(const std::stop_token& stop);
  void serve(Connection& connection);
  Reply next_reply(const Received& request);
  bool answer(Connection& connection, const Received& request, const Reply& reply);
  void bind();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Socket listener_;
  std::uint16_t port_ = 0;
  bool released_ = false;
  bool ending_ = false;
  Reply default_ = Reply::accept();
  std::function<Reply(const Received&)> decide_;
  std::optional<std::pair<std::string, Reply>> interruption_;
  std::map<std::string, std::deque<Reply>> scripts_;
  std::vector<Received> received_;
  std::map<std::string, std::size_t> counts_;
  std::list<Connection> connections_;
  std::jthread acceptor_;
};

}  // namespace waybill::testing
