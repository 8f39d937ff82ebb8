// What the examples of plugin-api/examples can do beyond sending, on a running host: composing, blocking, being asked.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <stop_token>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// Reads lines, one per connection, and answers each with the same line.
class LineServer {
 public:
  explicit LineServer(std::string answer) : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_.fd(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_.fd(), 16);
    ::getsockname(listener_.fd(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~LineServer() { ::shutdown(listener_.fd(), SHUT_RDWR); }  // ends accept()

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  void serve() {
    for (;;) {
      Socket peer(::accept(listener_.fd(), nullptr, nullptr));
      if (!peer.is_open()) return;
      std::string line;
      while (line.find('\n') == std::string::npos) {
        const auto more = peer.receive(kBound);
        if (!more || more->empty()) break;
        line += *more;
      }
      {
        const std::lock_guard lock(mutex_);
        lines_.push_back(line);
      }
      peer.send(answer_ + "\n");
    }
  }

  const std::string answer_;
  Socket listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::jthread thread_;
};

class Abilities : public World {
 protected:
  void use(const std::string& example, const std::string& url, const std::vector<std::string>& terminal = {"refused"}) {
    setup.registry = registry_of({target("to." + example, example, url, "max_attempts", 3, terminal)});
    installation().add_plugin(built_example(example));
  }
  json sent(const std::string& id, const std::string& to) {
    post_intent(client(), intent(id, to, {{"text", "Dear Sir or Madam"}}), 30);
    return wait_for_end(client(), id);
  }
  CommandResult ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "provider");
    return installation().command(std::move(arguments));
  }
};

// H4
TEST_F(Abilities, WhatWasComposedIsStoredBeforeTheFirstSendAndSentInEveryAttempt) {
  use("letter", gateway.url());
  gateway.script("l1", {Reply::http_error(503), Reply::accept_when_released()});
  post_intent(client(), intent("l1", "to.letter", {{"text", "Dear Sir or Madam"}}));
  ASSERT_TRUE(gateway.wait_for_count("l1", 2));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.artifacts"), 1);
  const auto stored = sql().text("SELECT convert_from(body, 'UTF8') FROM waybill.artifacts");
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "l1")["status"], "accepted");
  const auto received = gateway.received("l1");
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].path, "/letters");
  EXPECT_EQ(header_value(received[0].head, "Content-Type"), "text/plain");
  EXPECT_EQ(received[0].body.substr(0, 8), "Serial: ");
  EXPECT_NE(received[0].body.find("Dear Sir or Madam"), std::string::npos);
  for (const auto& one : received) EXPECT_EQ(one.body, stored);
  EXPECT_EQ(attempt_words(client(), "l1"), (std::vector<std::string>{"error", "accepted"})) << "composing is no attempt";
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.artifacts"), 1);
}

// H4, M12
TEST_F(Abilities, WhatWasComposedOutlivesAKillBetweenTwoAttempts) {
  use("letter", gateway.url());
  gateway.script("l1", {Reply::hang(), Reply::accept()});
  post_intent(client(), intent("l1", "to.letter", {{"text", "Dear Sir or Madam"}}));
  ASSERT_TRUE(gateway.wait_for_count("l1", 1));
  host().kill_hard();
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "l1")["status"], "accepted");
  const auto received = gateway.received("l1");
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(received[0].body, received[1].body);
  EXPECT_EQ(attempt_words(client(), "l1"), (std::vector<std::string>{"unknown", "accepted"}));
}

// H4
TEST_F(Abilities, WhatCannotBeComposedIsNeverSent) {
  use("letter", gateway.url(), {"empty_letter"});
  post_intent(client(), {{"intentId", "l1"}, {"submissionTarget", "to.letter"}}, 30);
  const auto end = wait_for_end(client(), "l1");
  EXPECT_EQ(end["status"], "rejected");
  EXPECT_EQ(end["rejectedReason"], "empty_letter");
  EXPECT_EQ(gateway.count(), 0u);
}

// H5
TEST_F(Abilities, ABlockingSenderWaitsOnAThreadOfItsOwn) {
  LineServer server("OK line-7");
  use("line", server.url());
  EXPECT_EQ(sent("n1", "to.line")["status"], "accepted");
  EXPECT_EQ(server.lines(), std::vector<std::string>{R"({"text":"Dear Sir or Madam"})"
                                                     "\n"});
  EXPECT_EQ(sql().text("SELECT provider_ref FROM waybill.deliveries"), "line-7");
}

