// Carries out claimed jobs: each is handed to its action type's sender and comes back exactly once, whatever the plugin does.
#include "execute/executor.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <thread>

#include "domain/decide.h"
#include "execute/sender_pool.h"

namespace waybill {
namespace {

constexpr Millis kMinJoin{200};
constexpr Millis kMinWatchInterval{5};  // many deadlines close to each other are looked at together

Finished back(JobHead job, Finished::How how, Clock::Monotonic now, std::optional<Millis> not_before) {
  const auto time = database_now(job, now);
  return {.job = std::move(job), .how = how, .outcome = {}, .started_at = time, .finished_at = time, .not_before = not_before};
}

}  // namespace

struct Executor::Core {
  Core(SenderFactory& senders, const Clock& time, ExecutorSettings limits, Log& events, Metrics& metrics)
      : factory(senders),
        clock(time),
        settings(std::move(limits)),
        log(events),
        completions(std::make_shared<CompletionQueue>(time, events, metrics)) {}

  void start(FinishedSink sink, HangSink hang_sink) {
    completions->connect(std::move(sink));
    on_hang = std::move(hang_sink);
    watcher = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }

  SenderPool& group_of(std::string_view action_type) {
    const std::lock_guard lock(mutex);
    auto found = groups.find(action_type);
    if (found == groups.end()) {
      const CallLimits limits{settings.attempt_timeout, settings.grace, settings.stuck_after};
      auto group =
          std::make_unique<SenderPool>(std::string(action_type), factory, limits, settings.hangs, completions, on_hang, log);
      found = groups.emplace(std::string(action_type), std::move(group)).first;
    }
    return *found->second;  // groups stay until the end
  }

  std::vector<SenderPool*> all_groups() {
    const std::lock_guard lock(mutex);
    std::vector<SenderPool*> all;
    for (const auto& [name, group] : groups) all.push_back(group.get());
    return all;
  }

  void execute(std::vector<Job> jobs) {
    const auto now = clock.now();
    completions->took(jobs.size());
    std::vector<Finished> returned;
    std::map<std::string_view, std::vector<OpenCalls::Start>> batches;
    std::vector<OpenCalls::Start>* batch = nullptr;
    std::string_view batch_type;
    std::shared_ptr<const Contract> limited;  // whose limit is `limit`
    auto limit = settings.attempt_timeout;
    auto earliest = Clock::Monotonic::max();
    auto call = last_call.fetch_add(jobs.size());
    for (auto& job : jobs) {
      const auto time = database_now(job, now);
      if (!stopping && is_over(job, time)) {
        returned.push_back(back(std::move(job), Finished::How::expired, now, std::nullopt));
        continue;
      }
      if (stopping || job.withheld || now >= job.begin_before) {
        returned.push_back(back(std::move(job), Finished::How::unattempted, now, std::nullopt));
        continue;
      }
      if (settings.time_limit && job.contract != limited) {  // jobs of one route come one after the other
        limited = job.contract;
        limit = settings.time_limit(*limited).value_or(settings.attempt_timeout);
      }
      auto deadline = limit;
      if (const auto end = ends_at(job))
        deadline = std::min(deadline, std::max(Millis{1}, std::chrono::duration_cast<Millis>(*end - time)));
      if (job.begin_before != Clock::Monotonic::max())  // so that nothing of it waits anywhere, and is sent, past the lease
        deadline = std::min(deadline, std::max(Millis{1}, std::chrono::duration_cast<Millis>(job.begin_before - now)));
      earliest = std::min<Clock::Monotonic>(earliest, now + deadline);
      auto shared = std::make_shared<const OpenJob>(std::move(job));
      if (batch == nullptr || batch_type != shared->contract->action_type) {
        batch_type = shared->contract->action_type;
        batch = &batches[batch_type];  // the name lives in a contract that the batch holds
      }
      batch->push_back({CallId{++call}, std::move(shared), deadline});
    }
    for (auto& [type, starts] : batches) {
      auto& group = group_of(type);
      if (group.start(starts)) continue;
      const auto rest = group.rest();
      for (auto& start : starts) returned.push_back(back(*start.job, Finished::How::unattempted, now, rest));
    }
    give_back(std::move(returned), earliest);
  }

  // What did not start leaves from the watching thread, which also hears of the earliest new deadline here.
  void give_back(std::vector<Finished> returned, Clock::Monotonic earliest) {
    std::unique_lock lock(watch_mutex);
    if (watch_ended) {
      lock.unlock();
      if (!returned.empty()) completions->hand_on(std::move(returned));
      return;
    }
    const bool urgent = !returned.empty() || earliest < next_look;
    next_look = std::min(next_look, earliest);
    waiting.insert(waiting.end(), std::make_move_iterator(returned.begin()), std::make_move_iterator(returned.end()));
    if (urgent) watch_changed.notify_all();
  }

