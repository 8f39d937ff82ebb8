// What is particular to a plugin in a process of its own.
#include <thread>

#include "base/utf8.h"
#include "senders/plugin_sender.h"

namespace waybill {
namespace {

constexpr Millis kCreatesWithin{5'000};
constexpr std::size_t kMaxWrittenLine = 500;

}  // namespace

Result<std::unique_ptr<PluginSender>> PluginSender::create(SenderParts parts, OwnProcess process) {
  std::unique_ptr<PluginSender> sender(new PluginSender(std::move(parts)));
  sender->sends_through_host_ = process.sends_through_host;
  sender->remote_ = std::make_unique<plugin_process::RemoteSender>(std::move(process.first), std::move(process.next),
                                                                   process.sends_through_host, sender->loop_, sender->face_.host,
                                                                   static_cast<plugin_process::RemoteOwner&>(*sender));
  auto created = sender->remote_->create(sender->parts_.type.name, sender->parts_.settings, kCreatesWithin);
  if (!created && created.error().kind == Error::Kind::unavailable)
    return fail(Error::Kind::unavailable, "the plugin's create did not come back: " + created.error().what);
  if (!created) return fail(Error::Kind::invalid, clean_text(created.error().what, 1000));
  sender->self_ = sender->remote_->sender();
  sender->vt_ = plugin_process::RemoteSender::functions();
  sender->thread_ = std::thread([self = sender.get()] { self->run(); });
  return sender;
}

std::optional<Sender::Inside> PluginSender::inside_plugin() const {
  if (!remote_) return entry_.inside();
  const auto inside = remote_->inside();
  if (!inside) return std::nullopt;
  // Its clock is that of this machine, and so that of Clock::Monotonic.
  return Inside{{inside->call}, Clock::Monotonic(std::chrono::nanoseconds(inside->since))};
}

void PluginSender::give_up() {
  if (remote_) return remote_->kill("it did not come back from a call");
  given_up_ = true;
}

void PluginSender::threw(std::uint64_t call) { left(call, true); }

void PluginSender::died(const plugin_process::Exit& exit, std::uint64_t inside) {
  last_death_ = exit.words();
  parts_.completions.died({inside}, last_death_);
  forget_ended();
}

void PluginSender::cannot_repeat(std::uint64_t call) {
  record_violation("repeats_otherwise", call);
  parts_.completions.interrupted({call}, last_death_);
}

// Its time is over. False: no process has it, so nobody can be told; it ends here, and is not the plugin's fault.
bool PluginSender::may_cancel(std::uint64_t call) {
  switch (remote_->has_begun(call)) {
    case plugin_process::RemoteSender::Begun::yes:
      return true;
    case plugin_process::RemoteSender::Begun::no:
      parts_.completions.not_begun({call});
      ended({call});
      break;
    case plugin_process::RemoteSender::Begun::in_a_process_that_died:
      parts_.completions.interrupted({call}, last_death_);
      break;
  }
  ++completed_;
  return false;
}

void PluginSender::lost(std::string_view why) {
  parts_.completions.lost(last_death_.empty() ? why : std::string_view(last_death_));
  forget_ended();
}

void PluginSender::wrote(std::string_view line) {
  parts_.log.info("plugin.wrote", {{"action_type", parts_.type.name}, {"line", clean_text(line, kMaxWrittenLine)}});
}

void PluginSender::share_job(std::uint64_t call, const std::shared_ptr<const OpenJob>& job) {
  const std::lock_guard lock(shared_mutex_);
  if (job)
    shared_jobs_[call] = job;
  else
    shared_jobs_.erase(call);
}

bool PluginSender::within(std::uint64_t call, const std::function<void()>& work) {
  if (call != 0) {
    const std::lock_guard lock(shared_mutex_);
    const auto found = shared_jobs_.find(call);
    if (found == shared_jobs_.end()) return false;
    question_job_ = found->second;
  }
  answering_ = std::this_thread::get_id();
  work();
  answering_ = std::thread::id();
  question_job_.reset();
  return true;
}

const Job* PluginSender::job_here() const {
  if (on_strand()) return entry_.job();
  return answering_ == std::this_thread::get_id() ? question_job_.get() : nullptr;
}

}  // namespace waybill
