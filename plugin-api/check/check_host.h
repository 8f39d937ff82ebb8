// The host that a check puts one sender on: it answers as scripted, turns the clock, lends memory in the memory mode that the
// check wants, and records what the sender does. The thread that made it is the strand, and nothing happens but inside its
// functions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "check_host_parts.h"
#include "fake_host/host.h"
#include "findings.h"

namespace waybill::conformance {

class CheckHost final : private fake_host::Host {
 public:
  // Of the nth request or mail of this call, from 0.
  using Script = std::function<Answer(std::uint64_t call, std::size_t nth)>;

  CheckHost(const wb_action& action, Findings& findings, Shape shape = {});
  ~CheckHost() override;

  bool create(const std::string& settings);  // false: there is no sender that could be used
  bool create_threw() const { return create_threw_; }
  const std::vector<std::string>& refusal() const { return refusal_; }
  bool made_sender() const { return sender_ != nullptr; }
  bool has_whole_table() const;
  void destroy();
  const void* extension(std::string_view id);
  bool can(CallKind kind);  // every sender can send; the rest are extensions

  void script(Script script) { script_ = std::move(script); }
  std::uint64_t begin(CallKind kind, const Job& job);
  void cancel(std::uint64_t call);
  void give_up(std::uint64_t call);  // the host ends the call, and its job is gone
  bool step();                       // one thing that falls due before the deadlines; false if there is none
  void run();
  void run_for(std::int64_t ms);  // of this host's clock

  Call call(std::uint64_t id) const;
  std::vector<Call> calls() const;
  std::vector<SentRequest> sent() const { return sent_; }
  std::vector<std::pair<Violation, std::string>> breaches() const;
  std::vector<std::string> logged() const;  // every text and value

 private:
  bool offers(std::string_view service) const override;
  std::int32_t complete(wb_call call, const wb_outcome* outcome) override;
  void log(wb_call call, std::int32_t level, wb_str text, const wb_field* fields, std::size_t count) override;
  std::int64_t unix_seconds() const override { return shape_.unix_seconds + timeline_.now_ms() / 1000; }
  std::int32_t sign(wb_str secret, const wb_str* parts, std::size_t count, fake_host::MacSink sink, void* user) override;
  std::int32_t signature(wb_sign_algorithm algorithm, wb_str secret, const wb_str* parts, std::size_t count,
                         fake_host::MacSink sink, void* user) override;
  std::int32_t read_secret(wb_str name, fake_host::ValueSink sink, void* user) override;
  std::int32_t find_client(wb_str client) override;
  std::int32_t forget_token(wb_str client) override;
  std::int32_t render(wb_str template_id, wb_str data, wb_template_part part, void* user) override;
  std::int32_t render_text(wb_str text, wb_str data, wb_template_part part, void* user) override;
  std::int32_t link(wb_str object, std::int64_t ttl_seconds, fake_host::UrlSink sink, void* user) override;
  void take_failure(std::uint64_t call, const wb_failure* failure) override;
  void take_next_page(std::uint64_t call, wb_str page) override;

  void off_strand(const char* what) override;
  bool may_begin(const char* what, wb_call call) override;
  std::int64_t deadline_of(wb_call id) const override { return call(id.id).deadline_at; }
  void malformed(const std::string& fault) override { breach(Violation::malformed, fault); }
  testkit::Answer answer_request(testkit::SentRequest& sent) override;
  testkit::MailAnswer answer_mail(testkit::SentMail& sent) override;
  void ended(const fake_host::Exchange& exchange) override;
  void enter(const std::string& what, std::uint64_t call, const std::function<void()>& body) override;

  void breach(Violation kind, const std::string& words);
  bool may_report(std::uint64_t call);
  Answer choose_answer(SentRequest sent, const std::string& fault);

  bool step_until(std::int64_t limit);
  void forget_ended();
  bool any_open() const;
  bool wait_for_other_threads();

  const wb_action& action_;
  Findings& findings_;
  const Shape shape_;
  wb_sender* sender_ = nullptr;
  const wb_sender_vt* vt_ = nullptr;
  std::vector<std::string> refusal_;
  bool creating_ = false, destroying_ = false, create_threw_ = false;
  Script script_;
  std::vector<SentRequest> sent_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::uint64_t, Call> calls_;  // guarded by mutex_, with what follows
  std::map<std::uint64_t, fake_host::Loan> loans_;
  std::vector<std::pair<Violation, std::string>> breaches_;
  std::vector<std::string> logged_;
};

}  // namespace waybill::conformance