  void watch(const std::stop_token& stop) {
    std::unique_lock lock(watch_mutex);
    while (!stop.stop_requested()) {
      const auto due = [this] { return !waiting.empty() || clock.now() >= next_look; };
      if (!due()) {
        if (next_look == Clock::Monotonic::max())
          watch_changed.wait(lock, stop, [this] { return !waiting.empty() || next_look != Clock::Monotonic::max(); });
        else
          watch_changed.wait_until(lock, stop, std::chrono::steady_clock::now() + (next_look - clock.now()),
                                   [this, seen = next_look] { return !waiting.empty() || next_look < seen; });
        continue;
      }
      auto returned = std::exchange(waiting, {});
      const bool look = clock.now() >= next_look;
      if (look) next_look = Clock::Monotonic::max();
      lock.unlock();
      if (!returned.empty()) completions->hand_on(std::move(returned));
      auto next = Clock::Monotonic::max();
      if (look)
        for (auto* group : all_groups()) next = std::min(next, group->look());
      if (next != Clock::Monotonic::max()) next = std::max<Clock::Monotonic>(next, clock.now() + kMinWatchInterval);
      lock.lock();
      next_look = std::min(next_look, next);
    }
  }

  bool stop(Millis grace) {
    stopping = true;
    if (!completions->wait_empty(grace)) {
      for (auto* group : all_groups()) group->cancel_all();
      completions->wait_empty(settings.grace);
      for (auto* group : all_groups()) group->decide_all("host_stopped");
    }
    watcher.request_stop();
    if (watcher.joinable()) watcher.join();
    std::vector<Finished> returned;
    {
      const std::lock_guard lock(watch_mutex);
      returned.swap(waiting);
      watch_ended = true;
    }
    if (!returned.empty()) completions->hand_on(std::move(returned));
    bool clean = true;
    const auto until = std::chrono::steady_clock::now() + settings.grace;
    for (auto* group : all_groups()) {
      // One that hangs uses up the time; the others need next to none.
      const auto left = std::chrono::ceil<Millis>(until - std::chrono::steady_clock::now());
      clean = group->join(std::max(left, kMinJoin)) && clean;
    }
    return clean;
  }

  SenderFactory& factory;
  const Clock& clock;
  const ExecutorSettings settings;
  Log& log;
  const std::shared_ptr<CompletionQueue> completions;
  HangSink on_hang;  // set before the first job
  std::atomic<std::uint64_t> last_call{0};
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<SenderPool>, std::less<>> groups;  // guarded by mutex
  std::mutex watch_mutex;
  std::condition_variable_any watch_changed;
  Clock::Monotonic next_look = Clock::Monotonic::max();  // guarded by watch_mutex
  std::vector<Finished> waiting;                         // guarded by watch_mutex
  bool watch_ended = false;                              // guarded by watch_mutex
  std::jthread watcher;                                  // last: it uses all of the above
};

Executor::Executor(SenderFactory& factory, const Clock& clock, ExecutorSettings settings, Log& log, Metrics& metrics)
    : core_(std::make_unique<Core>(factory, clock, std::move(settings), log, metrics)) {}

Executor::~Executor() {
  if (!core_->stopping) core_->stop(Millis{0});
}

void Executor::start(FinishedSink sink, HangSink on_hang) { core_->start(std::move(sink), std::move(on_hang)); }

void Executor::execute(std::vector<Job> jobs) {
  if (!jobs.empty()) core_->execute(std::move(jobs));
}

Executor::State Executor::state(std::string_view action_type) const {
  switch (core_->group_of(action_type).state()) {
    case SenderPool::State::ready:
      return State::ready;
    case SenderPool::State::missing:
      return State::missing;
    case SenderPool::State::stuck:
      break;
  }
  return State::stuck;
}

std::string Executor::refusal(std::string_view action_type) const { return core_->group_of(action_type).refusal(); }

std::size_t Executor::concurrency(std::string_view action_type) const { return core_->group_of(action_type).concurrency(); }

std::size_t Executor::in_flight() const { return core_->completions->in_flight(); }

void Executor::renew(std::string_view action_type) {
  core_->group_of(action_type).renew();
  core_->give_back({}, core_->clock.now());  // the watching thread sees to those that retire
}

bool Executor::wait_renewed(std::string_view action_type, Millis at_most) {
  return core_->group_of(action_type).wait_renewed(at_most);
}

std::size_t Executor::retiring(std::string_view action_type) const { return core_->group_of(action_type).retiring(); }

void Executor::withdraw() {
  for (auto* group : core_->all_groups()) group->withdraw_all();
}

bool Executor::stop(Millis grace) { return core_->stop(grace); }

}  // namespace waybill
