// A receiver on a port of this machine, for senders that have their own client: it listens in a process of its own and misbehaves
// as it is told.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::conformance {

struct Manner {
  std::string name;  // "a receiver that never answers"
  enum class Kind { absent, closes, answers, silent } kind;
  std::string answer{};  // its bytes, after the first that it got
};
std::vector<Manner> manners();

// Throws std::runtime_error where no port can be had. Gone with this object.
class LocalReceiver {
 public:
  explicit LocalReceiver(const Manner& manner);
  ~LocalReceiver();
  LocalReceiver(const LocalReceiver&) = delete;
  LocalReceiver& operator=(const LocalReceiver&) = delete;
  std::uint16_t port() const { return port_; }

 private:
  std::uint16_t port_ = 0;
  pid_t pid_ = -1;
};

// The JSON text with the authority of every URL in it as 127.0.0.1 and this port; none if there is no URL in it.
std::optional<std::string> redirected(std::string_view json, std::uint16_t port);

}  // namespace waybill::conformance
