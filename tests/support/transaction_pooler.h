// What a pooler in transaction mode is to its clients: all of them share one session of the server, each for a transaction.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <thread>

#include "support/socket.h"

namespace waybill::testing {

// Listens on a port of 127.0.0.1. Everybody is the user of `url`, which is of a database on a unix socket.
class TransactionPooler {
 public:
  explicit TransactionPooler(const std::string& url);
  ~TransactionPooler();
  TransactionPooler(const TransactionPooler&) = delete;
  TransactionPooler& operator=(const TransactionPooler&) = delete;

  std::string url() const;  // the same database through here

 private:
  void run();
  bool greet(Socket& client);
  bool carry_out(Socket& client);  // one transaction of a client that has something to say
  bool pass_answers(Socket& client, char& state);
  bool wait_for(const Socket& one, const Socket& other);

  std::string base_url_, server_path_;
  Socket listener_, server_, stop_read_, stop_write_;
  std::uint16_t port_ = 0;
  std::string greeting_;  // of the server, told to every client
  std::string unread_;    // of the server
  std::list<Socket> clients_;
  std::thread thread_;  // last: it uses all above
};

}  // namespace waybill::testing
