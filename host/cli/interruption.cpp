// Noting the signal in a descriptor, which a wait looks at: none comes between a question and a wait.
#include "cli/interruption.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace waybill {
namespace {

std::atomic<int> noted_in{-1};

void note(int) {
  const int before = errno;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(noted_in, &one, sizeof one);
  errno = before;
}

}  // namespace

Interruption::Interruption() : noted_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  noted_in = noted_.get();
  struct sigaction action {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &on_int_);
  sigaction(SIGTERM, &action, &on_term_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &on_int_, nullptr);
  sigaction(SIGTERM, &on_term_, nullptr);
  noted_in = -1;
}

bool Interruption::wait(Millis length) const {
  pollfd look{.fd = noted_.get(), .events = POLLIN, .revents = 0};
  const int found = poll(&look, 1, static_cast<int>(length.count()));
  return found > 0 || (found < 0 && errno == EINTR && poll(&look, 1, 0) > 0);
}

}  // namespace waybill