// H4
TEST_F(Abilities, ATargetCanBeProbedWithoutSendingAnything) {
  use("parcel", gateway.url());
  auto probe = ask({"probe", "to.parcel"});
  EXPECT_EQ(probe.exit_code, 0) << probe.err;
  EXPECT_EQ(probe.out, "to.parcel: reachable: code 200\n");
  gateway.by_default(Reply::http_error(503));
  probe = ask({"probe", "to.parcel", "--json"});
  EXPECT_EQ(probe.exit_code, 1);
  EXPECT_EQ(json::parse(probe.out)["answer"], "not reachable");
  EXPECT_EQ(json::parse(probe.out)["code"], 503);
  for (const auto& request : gateway.received()) EXPECT_EQ(request.method + " " + request.path, "GET /health");
  EXPECT_NE(ask({"probe", "to.nobody"}).err.find("no target \"to.nobody\""), std::string::npos);
}

// H4
TEST_F(Abilities, AnAcceptedIntentCanBeAskedAfter) {
  use("parcel", gateway.url());
  gateway.script("p1", {{.body = R"({"id":"box 7"})"}});
  ASSERT_EQ(sent("p1", "to.parcel")["status"], "accepted");
  const auto becomes = [&](const std::string& body) {
    gateway.script("/parcels/box%207", {{.body = body}});
    return ask({"status", "p1"});
  };
  EXPECT_EQ(becomes(R"({"state":"under_way"})").out, "p1: under way: under_way (code 200)\n");
  EXPECT_EQ(becomes(R"({"state":"delivered"})").out, "p1: arrived: code 200\n");
  const auto failed = becomes(R"({"state":"failed","reason":"nobody at home"})");
  EXPECT_EQ(failed.out, "p1: failed: undeliverable: nobody at home (code 200)\n");
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(get_intent(client(), "p1")["status"], "accepted") << "asking changes nothing";
  EXPECT_NE(ask({"status", "nobody"}).err.find("neither an intent nor a submission \"nobody\""), std::string::npos);
}

// H4
TEST_F(Abilities, AnIntentThatWasNotAcceptedHasNothingToAskAfter) {
  use("parcel", gateway.url());
  gateway.script("p1", {Reply::http_error(400)});
  ASSERT_EQ(sent("p1", "to.parcel")["status"], "rejected");
  const auto status = ask({"status", "p1"});
  EXPECT_EQ(status.exit_code, 1);
  EXPECT_NE(status.err.find("was not accepted"), std::string::npos) << status.err;
}

// H4
TEST_F(Abilities, FailuresAreListedOverAllPages) {
  use("parcel", gateway.url());
  gateway.script("/parcels",
                 {{.body = R"({"failures":[{"id":"box-1","key":"p1","reason":"bounced","failed_at":1700000000}],"next":"2"})"},
                  {.body = R"({"failures":[{"id":"box-2","detail":"nobody at home"}]})"}});
  const auto failures = ask({"failures", "to.parcel", "--since", "1h", "--json"});
  EXPECT_EQ(failures.exit_code, 0) << failures.err;
  const auto answer = json::parse(failures.out);
  EXPECT_EQ(answer["complete"], true);
  ASSERT_EQ(answer["failures"].size(), 2u);
  EXPECT_EQ(answer["failures"][0], (json{{"failedAt", "2023-11-14T22:13:20.000000Z"},
                                         {"providerRef", "box-1"},
                                         {"idempotencyKey", "p1"},
                                         {"reason", "bounced"},
                                         {"detail", ""}}));
  EXPECT_EQ(answer["failures"][1]["failedAt"], nullptr);
  ASSERT_EQ(gateway.count(), 2u);
  EXPECT_EQ(gateway.received()[0].path.find("page="), std::string::npos);
  EXPECT_NE(gateway.received()[1].path.find("&page=2"), std::string::npos);
}

// H4
TEST_F(Abilities, AListThatBreaksOffSaysSo) {
  use("parcel", gateway.url());
  gateway.script("/parcels", {{.body = R"({"failures":[{"id":"box-1"}],"next":"2"})"}, Reply::http_error(503)});
  const auto failures = ask({"failures", "to.parcel"});
  EXPECT_EQ(failures.exit_code, 1);
  EXPECT_NE(failures.out.find("box-1"), std::string::npos);
  EXPECT_NE(failures.err.find("not complete"), std::string::npos) << failures.err;
  EXPECT_NE(ask({"failures", "to.parcel", "--since", "soon"}).err.find("--since: \"soon\" is no duration"), std::string::npos);
}

// H4
TEST_F(Abilities, WhatAPluginDoesNotOfferIsSaid) {
  use("letter", gateway.url());
  const auto failures = ask({"failures", "to.letter"});
  EXPECT_EQ(failures.exit_code, 1);
  EXPECT_NE(failures.err.find("does not offer \"failures\""), std::string::npos) << failures.err;
}

}  // namespace
}  // namespace waybill::testing
