// A fake host: the tables that a plugin sees, a clock that only its owner turns, a network, timers, and lent memory. Who derives
// from it keeps the calls, gives the answers, and decides what breaks a rule.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "counters.h"
#include "lender.h"
#include "timeline.h"

namespace waybill::fake_host {

using MacSink = void (*)(void* user, const std::uint8_t* mac, std::size_t size);
using ValueSink = void (*)(void* user, wb_str value);
using UrlSink = void (*)(void* user, wb_str url);

class Host {
 public:
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  const wb_host* table() const { return table_; }  // for the plugin
  static Host& of(const wb_host* table);

  // ---- what the plugin calls ----
  virtual bool offers(std::string_view service) const = 0;                                                         // [any]
  virtual std::int32_t complete(wb_call call, const wb_outcome* outcome) = 0;                                      // [any]
  virtual void log(wb_call call, std::int32_t level, wb_str text, const wb_field* fields, std::size_t count) = 0;  // [any]
  std::uint64_t fetch(wb_call call, const wb_http_request* request, wb_http_done done, void* user);
  std::uint64_t submit(wb_call call, const wb_smtp_message* message, wb_smtp_done done, void* user);
  void abort(Protocol protocol, std::uint64_t number);
  std::uint64_t after(wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user);
  void cancel_timer(std::uint64_t number);
  std::int64_t monotonic_ms() const { return timeline_.now_ms(); }                                                 // [any]
  virtual std::int64_t unix_seconds() const = 0;                                                                   // [any]
  virtual std::int32_t sign(wb_str secret, const wb_str* parts, std::size_t count, MacSink sink, void* user) = 0;  // [any]
  virtual std::int32_t signature(wb_sign_algorithm algorithm, wb_str secret, const wb_str* parts, std::size_t count, MacSink sink,
                                 void* user) = 0;                                                       // [any]
  virtual std::int32_t read_secret(wb_str name, ValueSink sink, void* user) = 0;                        // [any]
  virtual std::int32_t find_client(wb_str client) = 0;                                                  // [any]
  virtual std::int32_t forget_token(wb_str client) = 0;                                                 // [any]
  virtual std::int32_t render(wb_str template_id, wb_str data, wb_template_part part, void* user) = 0;  // [any]
  virtual std::int32_t render_text(wb_str text, wb_str data, wb_template_part part, void* user) = 0;    // [any]
  virtual std::int32_t link(wb_str object, std::int64_t ttl_seconds, UrlSink sink, void* user) = 0;     // [any]
  std::int32_t count(wb_str name, std::uint64_t by);                                                    // [any]
  virtual void take_failure(std::uint64_t call, const wb_failure* failure) = 0;
  virtual void take_next_page(std::uint64_t call, wb_str page) = 0;

 protected:
  Host(wb_str name, LendingTerms terms, TieOrder ties = TieOrder::first_first);

  // ---- what each kind of host decides; `what` names the function that was called ----
  virtual void off_strand(const char* what) = 0;               // records that another thread than the strand called it
  virtual bool may_begin(const char* what, wb_call call) = 0;  // the call is open; if not, that is recorded
  virtual std::int64_t deadline_of(wb_call call) const = 0;    // of one that is open
  virtual void malformed(const std::string& fault) = 0;        // records what no host could carry out
  virtual testkit::Answer answer_request(testkit::SentRequest& sent) = 0;
  virtual testkit::MailAnswer answer_mail(testkit::SentMail& sent) = 0;
  virtual void aborted(Protocol, std::uint64_t) {}
  virtual void ended(const Exchange&) {}  // before the plugin hears of it
  virtual void enter(const std::string& what, std::uint64_t call, const std::function<void()>& body);  // into the plugin

  bool is_strand() const { return std::this_thread::get_id() == strand_; }
  bool on_strand(const char* what);

  Counters counters_;
  Lender lender_;
  Timeline timeline_;

 private:
  void begin(std::uint64_t number, bool is_open, std::uint32_t timeout_ms, Exchange exchange);

  const std::thread::id strand_ = std::this_thread::get_id();  // the thread that made this
  Loan table_loan_;
  const wb_host* const table_;
};

// Behind the address of `host`, which the plugin is given, the C functions find `self`.
struct HostTable {
  Host* self;
  wb_host host;
};
HostTable table_of(Host& self, wb_str name, std::uint32_t minor);
wb_failure_query query_of(QueryUser& user, std::int64_t since, wb_str page);

}  // namespace waybill::fake_host
