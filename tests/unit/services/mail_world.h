// An SMTP client on a loop and a thread of its own.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

#include "services/smtp_client.h"
#include "unit/services/scripted_relay.h"

namespace waybill::testing {

class Mail : public ::testing::Test {
 protected:
  void start(SmtpClientSettings settings = {}) {
    auto secrets = std::make_shared<const LiveSecrets>(Secrets(Secrets::Values{{"key", {Secret("hunter2")}}}));
    client_ = std::make_unique<SmtpClient>(loop_, clock_, secrets, std::move(settings));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Mail() override { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    loop_.stop();
    thread_.join();
    client_.reset();
  }
  SmtpMessage message(std::string relay) {
    SmtpMessage message;
    message.relay = std::move(relay);
    message.from = "a@example.org";
    message.recipients = {"b@example.org"};
    message.data = "Subject: x\r\n\r\nHello\r\n";
    message.deadline = clock_.now() + std::chrono::seconds(60);
    return message;
  }
  std::future<SmtpReply> begin(SmtpMessage message, std::uint64_t* id = nullptr) {
    if (!client_) start();
    auto promise = std::make_shared<std::promise<SmtpReply>>();
    on_loop([&] {
      const auto made = client_->submit(std::move(message), [promise](std::uint64_t, SmtpReply reply) {
        promise->set_value(std::move(reply));  // a second time throws
      });
      if (id != nullptr) *id = made;
    });
    return promise->get_future();
  }
  SmtpReply submit(SmtpMessage message) { return begin(std::move(message)).get(); }
  // Done on the loop before this returns.
  template <class Task>
  void on_loop(Task task) {
    std::promise<void> done;
    loop_.post([&] {
      task();
      done.set_value();
    });
    done.get_future().get();
  }

  SystemClock clock_;
  EventLoop loop_;
  std::unique_ptr<SmtpClient> client_;
  std::thread thread_;
};

}  // namespace waybill::testing
