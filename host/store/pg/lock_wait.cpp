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
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kTellEvery = std::chrono::seconds(5);
constexpr const char* kBegin = "BEGIN; SET LOCAL lock_timeout = '500ms'; SET LOCAL statement_timeout = 0";

// While this lives, a session of its own looks at who blocks the backend `pid`.
class BlockerWatch {
 public:
  BlockerWatch(const DatabaseAddress& address, std::string pid)
      : thread_([this, address, pid = std::move(pid)](std::stop_token stop) { watch(stop, address, pid); }) {}

  std::string blockers() {
    const std::lock_guard lock(mutex_);
    return blockers_;
  }

 private:
  void watch(std::stop_token stop, const DatabaseAddress& address, const std::string& pid) {
    auto connection = Connection::open(address, "lock-watch");
    while (connection && !stop.stop_requested()) {
      const auto rows = connection->run(sql::who_blocks, {pid});
      if (!rows) return;
      std::unique_lock lock(mutex_);
      if (const auto blockers = rows->front().blockers()) blockers_ = *blockers;
      changed_.wait_for(lock, stop, kLook, [] { return false; });
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string blockers_;
  std::jthread thread_;  // last: it uses all above
};

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
  const auto pid = connection.run(sql::backend_pid);
  TRY(pid);
  auto next_word = std::chrono::steady_clock::now();
  while (!done && is_lock_timeout(done.error())) {
    BlockerWatch watch(address, std::to_string(pid->front().pid()));
    done = in_transaction(connection, work);
    if (done || !is_lock_timeout(done.error())) return done;
    const auto now = std::chrono::steady_clock::now();
    if (const auto who = watch.blockers(); report && !who.empty() && now >= next_word) {
      report(who);
      next_word = now + kTellEvery;
    }
    std::this_thread::sleep_for(kPause);
  }
  return done;
}

}  // namespace waybill
