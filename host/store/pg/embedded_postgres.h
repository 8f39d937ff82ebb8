// A private PostgreSQL in a folder: created, started and stopped by the host; shared by all processes that use the folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "telemetry/log.h"

namespace waybill {

// The server runs while any process holds such an object; the last one stops it. A watcher beside it does when the last one was
// killed. Durable (fsync on), unix socket only. Started by root, the server runs as the owner of the folder, or as user postgres
// if it makes a folder where none but root's are; nobody is taken anything away.
class EmbeddedPostgres {
 public:
  static Result<std::unique_ptr<EmbeddedPostgres>> start(const std::filesystem::path& given, Log& log);
  static bool is_in(const std::filesystem::path& folder);  // whether start() has made one there, or nobody may look
  ~EmbeddedPostgres();

  const std::string& url() const { return url_; }

 private:
  // An flock on a file; released when the process ends, however it ends.
  class Lock {
   public:
    static Result<Lock> take(const std::filesystem::path& file, int kind);
    Lock(Lock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    ~Lock();
    bool become_exclusive();
    void become_shared();  // waits for one who has it alone

   private:
    Lock() = default;
    int descriptor_ = -1;
  };

  EmbeddedPostgres(std::filesystem::path folder, std::filesystem::path programs, std::string url, Lock use, Log& log);
  std::filesystem::path folder_;
  std::filesystem::path programs_;
  std::string url_;
  Lock use_;  // shared, on <folder>/use.lock
  Log& log_;
};

}  // namespace waybill
