// A plugin's sender with its strand: the one thread that enters the plugin, with its own HTTP, mail and timers.
#pragma once

#include <waybill/plugin.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "breadcrumbs/breadcrumb_file.h"
#include "domain/action_types.h"
#include "execute/plugin_violations.h"
#include "execute/sender.h"
#include "plugin_process/remote_sender.h"
#include "senders/keys_used.h"
#include "senders/outcome_check.h"
#include "senders/plugin_counters.h"
#include "senders/plugin_entry.h"
#include "senders/questions.h"
#include "senders/strand_queue.h"
#include "senders/text_services.h"
#include "services/authorized_http.h"
#include "services/event_loop.h"
#include "services/http_client.h"
#include "services/oauth2_tokens.h"
#include "services/secrets.h"
#include "services/sign.h"
#include "services/smtp_client.h"
#include "services/transports.h"
#include "telemetry/log.h"
#include "vault/vault.h"

namespace waybill {

// What PluginSender needs of a plugin whose code runs in a process of its own.
struct OwnProcess {
  plugin_process::ReadyProcess first;
  plugin_process::NextProcess next;
  bool sends_through_host = true;  // it has no network of its own
};

struct SenderParts {
  const ActionType& type;
  std::string plugin;                           // its id
  std::shared_ptr<BreadcrumbFile> breadcrumbs;  // null: this process writes none
  const wb_action* action;                      // null: its code runs in a process of its own
  std::string settings;                         // JSON object
  HttpClientSettings http;
  std::shared_ptr<const LiveSecrets> secrets;
  std::set<std::string, std::less<>> readable_secrets;  // whose values the plugin may have
  std::shared_ptr<OAuth2Tokens> oauth2;                 // never null
  TransportSource transport;                            // may be empty: the defaults
  std::shared_ptr<const Vault> vault;                   // opens the secrets of channels
  TextServices texts;
  std::shared_ptr<PluginViolations> violations;
  std::shared_ptr<PluginCounters> counters;  // null: plugins count nothing
  bool records_spans = false;                // of attempts, whose ids destinations get
  const Clock& clock;
  Log& log;
  Completions& completions;
};

// Safe from any thread where execute/sender.h says so; everything else runs on the strand.
class PluginSender final : public Sender, private plugin_process::RemoteOwner {
 public:
  // An error if the plugin's create refuses; Error::unavailable if it hangs, and then another call costs another thread.
  static Result<std::unique_ptr<PluginSender>> create(SenderParts parts);
  // The same of a plugin in a process; Error::unavailable if that is gone or silent.
  static Result<std::unique_ptr<PluginSender>> create(SenderParts parts, OwnProcess process);
  ~PluginSender() override;

  void send(std::vector<Attempt> attempts) override;  // composes first, if the plugin does and the job has no artifact
  // [any thread] A query to a destination, apart from the pipeline. Ends as deferred with reason kNotOffered if the plugin lacks
  // the ability. `page` is for failures.
  void ask(CallKind what, Attempt attempt, std::shared_ptr<FailurePage> page = nullptr);
  static constexpr std::string_view kNotOffered = "not_offered";

  bool withdraw(CallId call) override;
  void cancel(CallId call) override;
  void ended(CallId call) override;
  std::optional<Inside> inside_plugin() const override;
  void give_up() override;
  bool sends_through_host() const override { return remote_ != nullptr && sends_through_host_; }
  bool runs_apart() const override { return remote_ != nullptr; }
  bool join(Millis within) override;

  // What host_face.cpp needs to serve the plugin.
  const SenderParts& parts() const { return parts_; }
  Trace trace_of_call(std::uint64_t call) const;  // null off the strand, and of a call without one
  std::int32_t complete(wb_call call, const wb_outcome* said);
  std::uint64_t fetch(wb_call id, const wb_http_request* asked, wb_http_done done, void* user);
  void abort_fetch(std::uint64_t fetch);
  std::uint64_t submit(wb_call id, const wb_smtp_message* asked, wb_smtp_done done, void* user);
  void abort_submission(std::uint64_t submission);
  std::uint64_t start_timer(wb_call call, std::int64_t delay_ms, void (*fire)(void*), void* user);
  void cancel_timer(std::uint64_t timer);
  // [any thread] With the operator's secret of this name; on the strand, inside a channel's delivery, with the channel's own,
  // whose name is the channel's id. False: no such secret.
  bool sign(std::string_view name, std::span<const std::string_view> parts, const std::function<void(const Mac&)>& sink) const;
  // [any thread] What the operator's secrets are now; null on the strand inside a channel's delivery: a tenant names none of
  // them.
  std::shared_ptr<const Secrets> operators_secrets() const;
  void record_violation(std::string_view how, std::uint64_t call, std::string_view detail = {});

