// Has a thread write its own stack, from a signal's handler. Nothing here allocates once the handlers are set: a thread may be
// stuck in malloc itself.
#include "service_manager/stack_report.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/owned_descriptor.h"

namespace waybill {
namespace {

constexpr int kMaxFrames = 64;
constexpr int kPatience = 2000;      // milliseconds, for one thread
constexpr int kPatienceAtEnd = 200;  // the same, when all threads are asked at the end of the process
int stack_signal() { return SIGRTMIN + 3; }

// What is asked of the thread that the signal goes to. A handler finds nothing but statics.
std::atomic<int> asked_number{0};  // one more with each question: a thread that is late answers none
std::atomic<int> answered_number{0};
std::atomic<int> written_to{-1};
struct sigaction former_abort;

void sleep_a_millisecond() {
  const timespec pause{0, 1'000'000};
  nanosleep(&pause, nullptr);
}

void on_stack_signal(int, siginfo_t* info, void*) {
  const int saved = errno;
  const int descriptor = written_to;  // before the look at the number: then it is this question's
  if (info->si_value.sival_int == asked_number) {
    void* frames[kMaxFrames];
    const int count = backtrace(frames, kMaxFrames);
    constexpr int kOwn = 2;  // this function, and what the kernel put there to come back from it
    if (count > kOwn) backtrace_symbols_fd(frames + kOwn, count - kOwn, descriptor);
    answered_number = info->si_value.sival_int;
  }
  errno = saved;
}

// Calls of one process at a time. False: the thread is gone or does not answer.
bool write_stack(pid_t thread, int descriptor, int patience) {
  const int number = ++asked_number;
  written_to = descriptor;
  siginfo_t info{};
  info.si_signo = stack_signal();
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = number;
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, stack_signal(), &info) != 0) return false;
  for (int waited = 0; answered_number != number && waited < patience; ++waited) sleep_a_millisecond();
  const bool has_answered = answered_number == number;
  ++asked_number;  // whoever comes now is too late
  return has_answered;
}

void set_stack_handler() {
  void* frames[1];
  backtrace(frames, 1);  // the first call loads a library, which no handler may do
  struct sigaction action {};
  action.sa_sigaction = &on_stack_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(stack_signal(), &action, nullptr);
}

void say(std::string_view text) { static_cast<void>(!write(STDERR_FILENO, text.data(), text.size())); }

void report_thread(pid_t thread) {
  char path[48] = "/proc/self/task/";
  char* const number = path + std::strlen(path);
  char* const end = std::to_chars(number, number + 16, thread).ptr;
  say("waybill: stack of thread ");
  say({number, static_cast<std::size_t>(end - number)});
  std::memcpy(end, "/comm", sizeof "/comm");
  char name[32];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const auto size = read(file, name, sizeof name);  // with a newline
  close(file);
  say(size > 0 ? " " : "\n");
  if (size > 0) say({name, static_cast<std::size_t>(size)});
  if (!write_stack(thread, STDERR_FILENO, kPatienceAtEnd)) say("(it does not answer)\n");
}

struct DirectoryEntry {  // as getdents64(2) has it
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  // and the name, to its NUL
};

void report_all_threads() {
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(DirectoryEntry) char bytes[4096];
  for (long size; (size = syscall(SYS_getdents64, folder, bytes, sizeof bytes)) > 0;)
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(bytes + at);
      const char* const name = bytes + at + offsetof(DirectoryEntry, type) + sizeof entry->type;
      pid_t thread = 0;
      std::from_chars(name, name + std::strlen(name), thread);
      if (thread > 0) report_thread(thread);
      at += entry->length;
    }
  close(folder);
}

void on_abort(int number, siginfo_t* info, void*) {
  if (info->si_code <= 0 && info->si_pid != getpid()) {
    sigset_t own;  // this thread answers as well
    sigemptyset(&own);
    sigaddset(&own, stack_signal());
    pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    report_all_threads();
  }
  sigaction(number, &former_abort, nullptr);
  syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, info);  // as it came: who sent it matters to the next
}

}  // namespace

std::string stack_of(pid_t thread) {
  set_stack_handler();
  OwnedDescriptor text(memfd_create("stack", MFD_CLOEXEC));
  if (!write_stack(thread, text.get(), kPatience)) {
    static_cast<void>(text.release());  // the thread may yet write: never into a file that has taken this one's number
    return "no stack: the thread does not answer";
  }
  std::string stack;
  char bytes[4096];
  lseek(text.get(), 0, SEEK_SET);
  for (ssize_t size; (size = read(text.get(), bytes, sizeof bytes)) > 0;) stack.append(bytes, static_cast<std::size_t>(size));
  return stack;
}

void report_stacks_on_abort() {
  set_stack_handler();
  struct sigaction action {};
  action.sa_sigaction = &on_abort;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGABRT, &action, &former_abort);
}

}  // namespace waybill
