// An executor with real plugins, from folder to outcome, and everything it reported.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "execute/executor.h"
#include "senders/sender_factory.h"
#include "support/eventually.h"
#include "unit/senders/plugin_folder.h"

namespace waybill::testing {

class RecordingLog final : public Log {
 public:
  void write(Level, std::string_view event, std::span<const Field> fields) override {
    std::string line(event);
    for (const auto& field : fields) line += " " + std::string(field.key) + "=" + field.value;
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  bool wait_for(std::string_view what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return has(what); });
  }
  bool contains(std::string_view what) {
    const std::lock_guard lock(mutex_);
    return has(what);
  }

 private:
  bool has(std::string_view what) const {
    for (const auto& line : lines_)
      if (line.find(what) != std::string::npos) return true;
    return false;
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

// The system's clock; of a host that was stopped for `away` after its jobs were handed over by the thread that made this.
class HostClock final : public Clock {
 public:
  Monotonic now() const override {
    return real_.now() + (std::this_thread::get_id() == home_ ? Monotonic::duration(0) : away.load());
  }
  std::int64_t unix_seconds() const override { return real_.unix_seconds(); }
  std::atomic<Monotonic::duration> away{Monotonic::duration(0)};

 private:
  const SystemClock real_{};
  const std::thread::id home_ = std::this_thread::get_id();
};

// The same delivery as one to an organisation's channel, whose secrets are none.
inline Job of_channel(Job job) {
  auto contract = std::make_shared<Contract>(*job.contract);
  auto channel = std::make_shared<Channel>();
  contract->channel = channel->id = "a-channel";
  channel->destination = contract->destination;
  job.contract = std::move(contract);
  job.channel = std::move(channel);
  return job;
}

// Of an operator who wrote `insecure: true`.
inline std::shared_ptr<const Transport> insecure(const Contract&) {
  return std::make_shared<const Transport>(Transport{.insecure = true, .unverified_login = true});
}

// In a second run of these tests, every plugin has a process of its own.
inline bool plugins_run_apart() { return std::getenv("WAYBILL_TEST_APART") != nullptr; }

inline std::unique_ptr<Catalogue> catalogue_of(const std::filesystem::path& folder, Isolations& isolations) {
  auto catalogue = Catalogue::load(folder);
  if (!plugins_run_apart()) return catalogue;
  for (const auto& type : catalogue->names()) isolations.by_type[type].mode = IsolationMode::process;
  return Catalogue::load(folder, {}, isolations, WAYBILL_PLUGIN_HOST);
}

class PluginWorld {
 public:
  // Generous: a good plugin never meets these limits. Tests of silence set their own.
  inline static const ExecutorSettings kPatient{
      .attempt_timeout = Millis(60'000), .grace = Millis(2'000), .stuck_after = Millis(30'000)};

  explicit PluginWorld(std::initializer_list<const char*> plugins, ExecutorSettings settings = kPatient,
                       Secrets::Values known = {}, std::shared_ptr<const GcsLinks> signer = nullptr,
                       std::map<std::string, std::string> settings_by_type = {}, EgressRules egress = {})
      : links(std::move(signer)),
        secrets(std::make_shared<LiveSecrets>(Secrets(std::move(known)))),
        folder(plugins),
        catalogue(catalogue_of(folder.path(), config.isolations)) {
    config.limits.blocking_workers = 2;
    config.senders = std::move(settings_by_type);
    config.egress = std::move(egress);
    make_factory(settings);
  }
  // Anew, after a change of `config`.
  void make_factory(ExecutorSettings settings = kPatient) {
    executor.reset();
    factory = std::make_unique<PluginSenderFactory>(
        *catalogue, config, secrets, TextServices{[this] { return templates; }, links}, clock, log, metrics, nullptr,
        [this](const Contract& contract) { return transport ? transport(contract) : nullptr; });
    executor = std::make_unique<Executor>(*factory, clock, settings, log, metrics);
    executor->start([this](std::vector<Finished> batch) { take(std::move(batch)); });
    if (plugins_run_apart())
      for (const auto& type : catalogue->names()) wait_for_process(type);
  }

  Job job(const std::string& type, const std::string& target, const std::string& url = "http://127.0.0.1:1/") {
    auto contract = std::make_shared<Contract>();
    contract->target = target;
    contract->action_type = type;
    contract->destination = R"({"url":")" + url + R"("})";
    Job made;
    made.delivery = {++last_delivery_};
    made.contract = std::move(contract);
    made.claimed_at = made.created = {1'000'000'000};
    made.claimed_mono = clock.now();
    made.idempotency_key = "key-" + std::to_string(last_delivery_);
    made.payload = "payload";
    return made;
  }
  void start(Job made) {
    std::vector<Job> jobs;
    jobs.push_back(std::move(made));
    executor->execute(std::move(jobs));
  }
  // What became of one job, which must come back.
  Finished run(Job made) {
    const auto id = made.delivery.value;
    start(std::move(made));
    return wait(id);
  }
  Finished run(const std::string& type, const std::string& target) { return run(job(type, target)); }
  Finished wait(std::int64_t delivery) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::seconds(60), [&] { return finished_.contains(delivery); });
    EXPECT_TRUE(came) << "delivery " << delivery << " never came back";
    return came ? finished_.find(delivery)->second : Finished{};
  }
  std::size_t finished_count() {
    const std::lock_guard lock(mutex_);
    return finished_.size();
  }

  RecordingLog log;
  Metrics metrics;
  HostClock clock;
  Config config;
  std::shared_ptr<const GcsLinks> links;
  std::shared_ptr<LiveSecrets> secrets;
  PluginFolder folder;
  std::shared_ptr<const Templates> templates = std::make_shared<const Templates>();
  std::unique_ptr<Catalogue> catalogue;
  TransportSource transport;  // empty: the defaults; set before the first send
  std::unique_ptr<PluginSenderFactory> factory;

 private:
  // Until its process is there, or it is known that there will be none.
  void wait_for_process(const std::string& type) {
    EXPECT_TRUE(eventually([&] {
      return executor->state(type) != Executor::State::missing ||
             executor->refusal(type).find("is starting") == std::string::npos;
    })) << type;
  }
  void take(std::vector<Finished> batch) {
    const std::lock_guard lock(mutex_);
    for (auto& one : batch) {
      const auto id = one.job.delivery.value;
      EXPECT_TRUE(finished_.emplace(id, std::move(one)).second) << "delivery " << id << " came back twice";
    }
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Finished> finished_;
  std::int64_t last_delivery_ = 0;

 public:
  std::unique_ptr<Executor> executor;  // last: its threads end before what they use
};

}  // namespace waybill::testing
