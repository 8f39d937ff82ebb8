// Trying again, and asking a second session who is in the way.
#include "store/pg/lock_wait.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "store/pg/lock_wait.sql.h"
#include "store/pg/sqlstate.h"

namespace waybill {
namespace {

constexpr auto kPause = std::chrono::seconds(1);
constexpr auto kLook = std::chrono::milliseconds(10);         // while a lock is waited for
constexpr auto kLookBeside = std::chrono::milliseconds(500);  // while nobody is held up; a look costs the server's lock table
constexpr auto kTellEvery = std::chrono::seconds(5);
constexpr const char* kBegin = "BEGIN; SET LOCAL lock_timeout = '50ms'; SET LOCAL statement_timeout = 0";

// While this lives, a session of its own looks at who blocks the backend `pid`.
class BlockerWatch {
 public:
  // Each look's finding is given to `see`, on a thread of its own.
  BlockerWatch(const DatabaseAddress& address, std::string pid, std::chrono::milliseconds pause, ReportWait see)
      : pause_(pause),
        see_(std::move(see)),
        thread_([this, address, pid = std::move(pid)](std::stop_token stop) { watch(stop, address, pid); }) {}

 private:
  void watch(std::stop_token stop, const DatabaseAddress& address, const std::string& pid) {
    auto connection = Connection::open(address, "lock-watch");
    while (connection && !stop.stop_requested()) {
      const auto rows = connection->run(sql::who_blocks, {pid});
      if (!rows) return;
      if (const auto blockers = rows->front().blockers()) see_(std::string(*blockers));
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, pause_, [] { return false; });
    }
  }

  std::chrono::milliseconds pause_;
  ReportWait see_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it uses all above
};

// Passes on what it is told, but not more often than every few seconds.
class Seldom {
 public:
  explicit Seldom(const ReportWait& report) : report_(report) {}
  void tell(const std::string& who) {
    const auto now = std::chrono::steady_clock::now();
    if (!report_ || who.empty() || now < next_) return;
    report_(who);
    next_ = now + kTellEvery;
  }

 private:
  const ReportWait& report_;
  std::chrono::steady_clock::time_point next_{};
};

Result<std::string> backend_pid(Connection& connection) {
  const auto rows = connection.run(sql::backend_pid);
  TRY(rows);
  return std::to_string(rows->front().pid());
}

Result<void> in_transaction(Connection& connection, const std::function<Result<void>()>& work) {
  TRY(connection.script(kBegin));
  auto done = work();
  const auto ended = connection.script(done ? "COMMIT" : "ROLLBACK");
  if (done && !ended) return tl::unexpected(ended.error());
  return done;
}

}  // namespace

Result<void> with_short_locks(Connection& connection, const DatabaseAddress& address, const std::function<Result<void>()>& work,
                              const ReportWait& report) {
  auto done = in_transaction(connection, work);
  if (done || !is_lock_timeout(done.error())) return done;
  const auto pid = backend_pid(connection);
  TRY(pid);
  Seldom seldom(report);
  while (!done && is_lock_timeout(done.error())) {
    std::string blockers;
    {
      const BlockerWatch watch(address, *pid, kLook, [&](const std::string& who) { blockers = who; });
      done = in_transaction(connection, work);
    }
    if (done || !is_lock_timeout(done.error())) return done;
    seldom.tell(blockers);
    std::this_thread::sleep_for(kPause);
  }
  return done;
}

Result<void> without_transaction(Connection& connection, const DatabaseAddress& address, const std::string& sql,
                                 const ReportWait& report) {
  const auto pid = backend_pid(connection);
  TRY(pid);
  Seldom seldom(report);
  const BlockerWatch watch(address, *pid, kLookBeside, [&](const std::string& who) { seldom.tell(who); });
  TRY(connection.script(sql));
  return {};
}

}  // namespace waybill
