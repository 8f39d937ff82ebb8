// The one flag that a signal handler may set.
#include "bench/interrupt.h"

#include <signal.h>

namespace waybill::bench {
namespace {

volatile sig_atomic_t interrupted = 0;
extern "C" void note_interrupt(int) { interrupted = 1; }

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void check_interrupted() {
  if (interrupted != 0) throw Interrupted();
}

}  // namespace waybill::bench
