// How connections to relays are kept, shared, limited and left, and how submissions are given up.  H4 H5
#include <atomic>
#include <future>

#include "services/smtp_client.h"
#include "unit/services/mail_world.h"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using testing::RelayScript;
using testing::ScriptedRelay;

class SmtpConnections : public testing::Mail {};

TEST_F(SmtpConnections, OneServesManyMessagesAndEndsWithAGoodbye) {
  ScriptedRelay relay;
  for (int i = 0; i < 20; ++i) ASSERT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_EQ(relay.connections(), 1);
  EXPECT_EQ(relay.messages().size(), 20u);
  EXPECT_EQ(relay.count("EHLO"), 1);
  EXPECT_FALSE(relay.heard("QUIT"));
  stop();
  EXPECT_TRUE(relay.wait_for("QUIT"));
}

TEST_F(SmtpConnections, AMessageKnowsWhetherAConnectionWasMadeForIt) {  // T13
  ScriptedRelay relay;
  const std::atomic<bool> barred{false};
  for (const auto expected : {Reached::connected, Reached::network}) {
    std::atomic<Reached> reached{Reached::host};
    auto one = message(relay.url());
    one.departure = {&reached, &barred};
    ASSERT_EQ(submit(std::move(one)).answer.code, 250);
    EXPECT_EQ(reached, expected);
  }
  EXPECT_EQ(relay.connections(), 1);
}

TEST_F(SmtpConnections, AfterSoManyMessagesAnotherIsOpened) {
  ScriptedRelay relay;
  start({.messages_per_connection = 2});
  for (int i = 0; i < 5; ++i) ASSERT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_EQ(relay.connections(), 3);
  EXPECT_TRUE(relay.wait_for("QUIT", 2));
}

TEST_F(SmtpConnections, OneThatIsIdleForLongIsLeftWithAGoodbye) {
  ScriptedRelay relay;
  start({.idle = 50ms});
  ASSERT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_TRUE(relay.wait_for("QUIT"));
  ASSERT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_EQ(relay.connections(), 2);
}

TEST_F(SmtpConnections, OneThatTheRelayClosedMeanwhileIsNotUsed) {
  std::atomic<int> closed{0};
  testing::ScriptedServer relay([&](testing::Connection& connection) {
    testing::SmtpPeer peer(connection);
    peer.say("220 hi\r\n");
    for (std::string line; peer.line(line);) {
      const bool is_command = line.starts_with("EHLO") || line.starts_with("MAIL") || line.starts_with("RCPT") || line == ".";
      peer.say(line == "DATA" ? "354 go\r\n" : is_command ? "250 fine\r\n" : "");
      if (line != ".") continue;
      peer.say("421 4.4.2 idle too long\r\n");
      break;
    }
    ++closed;
  });
  // The relay says goodbye together with its last answer, or a moment later: the next message must not be told of it.
  for (int i = 1; i <= 10; ++i) {
    const auto reply = submit(message("smtp://127.0.0.1:" + std::to_string(relay.port())));
    EXPECT_EQ(reply.answer.code, 250) << reply.error_text;
    while (closed < i) std::this_thread::yield();
  }
  EXPECT_EQ(relay.connections(), 10);
}

TEST_F(SmtpConnections, AMessageThatTheGoodbyeToAnIdleOneCrossedGoesOverAnother) {
  for (const bool with_a_word : {true, false}) {
    testing::ScriptedServer relay([&](testing::Connection& connection) {
      testing::SmtpPeer peer(connection);
      peer.say("220 hi\r\n");
      int messages = 0;
      for (std::string line; peer.line(line);) {
        if (line.starts_with("MAIL") && ++messages == 2) {
          if (with_a_word) peer.say("421 4.4.2 idle too long\r\n");
          return;
        }
        const bool is_command = line.starts_with("EHLO") || line.starts_with("MAIL") || line.starts_with("RCPT") || line == ".";
        peer.say(line == "DATA" ? "354 go\r\n" : is_command ? "250 fine\r\n" : "");
      }
    });
    for (int i = 0; i < 3; ++i) {
      const auto reply = submit(message("smtp://127.0.0.1:" + std::to_string(relay.port())));
      EXPECT_EQ(reply.answer.code, 250) << reply.error_text;
    }
    EXPECT_EQ(relay.connections(), 3);
  }
}

