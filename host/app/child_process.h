// A process of this program that a host starts for what may bring a process down.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/time.h"
#include "telemetry/log.h"

namespace waybill {

// The names of its log events.
struct ChildEvents {
  const char* started;
  const char* failed;
  const char* died;
};

// One process at a time, ended with this object. One thread at a time.
class ChildProcess {
 public:
  ChildProcess(const ChildEvents& events, const Clock& clock, Log& log) : events_(events), clock_(clock), log_(log) {}
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool is_running();
  void ask_to_end();  // SIGTERM, if it runs
  // `waybill <words> --parent <this process>`
  Result<void> start(std::vector<std::string> words);

 private:
  const ChildEvents events_;
  const Clock& clock_;
  Log& log_;
  pid_t pid_ = 0;
};

}  // namespace waybill
