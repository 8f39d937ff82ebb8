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

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waybill/plugin.h"

namespace waybill::testkit {

using Headers = std::vector<std::pair<std::string, std::string>>;

// What the network does with one request.
struct Answer {
  wb_net_error error = WB_NET_OK;
  wb_reach reach = WB_ANSWERED;
  std::int32_t status = 200;
  Headers headers;  // names in lower case
  std::string body;
  std::int64_t retry_after_ms = -1;
  std::string error_text;
  std::chrono::milliseconds after{0};  // passes before the answer comes
  bool never = false;                  // comes only when the request is aborted, timed out, or its call has ended

  static Answer http(std::int32_t status, std::string body = {});
  static Answer failure(wb_net_error error, wb_reach reach, std::string text = "as scripted");
  static Answer silence(wb_reach reach = WB_MAYBE_SENT);  // `reach` is what the end will report
};

// One request as the plugin made it.
struct SentRequest {
  std::uint64_t fetch = 0;
  std::uint64_t call = 0;
  std::string method;
  std::string url;
  Headers headers;         // as the plugin gave them
  Headers filled_headers;  // with {secret:NAME} filled in, as they would leave; empty if the request was refused
  std::string body;
  std::uint32_t timeout_ms = 0;
  std::uint32_t max_response_bytes = 0;
  bool aborted = false;

  // The first of that name in any case; none if there is none.
  std::optional<std::string> header(std::string_view name) const;
  std::optional<std::string> filled_header(std::string_view name) const;
};

struct Job {
  std::string destination = "{}";
  std::string payload;
  std::string idempotency_key = "key-1";
  std::string context = R"({"org":"default","kind":"intent","reference":"key-1"})";
  std::string target = "target-1";
  std::string action_id = "1";
  std::uint32_t attempt = 1;
  bool maybe_sent_before = false;
  std::int64_t deadline_ms = 30'000;
  std::string artifact_type;  // for a sender that composes
  std::string artifact;
  std::string provider_ref;  // for status
};

struct Outcome {
  wb_verdict verdict = 0;
  wb_reach reach = 0;
  wb_scope scope = 0;
  std::int32_t code = 0;
  std::int64_t retry_after_ms = -1;
  std::string reason;
  std::string detail;
  std::string provider_ref;
  std::string result;
  std::string artifact_type;
  std::string artifact;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome);

struct Problem {
  std::string path;
  std::string message;
  bool operator==(const Problem& other) const { return path == other.path && message == other.message; }
};
std::ostream& operator<<(std::ostream& out, const Problem& problem);

struct LogEvent {
  std::uint64_t call = 0;
  std::int32_t level = 0;
  std::string text;
  std::vector<std::pair<std::string, std::string>> fields;
};

enum class CallId : std::uint64_t {};
class World;

// A plugin's sender. Its end fails the test for every call that is still open. Must go before its FakeHost.
class FakeSender {
 public:
  FakeSender(World& world, wb_sender* sender, const wb_sender_vt* table, const wb_action* action);
  ~FakeSender();
  FakeSender(const FakeSender&) = delete;
  FakeSender& operator=(const FakeSender&) = delete;

  CallId send(const Job& job);
  void cancel(CallId call);  // nothing, if the call has ended: as the host does
  // send and run_until_idle. Fails the test if the call has not ended then; only for a call that none but another thread of the
  // plugin can end it waits, at most two seconds of real time.
  Outcome attempt(const Job& job);
  const void* extension(std::string_view id);

 private:
  World& world_;
  wb_sender* sender_;
  const wb_sender_vt* table_;
  const wb_action* action_;
};

// Where breaches of the rules are told, one line each, from the thread that made them.
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
  void secret(std::string name, std::vector<std::string> values);  // newest first
  void remove_service(std::string_view id);                        // this host has none of that name

  void run_until_idle();                             // all that is due now
  void advance(std::chrono::milliseconds duration);  // and all that falls due meanwhile, in order
  void set_unix_seconds(std::int64_t seconds);
  std::int64_t unix_seconds() const;

  const std::vector<SentRequest>& requests() const;
  const std::vector<LogEvent>& logs() const;
  std::optional<Outcome> outcome(CallId call) const;  // none while the call is open
  std::size_t open_fetches() const;
  std::size_t open_timers() const;

 private:
  std::unique_ptr<World> world_;
};

}  // namespace waybill::testkit
