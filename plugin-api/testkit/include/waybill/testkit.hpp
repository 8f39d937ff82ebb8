// A host for the unit tests of a plugin: it scripts the network, turns the clock, holds the secrets and watches the rules of
// plugin.h, each breach of which fails the GoogleTest that runs. Deterministic: the test's one thread is the strand, and nothing
// happens but inside run_until_idle(), advance() and the calls of a FakeSender. A plugin's own threads may do what is [any].
//
//   FakeHost host(wb_plugin_v1());
//   auto sender = host.make_sender("sms");
//   host.answer(Answer::http(200, R"({"status":"accepted"})"));
//   EXPECT_EQ(sender->attempt({.destination = ..., .payload = ...}).verdict, WB_ACCEPTED);
//   EXPECT_EQ(host.requests().at(0).url, "http://gateway.test/sms/send");
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "waybill/testkit/calls.hpp"
#include "waybill/testkit/network.hpp"
#include "waybill/testkit/sender.hpp"

namespace waybill::testkit {

// One use of the template service.
struct Rendering {
  std::string id;    // of a registry template
  std::string text;  // of the plugin's own
  std::string data;
};

// Receives breaches of the rules, one line each, on the thread that made them.
using Breaches = std::function<void(const std::string& what)>;
void fail_the_test(const std::string& what);  // of GoogleTest

class FakeHost {
 public:
  explicit FakeHost(const wb_plugin* plugin) : FakeHost(plugin, &fail_the_test) {}
  FakeHost(const wb_plugin* plugin, Breaches breaches);
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  // Null if the plugin refused; create_problems() then says why.
  std::unique_ptr<FakeSender> make_sender(std::string_view action_type, std::string_view settings = "{}");
  const std::vector<Problem>& create_problems() const;
  // What the plugin's own checks say (its schemas are the host's business). Asks twice and fails the test if the answers differ.
  std::vector<Problem> validate_settings(std::string_view action_type, std::string_view json);
  std::vector<Problem> validate_destination(std::string_view action_type, std::string_view json);
  const wb_action* action(std::string_view action_type) const;  // null if the plugin has none of that type

  // Answers are used up in order, those for the exact URL first. A request without an answer fails the test.
  void answer(Answer answer);
  void answer(std::string url, Answer answer);
  void mail_answer(MailAnswer answer);                             // the same for mails
  void secret(std::string name, std::vector<std::string> values);  // newest first
  void allow_secret(std::string name);                             // the plugin may read its values
  void oauth2_client(std::string name, std::string token);         // what {oauth2:NAME} is filled in with
  std::vector<std::string> forgotten_tokens() const;               // the clients whose tokens the plugin had forgotten
  void remove_service(std::string_view id);                        // this host has none of that name

  // A template of the registry, as it comes out rendered: {{"subject", ...}, {"text", ...}, {"html", ...}}. Nothing is filled in:
  // renderings() holds the data that came with each use. A text that the plugin brings itself comes out as it is.
  void registry_template(std::string id, std::map<std::string, std::string> parts);
  void no_link_key();  // this host cannot sign links; at first it can, and makes https://signed.test/BUCKET/KEY?ttl=SECONDS

  // How long, in real time, to wait for a completion that only another thread of the plugin can bring; at first 2 seconds.
  void patience(std::chrono::milliseconds duration);

  void run_until_idle();                             // all that is due now
  void advance(std::chrono::milliseconds duration);  // and all that falls due meanwhile, in order
  void set_unix_seconds(std::int64_t seconds);
  std::int64_t unix_seconds() const;

  const std::vector<SentRequest>& requests() const;
  const std::vector<SentMail>& mails() const;
  const std::vector<LogEvent>& logs() const;
  const std::vector<Rendering>& renderings() const;
  std::map<std::string, std::uint64_t> counters() const;  // what the plugin counted, by its own names
  std::optional<Outcome> outcome(CallId call) const;      // none while the call is open
  std::size_t open_fetches() const;
  std::size_t open_submissions() const;
  std::size_t open_timers() const;

 private:
  std::unique_ptr<World> world_;
};

}  // namespace waybill::testkit
