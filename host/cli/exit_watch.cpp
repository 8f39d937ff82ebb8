// Notices exit() while a command runs.
#include "cli/exit_watch.h"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/printing.h"

namespace waybill {
namespace {

std::atomic<pid_t> watched_process{0};  // not those that it forks

void notice(int status, void*) {
  if (watched_process.load() != getpid()) return;
  print_error("waybill: ended from inside: a plugin called exit(%d). `waybill plugin check FILE` finds out which one\n", status);
  _exit(1);
}

}  // namespace

ExitWatch::ExitWatch() {
  static const bool is_registered = on_exit(&notice, nullptr) == 0;
  if (is_registered) watched_process = getpid();
}

ExitWatch::~ExitWatch() { watched_process = 0; }

}  // namespace waybill
