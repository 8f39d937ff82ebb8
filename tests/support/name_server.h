// A DNS server on 127.0.0.1, port 53, for a network namespace: it answers as a test tells it to, differently each time if asked
// to.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace waybill::testing {

class NameServer {
 public:
  // The addresses of a name, of both families; a first entry with a letter that is no digit of an address is the name that it is
  // an alias of (CNAME), and so on: {"b.test", "c.test", "192.0.2.1"}. `nth`: how often this name was asked for before.
  using Zone = std::map<std::string, std::function<std::vector<std::string>(int nth)>>;

  explicit NameServer(Zone zone);  // throws without the right to the port
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

  int asked(const std::string& name) const;  // for its IPv4 addresses

 private:
  void serve();
  std::string answer(const std::string& query);

  const Zone zone_;
  int socket_;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::map<std::string, int> asked_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace waybill::testing
