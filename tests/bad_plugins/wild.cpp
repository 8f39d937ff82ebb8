// Does what the payload names in "way", to its own process and to everything around it; without one it posts. What it tries and
// is not let do ends as accepted; what it did get done is rejected, with words.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "poster.h"

namespace {

volatile int sink = 0;

int deeper(int level) {
  volatile char room[4096] = {};
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

// What a host that reads the page, and its machine, would suffer from.
std::string shorten_the_page() {
  for (const int descriptor : {5, 6})
    if (ftruncate(descriptor, 0) == 0) return "it shortened memory that is shared";
  return {};
}

std::string limit_the_host() {
  const rlimit one{1, 1};
  for (const auto what : {RLIMIT_CPU, RLIMIT_NOFILE})
    if (prlimit(getppid(), what, &one, nullptr) == 0) return "it set a limit of its host";
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  return sched_setaffinity(getppid(), sizeof first, &first) == 0 ? "it bound its host to a processor" : "";
}

std::string change_files() {
  struct stat before {};
  if (stat("/tmp", &before) != 0) return "it finds no folder to try this with";
  if (chmod("/tmp", before.st_mode) == 0) return "it set the mode of a folder";
  if (chown("/tmp", before.st_uid, before.st_gid) == 0) return "it set the owner of a folder";
  const timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  if (utimensat(AT_FDCWD, "/tmp", now, 0) == 0) return "it set the times of a folder";
  return setxattr("/tmp", "user.waybill", "x", 1, 0) == 0 ? "it set an attribute of a folder" : "";
}

std::string make_datagrams() {
  int ends[2];
  return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0 ? "it made a socket that reaches any path" : "";
}

std::string cut_loose() {
  if (prctl(PR_SET_PDEATHSIG, 0) == 0) return "it outlives its host";
  return fcntl(3, F_SETOWN, getppid()) == 0 ? "it sends its host signals" : "";
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
    if (way == "shortens") return tell(call, shorten_the_page());
    if (way == "limits") return tell(call, limit_the_host());
    if (way == "changes") return tell(call, change_files());
    if (way == "datagrams") return tell(call, make_datagrams());
    if (way == "loose") return tell(call, cut_loose());
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
