// Stacks of threads that work, wait, and answer nothing.
#include "service_manager/stack_report.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace waybill {
namespace {

// Runs `begin` in a thread of its own, which waits until the end of the test.
class Waiting {
 public:
  explicit Waiting(void (*begin)() = [] {})
      : thread_([this, begin] {
          begin();
          id_ = gettid();
          id_.notify_all();
          may_end_.wait(false);
        }) {
    id_.wait(0);
  }
  ~Waiting() {
    may_end_ = true;
    may_end_.notify_all();
    thread_.join();
  }
  pid_t id() const { return id_; }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> may_end_{false};
  std::thread thread_;
};

TEST(StackReport, HasTheFramesOfAnotherThread) {
  const Waiting thread;
  const auto stack = stack_of(thread.id());
  EXPECT_NE(stack.find("unit_service_manager"), std::string::npos) << stack;
  EXPECT_GE(std::count(stack.begin(), stack.end(), '\n'), 2) << stack;
}

TEST(StackReport, SaysThatAThreadDoesNotAnswer) {
  const Waiting deaf([] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
  });
  EXPECT_EQ(stack_of(deaf.id()), "no stack: the thread does not answer");
  const Waiting other;  // whose answer is not taken for the first one's
  EXPECT_NE(stack_of(other.id()).find("unit_service_manager"), std::string::npos);
}

TEST(StackReport, AThreadThatIsGoneHasNone) {
  pid_t id = 0;
  { id = Waiting().id(); }
  EXPECT_EQ(stack_of(id), "no stack: the thread does not answer");
}

// O2: what the watchdog of systemd ends says where it was.
TEST(StackReport, AnAbortFromOutsideWritesTheStacksOfAllThreads) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    report_stacks_on_abort();
    const Waiting one, two;
    static_cast<void>(!write(STDERR_FILENO, "!", 1));
    for (;;) pause();
  }
  close(ends[1]);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  kill(child, SIGABRT);
  std::string text;
  char bytes[4096];
  for (ssize_t size; (size = read(ends[0], bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  std::size_t stacks = 0;
  for (std::size_t at = 0; (at = text.find("stack of thread", at)) != std::string::npos; ++at) ++stacks;
  EXPECT_EQ(stacks, 3u) << text;
}

// A crash has its own report: a core dump, and the breadcrumbs.
TEST(StackReport, AnAbortOfItsOwnEndsTheProcessAsEver) {
  const pid_t child = fork();
  if (child == 0) {
    report_stacks_on_abort();
    std::abort();
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

}  // namespace
}  // namespace waybill
