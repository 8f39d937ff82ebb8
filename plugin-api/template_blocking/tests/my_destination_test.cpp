// A blocking sender against a real listener on loopback. It waits no longer than its deadline.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <thread>

#include "waybill/testkit.hpp"

namespace {
using namespace waybill::testkit;

// Takes one connection on a port of its own, reads a line, answers, and waits until the other side has closed.
class Listener {
 public:
  // None: it says nothing and hangs up only after the sender did.
  explicit Listener(std::optional<std::string> answer) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(fd_, raw, size) != 0 || ::listen(fd_, 1) != 0 || ::getsockname(fd_, raw, &size) != 0)
      throw std::runtime_error("no listening socket");
    port_ = ntohs(address.sin_port);
    serving_ = std::thread([this, answer] { serve(answer); });
  }
  ~Listener() {
    ::shutdown(fd_, SHUT_RDWR);
    if (serving_.joinable()) serving_.join();
    ::close(fd_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::string destination() const { return R"({"url":"http://127.0.0.1:)" + std::to_string(port_) + R"("})"; }
  std::string received() {
    serving_.join();
    return received_;
  }

 private:
  void serve(const std::optional<std::string>& answer) {
    const int connection = ::accept(fd_, nullptr, nullptr);
    if (connection < 0) return;
    char byte = 0;
    while (::recv(connection, &byte, 1, 0) == 1) {
      received_ += byte;
      if (byte == '\n' && answer) {
        if (::send(connection, answer->data(), answer->size(), MSG_NOSIGNAL) < 0) break;
        ::shutdown(connection, SHUT_WR);
      }
    }
    ::close(connection);
  }
  int fd_;
  std::uint16_t port_ = 0;
  std::string received_;
  std::thread serving_;
};

class MyDestination : public testing::Test {
 protected:
  static Job job(const Listener& listener, std::string payload = "hello") {
    Job out;
    out.destination = listener.destination();
    out.payload = std::move(payload);
    return out;
  }
  Outcome answered(const char* line) {
    Listener listener(line);
    return sender_->attempt(job(listener));
  }
  FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<FakeSender> sender_ = host_.make_sender("my_destination");
};

TEST_F(MyDestination, IsWrittenAsOneLine) {
  Listener listener("OK\n");
  const auto end = sender_->attempt(job(listener));
  EXPECT_EQ(end.verdict, WB_ACCEPTED) << end;
  EXPECT_EQ(end.reach, WB_ANSWERED);
  EXPECT_EQ(listener.received(), "hello\n");
}

TEST_F(MyDestination, MayBeLong) {
  Listener listener("OK\n");
  EXPECT_EQ(sender_->attempt(job(listener, std::string(100'000, 'x'))).verdict, WB_ACCEPTED);
  EXPECT_EQ(listener.received().size(), 100'001U);
}

TEST_F(MyDestination, ItsAnswerDecides) {
  EXPECT_EQ(answered("OK ref-7\r\n").provider_ref, "ref-7");
  EXPECT_EQ(answered("OK \xff\n").provider_ref, "");
  EXPECT_EQ(answered("NO\n").reason, "refused");
  EXPECT_EQ(answered("NO thanks\n").verdict, WB_REJECTED);
  for (const auto* odd : {"OKAY\n", "ok\n", "\n", "NOT\n"}) {
    const auto end = answered(odd);
    EXPECT_EQ(end.reason, "invalid_answer") << odd;
    EXPECT_EQ(end.reach, WB_ANSWERED) << odd;
  }
}

TEST_F(MyDestination, WithoutAWholeAnswerMayHaveBeenSent) {
  for (const auto& half : {std::string(), std::string("OK"), std::string(5000, 'x')}) {
    const auto end = answered(half.c_str());
    EXPECT_EQ(end.verdict, WB_TRANSIENT) << end;
    EXPECT_EQ(end.reason, "no_answer") << end;
    EXPECT_EQ(end.reach, WB_MAYBE_SENT) << end;
  }
}

TEST_F(MyDestination, WaitsNoLongerThanItsDeadline) {
  Listener silent(std::nullopt);
  auto hasty = job(silent);
  hasty.deadline_ms = 20;
  EXPECT_EQ(sender_->attempt(hasty).reason, "no_answer");
}

TEST_F(MyDestination, WithoutAListenerWasNotSent) {
  auto nobody = [] {
    Listener gone("OK\n");
    return job(gone);
  }();
  const auto end = sender_->attempt(nobody);
  EXPECT_EQ(end.reason, "not_connected") << end;
  EXPECT_EQ(end.reach, WB_NOT_SENT);
}

TEST_F(MyDestination, OfSeveralLinesIsRejectedWithoutAConnection) {
  Job two;
  two.destination = R"({"url":"http://127.0.0.1:9"})";
  for (const auto& payload : {std::string("a\nb"), std::string("a\r"), std::string(100'001, 'x')}) {
    two.payload = payload;
    const auto end = sender_->attempt(two);
    EXPECT_EQ(end.reason, "invalid_request") << end;
    EXPECT_EQ(end.reach, WB_NOT_SENT);
  }
}

TEST_F(MyDestination, NeedsHostAndPort) {
  const auto problems = [&](const char* json) { return host_.validate_destination("my_destination", json).size(); };
  EXPECT_EQ(problems(R"({"url":"http://listener.test:9000"})"), 0U);
  EXPECT_EQ(problems(R"({"url":"http://[::1]:9000/"})"), 0U);
  for (const auto* bad : {"", "[]", "{}", R"({"url":7})", R"({"url":"http://listener.test"})", R"({"url":"https://l.test:1"})",
                          R"({"url":"http://:9000"})", R"({"url":"http://l.test:x"})", R"({"url":"http://[]:1"})"})
    EXPECT_EQ(problems(bad), 1U) << bad;
}

TEST_F(MyDestination, SaysThatItBlocks) {
  EXPECT_EQ(host_.action("my_destination")->flags, static_cast<std::uint32_t>(WB_BLOCKING));
}

}  // namespace
