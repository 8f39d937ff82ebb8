// A plugin that calls exit() must not end a command as if all were well.
#pragma once

namespace waybill {

// While it lives, exit() called by whomever ends this process with a message and the exit code 1. One at a time.
class ExitWatch {
 public:
  ExitWatch();
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;
};

}  // namespace waybill
