// The inside of the test kit's host: one small world with calls, a network, a clock and secrets.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "fake_host/host.h"
#include "fake_host/text.h"
#include "waybill/testkit.hpp"

namespace waybill::testkit {

using fake_host::Block;
using fake_host::Loan;
using fake_host::Memory;
using fake_host::Protocol;
using fake_host::text;
using fake_host::view;

// One breach of the rules, reported when its last word is there.
class Violation {
 public:
  explicit Violation(const Breaches& breaches) : breaches_(breaches) {}
  Violation(const Violation&) = delete;
  Violation& operator=(const Violation&) = delete;
  ~Violation() { breaches_(words_.str()); }
  template <class T>
  Violation& operator<<(const T& words) {
    words_ << words;
    return *this;
  }

 private:
  const Breaches& breaches_;
  std::ostringstream words_;
};

class World final : public fake_host::Host {
 public:
  World(const wb_plugin* descriptor, Breaches breaches);

  std::map<std::string, std::uint64_t> counts() const { return counters_.counts(); }
  Violation breach() const { return Violation(breaches_); }
  void check_words(std::string_view where, std::string_view words, bool one_line) const;
  fake_host::Timeline& timeline() { return timeline_; }

  // calls (fake_host.cpp)
  std::uint64_t open_call(const wb_sender* sender, const wb_action* action, CallKind kind, const Job& job);
  const wb_job* job_of(std::uint64_t call) const { return calls.at(call).job; }
  bool is_open(std::uint64_t call) const { return calls.count(call) != 0; }
  void take_arrivals();
  // True when the call has ended. Waits for another thread of the plugin if nothing else is left that could end the call.
  bool ends(std::uint64_t call);
  void run_until(std::int64_t time_ms);
  const wb_failure_query* open_query(std::uint64_t call, std::int64_t since, std::string_view page);

  // what the plugin calls
  bool offers(std::string_view service) const override { return missing_services.count(service) == 0; }
  std::int32_t complete(wb_call call, const wb_outcome* outcome) override;
  void log(wb_call call, std::int32_t level, wb_str words, const wb_field* fields, std::size_t count) override;
  std::int64_t unix_seconds() const override { return (unix_at_zero_ms + timeline_.now_ms()) / 1000; }
  std::int32_t sign(wb_str secret, const wb_str* parts, std::size_t count, fake_host::MacSink sink, void* user) override;
  std::int32_t signature(wb_sign_algorithm algorithm, wb_str secret, const wb_str* parts, std::size_t count,
                         fake_host::MacSink sink, void* user) override;
  std::int32_t read_secret(wb_str name, fake_host::ValueSink sink, void* user) override;
  std::int32_t find_client(wb_str client) override;
  std::int32_t forget_token(wb_str client) override;
  std::int32_t render(wb_str template_id, wb_str data, wb_template_part part, void* user) override;
  std::int32_t render_text(wb_str words, wb_str data, wb_template_part part, void* user) override;
  std::int32_t link(wb_str object, std::int64_t ttl_seconds, fake_host::UrlSink sink, void* user) override;
  void take_failure(std::uint64_t call, const wb_failure* failure) override;
  void take_next_page(std::uint64_t call, wb_str page) override;

  struct OpenCall {
    const wb_sender* sender;
    const wb_action* action;
    CallKind kind;
    Loan loan;
    const wb_job* job;
    std::int64_t deadline_at;
  };
  struct FailurePage {  // what a sender reported of one query
    std::vector<Failure> failures;
    std::optional<std::string> next_page;
  };

  const wb_plugin* plugin;
  std::map<std::uint64_t, OpenCall> calls;
  std::map<std::uint64_t, Outcome> outcomes;
  std::map<std::uint64_t, FailurePage> failure_pages;  // by call
  std::chrono::milliseconds patience{2000};
  std::int64_t unix_at_zero_ms = 1'700'000'000'000 - 1'000'000;
  std::deque<Answer> answers;
  std::map<std::string, std::deque<Answer>> answers_by_url;
  std::deque<MailAnswer> mail_answers;
  std::map<std::string, std::vector<std::string>, std::less<>> secrets;
  std::set<std::string, std::less<>> readable_secrets;
  std::map<std::string, std::string, std::less<>> tokens;  // by OAuth2 client
  std::vector<std::string> forgotten_tokens;               // guarded by mutex_
  std::set<std::string, std::less<>> missing_services;
  std::vector<SentRequest> requests;
  std::vector<SentMail> mails;
  std::vector<LogEvent> logs;  // guarded by mutex_
  std::map<std::string, std::map<std::string, std::string>, std::less<>> templates;
  std::vector<Rendering> renderings;  // guarded by mutex_
  bool link_key = true;
  std::vector<Problem> create_problems;

 private:
  void off_strand(const char* what) override { breach() << what << " came from another thread; it belongs to the strand"; }
  bool may_begin(const char* what, wb_call call) override;
  std::int64_t deadline_of(wb_call call) const override { return calls.at(call.id).deadline_at; }
  void malformed(const std::string& fault) override { breach() << fault; }
  Answer answer_request(SentRequest& sent) override;
  MailAnswer answer_mail(SentMail& sent) override;
  void aborted(Protocol protocol, std::uint64_t number) override;

  bool may_report(const char* what, std::uint64_t call);
  Answer choose_answer(SentRequest& sent);
  MailAnswer choose_mail_answer(const SentMail& sent);
  std::optional<std::string> newest_secret(std::string_view name) const;
  void end(std::uint64_t call, Outcome outcome);

  const Breaches breaches_;
  Loan query_loan_;  // kept to the end: a plugin may come back to a query late
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::set<std::uint64_t> open_;                             // guarded by mutex_: the calls that can still be completed
  std::set<std::uint64_t> ended_;                            // guarded by mutex_
  std::vector<std::pair<std::uint64_t, Outcome>> arrivals_;  // guarded by mutex_: completed by other threads
};

}  // namespace waybill::testkit
