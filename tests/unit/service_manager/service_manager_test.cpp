// What the service manager hears and passes on.
#include "service_manager/service_manager.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/wait.h>

#include "fake_manager.h"

namespace waybill {
namespace {

// O2: Type=notify with real readiness and status lines.
TEST(ServiceManager, HearsReadinessStatusAndTheEnd) {
  FakeManager fake;
  const auto manager = ServiceManager::of_environment();
  ASSERT_TRUE(manager.is_there());
  EXPECT_EQ(manager.watchdog_period(), std::nullopt);
  manager.ready();
  EXPECT_TRUE(fake.hears("READY=1"));
  manager.status("two\nlines");
  EXPECT_TRUE(fake.hears("STATUS=two lines"));
  manager.stopping(std::chrono::seconds(45));
  EXPECT_TRUE(fake.hears("EXTEND_TIMEOUT_USEC=45000000"));
}

// A private PostgreSQL speaks the same protocol and would say that it is ready, or stops, in this process's name.
TEST(ServiceManager, IsHiddenFromChildren) {
  FakeManager fake;
  fake.set_period(std::chrono::seconds(7));
  const auto manager = ServiceManager::of_environment();
  EXPECT_EQ(manager.watchdog_period(), std::chrono::seconds(7));
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
}

TEST(ServiceManager, WithoutOneNothingIsSaid) {
  const auto manager = ServiceManager::of_environment();
  EXPECT_FALSE(manager.is_there());
  manager.ready();
  manager.stuck();
}

// Runs `check` in a child whose descriptors 3 and up are `passed`, as a service manager starts a service. True if all held.
template <class Check>
bool holds_with(const std::vector<int>& passed, const char* names, Check check) {
  const pid_t child = fork();
  if (child == 0) {
    for (std::size_t i = 0; i < passed.size(); ++i) dup2(passed[i], static_cast<int>(100 + i));  // none in another's way
    for (std::size_t i = 0; i < passed.size(); ++i) dup2(static_cast<int>(100 + i), static_cast<int>(3 + i));
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    setenv("LISTEN_FDS", std::to_string(passed.size()).c_str(), 1);
    if (names) setenv("LISTEN_FDNAMES", names, 1);
    _exit(check(take_inherited_sockets()) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

OwnedDescriptor listener(std::uint16_t& port) {
  OwnedDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(listen(socket.get(), 5), 0);
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  port = ntohs(address.sin_port);
  return socket;
}

TEST(InheritedSockets, HaveTheirNamesAndAddresses) {
  std::uint16_t api = 0, metrics = 0;
  const auto first = listener(api), second = listener(metrics);
  EXPECT_TRUE(holds_with({first.get(), second.get()}, "http:metrics", [&](const auto& sockets) {
    return sockets && sockets->size() == 2 && sockets->at(0).name == "http" && sockets->at(0).host == "127.0.0.1" &&
           sockets->at(0).port == api && sockets->at(1).name == "metrics" && sockets->at(1).port == metrics &&
           (fcntl(sockets->at(0).descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0;
  }));
}

TEST(InheritedSockets, AreTakenOnce) {
  std::uint16_t port = 0;
  const auto socket = listener(port);
  EXPECT_TRUE(holds_with({socket.get()}, nullptr, [](const auto& sockets) {
    const auto again = take_inherited_sockets();
    return sockets && sockets->size() == 1 && again && again->empty();
  }));
}

TEST(InheritedSockets, OneThatDoesNotListenIsRefusedByName) {
  const OwnedDescriptor datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(holds_with({datagrams.get()}, "http", [](const auto& sockets) {
    return !sockets && sockets.error().what.find("\"http\" is no listening TCP socket") != std::string::npos;
  }));
}

}  // namespace
}  // namespace waybill
