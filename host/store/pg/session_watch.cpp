// Shutting down the sockets of statements that have had their time.
#include "store/pg/session_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace waybill {

SessionWatch::SessionWatch() {
  sigset_t all, before;  // signals are for others: this thread may be older than whoever waits for them
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SessionWatch::~SessionWatch() {
  thread_.request_stop();
  thread_.join();
}

void SessionWatch::stop_at(Time last) {
  const std::lock_guard lock(mutex_);
  last_ = last;
  for (auto& entry : entries_)
    if (entry.runs && !entry.is_cut) entry.until = std::min(entry.until, last);
  is_news_ = true;
  changed_.notify_all();
}

bool SessionWatch::is_over() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::steady_clock::now() >= last_;
}

SessionWatch::Health SessionWatch::health(const std::string& purpose) const {
  const std::lock_guard lock(mutex_);
  const auto found = health_.find(purpose);
  return found == health_.end() ? Health{} : found->second;
}

void SessionWatch::refused(const std::string& purpose, const std::string& why) {
  const std::lock_guard lock(mutex_);
  health_[purpose] = {.good_at = {}, .sessions = health_[purpose].sessions, .refusal = why};
}

void SessionWatch::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    cut_late(std::chrono::steady_clock::now());
    wakes_at_ = Time::max();
    for (const auto& entry : entries_) wakes_at_ = std::min(wakes_at_, entry.until);
    is_news_ = false;
    if (wakes_at_ == Time::max())
      changed_.wait(lock, stop, [this] { return is_news_; });
    else
      changed_.wait_until(lock, stop, wakes_at_, [this] { return is_news_; });
  }
}

void SessionWatch::cut_late(Time now) {
  for (auto& lead : entries_) {
    if (!lead.leads || lead.until > now) continue;
    for (auto& other : entries_) {
      if (!other.runs)
        cut(other);
      else if (other.until != Time::max())
        other.until = std::min(other.until, other.began + (lead.until - lead.began));
    }
  }
  for (auto& entry : entries_)
    if (entry.until <= now) cut(entry);
}

void SessionWatch::cut(Entry& entry) {
  ::shutdown(entry.socket, SHUT_RDWR);
  entry.is_cut = true;
  entry.until = Time::max();
}

SessionWatch::Place::Place(std::shared_ptr<SessionWatch> watch, const std::string& purpose, int socket)
    : watch_(std::move(watch)) {
  const std::lock_guard lock(watch_->mutex_);
  Health& health = watch_->health_[purpose];
  ++health.sessions;
  entry_ = watch_->entries_.insert(
      watch_->entries_.end(),
      Entry{.socket = ::fcntl(socket, F_DUPFD_CLOEXEC, 0), .leads = purpose == "liveness", .health = &health});
}

SessionWatch::Place::~Place() {
  const std::lock_guard lock(watch_->mutex_);
  ::close(entry_->socket);
  watch_->entries_.erase(entry_);
}

bool SessionWatch::Place::begin(Time until) {
  const std::lock_guard lock(watch_->mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now >= watch_->last_) return false;
  entry_->runs = true;
  entry_->began = now;
  entry_->until = std::min(until, watch_->last_);
  if (entry_->until < watch_->wakes_at_) {
    watch_->is_news_ = true;
    watch_->changed_.notify_all();
  }
  return true;
}

bool SessionWatch::Place::end(bool well) {
  const std::lock_guard lock(watch_->mutex_);
  entry_->runs = false;
  entry_->until = Time::max();
  if (well) *entry_->health = {std::chrono::steady_clock::now(), entry_->health->sessions, {}};
  return entry_->is_cut;
}

bool SessionWatch::Place::is_cut() const {
  const std::lock_guard lock(watch_->mutex_);
  return entry_->is_cut;
}

}  // namespace waybill