 private:
  struct Call {
    std::shared_ptr<const OpenJob> job;
    std::string action_id;
    wb_job view{};
    Clock::Monotonic deadline;
    std::shared_ptr<FailurePage> page;
    std::vector<std::uint64_t> fetches;
    std::vector<std::uint64_t> submissions;
    std::vector<std::uint64_t> timers;
    bool address_refused = false;
    bool timed_out = false;  // of a channel's delivery: its latest request
    std::string answer;      // of a channel's delivery: the latest that came back, as JSON
    std::string sent_hash;   // of the latest body that was handed over to be sent
    bool ended = false;
  };
  struct Timer {
    std::uint64_t call;
    EventLoop::TimerId loop_timer;
    void (*fire)(void*);
    void* user;
  };
  struct Face {  // the first member is what the plugin holds
    wb_host host;
    PluginSender* sender;
  };
  friend class HostFace;
  struct Creation;

  explicit PluginSender(SenderParts parts);
  // In plugin_process_owner.cpp: a plugin in a process of its own.
  void threw(std::uint64_t call) override;
  void violated(std::string_view how, std::uint64_t call) override { record_violation(how, call); }
  void died(const plugin_process::Exit& exit, std::uint64_t inside) override;
  void cannot_repeat(std::uint64_t call) override;
  void lost(std::string_view why) override;
  bool within(std::uint64_t call, const std::function<void()>& work) override;
  void wrote(std::string_view line) override;
  bool may_cancel(std::uint64_t call);
  void share_job(std::uint64_t call, const std::shared_ptr<const OpenJob>& job);
  // The job that this thread is inside the plugin for, or answers a question for; null: none.
  const Job* job_here() const;
  bool on_strand() const { return std::this_thread::get_id() == strand_; }
  void run();
  void work();
  bool take_commands();
  bool is_too_late(const QueuedAttempt& queued) const;
  void begin(QueuedAttempt queued);
  void add_what_was_seen(wb_call call, Outcome& outcome);
  static std::string answer_json(const HttpResponse& response);
  std::optional<Outcome> channel_refusal(const Job& job) const;
  // In plugin_queries.cpp: what sends nothing: compose, and queries of a destination.
  struct Query {
    PluginSender* sender;
    std::uint64_t call;
    wb_failure_query view;
  };
  void find_compose();
  void begin_query(std::uint64_t id, CallKind asked, Call& call);
  template <class Table>
  const Table* ability(const char* id);
  const wb_failure_query* query_of(std::uint64_t call, const FailurePage& page);
  FailurePage* open_page(const Query& query);
  static void take_failure(void* user, const wb_failure* failure) noexcept;
  static void take_next_page(void* user, wb_str name) noexcept;
  // Every entry into the plugin goes through here. `job`: the delivery it is for; null: none.
  template <class Entry>
  void enter(std::uint64_t call, const Job* job, Entry entry) {
    left(call, entry_.enter(call, job, std::move(entry)));
  }
  void left(std::uint64_t call, bool threw);
  void forget_ended();
  void fire(std::uint64_t id);
  static Trust trust_of(const Job& job) { return job.contract->is_of_channel() ? Trust::tenant : Trust::registry; }
  std::shared_ptr<const Transport> transport_of(const Job& job) const {
    return parts_.transport ? parts_.transport(*job.contract) : nullptr;
  }
  void add_trace(HttpRequest& request, const Job& job) const;
  static std::optional<std::string> misplaced_secret(const Job& job, const HttpRequest& request);
  void note_refusal(Call& call, const AddressRefusal& refusal);
  Clock::Monotonic deadline_of_services(const Call& call) const;
  static void note_service(const Call& call);
  Departure departure_of(const Call& call) const { return {&call.job->reached, &given_up_}; }
  void deliver(std::uint64_t call, std::uint64_t fetch, HttpResponse response, wb_http_done done, void* user);
  void deliver_mail(std::uint64_t call, std::uint64_t submission, const SmtpReply& reply, wb_smtp_done done, void* user);
  void end_turn();

  const SenderParts parts_;
  PluginEntry entry_;
  EventLoop loop_;
  StrandQueue queue_;
  HttpClient http_;
  AuthorizedHttp authorized_http_;
  SmtpClient mail_;
  Face face_;
  wb_sender* self_ = nullptr;
  const wb_sender_vt* vt_ = nullptr;
  const wb_compose* compose_ = nullptr;
  Questions questions_;
  std::atomic<bool> given_up_{false};
  std::atomic<std::thread::id> strand_{};
  std::unique_ptr<plugin_process::RemoteSender> remote_;  // null: the plugin runs here
  bool sends_through_host_ = false;
  std::string last_death_;  // how its last process ended
  mutable std::mutex shared_mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const OpenJob>> shared_jobs_;  // guarded by shared_mutex_; of a process
  std::atomic<std::thread::id> answering_{};  // the process's thread while it answers for `question_job_`
  std::shared_ptr<const OpenJob> question_job_;

  mutable KeysUsed keys_used_;

  std::unordered_map<std::uint64_t, Call> calls_;
  std::unordered_map<std::uint64_t, Timer> timers_;
  std::vector<std::uint64_t> ended_;
  std::vector<wb_header> header_views_;
  std::deque<Query> queries_;  // kept until the end: a plugin may use one late
  std::uint64_t last_timer_ = 0;
  std::size_t completed_ = 0;  // on the strand since the last flush
  bool destroyed_ = false;
  std::thread thread_;
};

}  // namespace waybill
