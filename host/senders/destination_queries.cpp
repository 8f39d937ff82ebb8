// Questions that people ask of a destination through its plugin.
#include "senders/destination_queries.h"

#include <condition_variable>
#include <mutex>

#include "senders/plugin_sender.h"
#include "senders/sender_factory.h"

namespace waybill {
namespace {

constexpr CallId kCall{1};
constexpr Millis kGrace{2000};
constexpr int kMaxPages = 1000;

// The end of the one call.
class Answer final : public Completions {
 public:
  void of(PluginSender& sender) { sender_ = &sender; }

  bool complete(CallId call, Outcome outcome) override {
    const std::lock_guard lock(mutex_);  // until the sender knows, or who waits could have it gone already
    if (call != kCall || outcome_) return false;
    sender_->ended(call);
    outcome_ = std::move(outcome);
    came_.notify_all();
    return true;
  }
  void not_begun(CallId) override {}  // a question has no lease
  void flush() override {}
  void died(CallId, std::string_view words) override { lost(words); }
  void interrupted(CallId, std::string_view words) override { lost(words); }
  void lost(std::string_view words) override {
    static_cast<void>(complete(kCall, {.verdict = Verdict::transient,
                                       .reason = "plugin_crash",
                                       .detail = "the plugin's process ended: " + std::string(words)}));
  }

  std::optional<Outcome> wait(Millis at_most) {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, at_most, [this] { return outcome_.has_value(); });
    return outcome_;
  }

 private:
  PluginSender* sender_ = nullptr;
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<Outcome> outcome_;  // guarded by mutex_
};

const char* name_of(CallKind what) {
  switch (what) {
    case CallKind::status:
      return "status";
    case CallKind::probe:
      return "probe";
    case CallKind::failures:
      return "failures";
    default:
      return "send";
  }
}

Job job_of(const Contract& destination) {
  Job job;
  job.contract = std::make_shared<const Contract>(destination);
  return job;
}

}  // namespace

Result<Outcome> DestinationQueries::ask(CallKind what, Job job, std::shared_ptr<FailurePage> page) {
  const auto type = job.contract->action_type;
  auto answer = std::make_unique<Answer>();
  auto sender = factory_.make_plugin_sender(type, *answer);
  TRY(sender);
  answer->of(**sender);
  (*sender)->ask(what, {kCall, std::make_shared<const OpenJob>(std::move(job)), timeout_}, std::move(page));
  auto outcome = answer->wait(timeout_);
  if (!outcome) {
    (*sender)->cancel(kCall);
    outcome = answer->wait(kGrace);
  }
  if (!(*sender)->join(kGrace)) {  // it hangs inside the plugin, and will do so until the process ends
    static_cast<void>(sender->release());
    static_cast<void>(answer.release());
  }
  if (!outcome)
    return fail(Error::Kind::unavailable,
                "the plugin did not answer within " + std::to_string((timeout_ + kGrace).count()) + " ms");
  if (outcome->verdict == Verdict::deferred && outcome->reason == PluginSender::kNotOffered)
    return fail(Error::Kind::not_found, "the plugin of action type " + type + " does not offer \"" + name_of(what) + "\"");
  return std::move(*outcome);
}

Result<Outcome> DestinationQueries::attempt(Job delivery) { return ask(CallKind::send, std::move(delivery)); }

Result<Outcome> DestinationQueries::probe(const Contract& destination) { return ask(CallKind::probe, job_of(destination)); }

Result<Outcome> DestinationQueries::status(Job delivery) { return ask(CallKind::status, std::move(delivery)); }

Result<DestinationQueries::Failures> DestinationQueries::failures(const Contract& destination, std::int64_t since) {
  Failures all;
  auto outcome = failures(destination, since, [&all](std::vector<FailurePage::Failure> page) -> Result<bool> {
    std::move(page.begin(), page.end(), std::back_inserter(all.list));
    return true;
  });
  TRY(outcome);
  all.outcome = std::move(*outcome);
  return all;
}

Result<Outcome> DestinationQueries::failures(const Contract& destination, std::int64_t since, const TakePage& take) {
  std::string name;
  for (int i = 0; i < kMaxPages; ++i) {
    const auto page = std::make_shared<FailurePage>();
    page->since = since;
    page->page = std::move(name);
    auto outcome = ask(CallKind::failures, job_of(destination), page);
    TRY(outcome);
    const auto goes_on = take(std::move(page->failures));
    TRY(goes_on);
    name = std::move(page->next_page);
    if (outcome->verdict != Verdict::accepted || name.empty() || !*goes_on) return outcome;
  }
  return fail(Error::Kind::unavailable, "the plugin lists more than " + std::to_string(kMaxPages) + " pages");
}

}  // namespace waybill
