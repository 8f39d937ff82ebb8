// Does what the payload names in "way", to its own process and to everything around it; without one it posts. What it tries and
// is not let do ends as accepted; what it did get done is rejected, with words.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "poster.h"

namespace {

volatile int sink = 0;

int deeper(int level) {
  volatile char room[4096];
  room[0] = static_cast<char>(level);
  return level < 0 ? 0 : deeper(level + 1 - room[1]) + room[0];  // the compiler does not see that it never ends
}

void spin() {
  for (;;) sink = sink + 1;
}

void eat(int flags) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  for (;;) {
    void* const piece = mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) std::abort();
    std::memset(piece, 1, kPiece);
  }
}

// The words for what it got done; "" if it was not let.
std::string fork_children() {
  for (int i = 0; i < 1000; ++i) {
    const auto child = fork();
    if (child == 0) _exit(0);
    if (child > 0) return "it made a process";
  }
  return {};
}

std::string signal_the_host() {
  if (kill(getppid(), 0) == 0 || kill(getppid(), SIGKILL) == 0) return "it signalled its host";
  if (kill(-1, SIGKILL) == 0) return "it signalled everybody";
  return {};
}

std::string trace_the_host() { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0 ? "it traces its host" : ""; }

std::string open_files() {
  for (const char* path : {"/etc/passwd", "/proc/1/environ", "/proc/self/environ", "/"})
    if (open(path, O_RDONLY) >= 0) return std::string("it read ") + path;
  if (open("/tmp/waybill-wild", O_CREAT | O_WRONLY, 0600) >= 0) return "it made a file";
  const auto host = "/proc/" + std::to_string(getppid()) + "/mem";
  return open(host.c_str(), O_RDWR) >= 0 ? "it opened its host's memory" : "";
}

std::string open_sockets() {
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK})
    if (socket(family, SOCK_STREAM, 0) >= 0 || socket(family, SOCK_DGRAM, 0) >= 0) return "it made a socket";
  return {};
}

std::string start_programs() {
  char name[] = "sh";
  char* const arguments[] = {name, nullptr};
  execv("/bin/sh", arguments);
  return {};  // else it would be another program
}

void write_everywhere() {
  const std::string garbage(100'000, '\xff');
  for (int descriptor = 0; descriptor < 64; ++descriptor) static_cast<void>(!write(descriptor, garbage.data(), garbage.size()));
}

// One that is a message, but never whole.
void write_endless_frame() {
  const std::uint32_t head[] = {70U << 20, 104};  // 70 MiB of a completion
  static_cast<void>(send(3, head, sizeof head, 0));
  const std::string piece(1 << 16, 'x');
  for (;;)
    if (send(3, piece.data(), piece.size(), 0) < 0) pause();
}

void start_threads() {
  static std::vector<std::thread> threads;
  for (int i = 0; i < 1000; ++i) threads.emplace_back([] { pause(); });
}

struct Wild : kit::Poster {
  using Poster::Poster;

  static std::string way_of(std::string_view payload) {
    constexpr std::string_view kKey = "\"way\":";
    auto at = payload.find(kKey);
    if (at == std::string_view::npos) return {};
    at = payload.find('"', at + kKey.size()) + 1;
    return std::string(payload.substr(at, payload.find('"', at) - at));
  }

  void tell(wb_call call, const std::string& done) {
    auto outcome = done.empty() ? kit::outcome(WB_ACCEPTED) : kit::outcome(WB_REJECTED, WB_ANSWERED, "invalid_request");
    outcome.detail = kit::str(done);
    complete(call, outcome);
  }

  void send(wb_call call, const wb_job* job) override {
    const auto way = way_of(kit::view(job->payload));
    if (way == "crash") std::raise(SIGSEGV);
    if (way == "abort") std::abort();
    if (way == "exit") std::exit(0);
    if (way == "stops") raise(SIGSTOP);
    if (way == "spins") spin();
    if (way == "eats") eat(MAP_PRIVATE);
    if (way == "eats_shared") eat(MAP_SHARED);
    if (way == "stack") sink = deeper(0);
    if (way == "closes") {
      for (int descriptor = 0; descriptor < 64; ++descriptor) close(descriptor);
    }
    if (way == "writes") write_everywhere();
    if (way == "endless") write_endless_frame();
    if (way == "threads") {
      start_threads();
      pause();
    }
    if (way == "forks") return tell(call, fork_children());
    if (way == "signals") return tell(call, signal_the_host());
    if (way == "traces") return tell(call, trace_the_host());
    if (way == "files") return tell(call, open_files());
    if (way == "sockets") return tell(call, open_sockets());
    if (way == "programs") return tell(call, start_programs());
    if (way == "others") {
      auto lie = kit::outcome(WB_REJECTED, WB_ANSWERED, "invalid_request");
      for (std::uint64_t id = call.id + 1'000'000; id < call.id + 1'001'000; ++id) complete({id}, lie);
      return post(call, job);
    }
    if (way == "requests") {
      for (int i = 0; i < 100'000; ++i) post(call, job);
      return;
    }
    post(call, job);
  }
};

}  // namespace

KIT_PLUGIN(Wild, "wild");