TEST_F(SmtpConnections, OneWithAWordTooManyIsNotUsedAgain) {
  ScriptedRelay relay({.says = {{".", "250 queued\r\n250 and queued"}}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_EQ(relay.connections(), 3);
}

TEST_F(SmtpConnections, ThereIsALimitForARelayAndTheRestWaitInOrder) {
  ScriptedRelay relay;
  start({.per_relay = 2});
  std::vector<std::future<SmtpReply>> replies;
  on_loop([&] {  // all at once, before any can be answered
    for (int i = 0; i < 40; ++i) {
      auto promise = std::make_shared<std::promise<SmtpReply>>();
      replies.push_back(promise->get_future());
      client_->submit(message(relay.url()), [promise](std::uint64_t, SmtpReply reply) { promise->set_value(std::move(reply)); });
    }
    EXPECT_EQ(client_->open(), 40u);
  });
  for (auto& reply : replies) EXPECT_EQ(reply.get().answer.code, 250);
  EXPECT_EQ(relay.connections(), 2);
  on_loop([&] { EXPECT_EQ(client_->open(), 0u); });
}

TEST_F(SmtpConnections, AMessageThatWaitsInVainTimesOutUnsent) {
  ScriptedRelay relay({.says = {{"MAIL", RelayScript::kSilence}}});
  start({.per_relay = 1});
  std::uint64_t id = 0;
  auto first = begin(message(relay.url()), &id);
  ASSERT_TRUE(relay.wait_for("MAIL"));
  auto second = message(relay.url());
  second.timeout = 100ms;
  const auto reply = submit(second);
  EXPECT_EQ(reply.error, NetError::timeout);
  EXPECT_EQ(reply.reach, Reach::not_sent);
  // When the first gives its place up, the next gets a connection of its own.
  auto third = begin(message(relay.url()));
  on_loop([&] { client_->cancel(id); });
  EXPECT_EQ(first.get().error, NetError::cancelled);
  EXPECT_TRUE(relay.wait_for("MAIL", 2));
  EXPECT_EQ(relay.connections(), 2);
}

TEST_F(SmtpConnections, ManyMessagesToARelayThatRefusesConnectionsAllComeBack) {
  std::string url;
  {
    testing::ScriptedServer gone([](testing::Connection&) {});
    url = "smtp://127.0.0.1:" + std::to_string(gone.port());
  }
  start({.per_relay = 1});
  std::vector<std::future<SmtpReply>> replies;
  for (int i = 0; i < 20; ++i) replies.push_back(begin(message(url)));
  for (auto& reply : replies) EXPECT_EQ(reply.get().error, NetError::connect);
}

TEST_F(SmtpConnections, ACancelledSubmissionIsDoneOnceWithCancelled) {
  ScriptedRelay relay({.says = {{"RCPT", RelayScript::kSilence}}});
  start();
  for (const bool running : {true, false}) {
    std::promise<SmtpReply> promise;
    std::atomic<int> count{0};
    std::atomic<bool> returned{false};
    std::uint64_t id = 0;
    on_loop([&] {
      id = client_->submit(message(relay.url()), [&](std::uint64_t, SmtpReply reply) {
        EXPECT_TRUE(returned);
        if (++count == 1) promise.set_value(std::move(reply));
      });
      if (!running) client_->cancel(id);
      returned = true;
    });
    ASSERT_TRUE(!running || relay.wait_for("RCPT"));
    on_loop([&] {
      client_->cancel(id);
      client_->cancel(id);
      client_->cancel(id + 1000);
    });
    const auto reply = promise.get_future().get();
    EXPECT_EQ(reply.error, NetError::cancelled);
    EXPECT_EQ(reply.reach, Reach::not_sent);
    on_loop([&] { EXPECT_EQ(client_->open(), 0u); });
    EXPECT_EQ(count, 1);
  }
}

TEST_F(SmtpConnections, WhatIsCancelledUnsentStaysUnsentThoughTheRelaySaysGoAhead) {
  std::promise<void> asked;
  std::promise<void> cancelled;
  std::promise<void> answered;
  std::promise<std::string> heard;
  testing::ScriptedServer relay([&](testing::Connection& connection) {
    testing::SmtpPeer peer(connection);
    std::string line;
    peer.say("220 hi\r\n");
    while (peer.line(line) && line != "DATA") peer.say("250 fine\r\n");
    asked.set_value();
    cancelled.get_future().get();
    peer.say("354 go\r\n");
    answered.set_value();
    heard.set_value(peer.line(line) ? line : "");
  });
  std::uint64_t id = 0;
  auto reply = begin(message("smtp://127.0.0.1:" + std::to_string(relay.port())), &id);
  asked.get_future().get();
  on_loop([&] {  // the answer is there before the loop looks again
    client_->cancel(id);
    cancelled.set_value();
    answered.get_future().get();
  });
  EXPECT_EQ(reply.get().reach, Reach::not_sent);
  EXPECT_EQ(heard.get_future().get(), "");
}

TEST_F(SmtpConnections, AClientThatEndsDropsWhatIsOpenWithoutAWord) {
  ScriptedRelay relay({.says = {{".", RelayScript::kSilence}}});
  std::atomic<bool> told{false};
  start();
  on_loop([&] { client_->submit(message(relay.url()), [&](std::uint64_t, SmtpReply) { told = true; }); });
  ASSERT_TRUE(relay.wait_for("."));
  stop();
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace waybill
