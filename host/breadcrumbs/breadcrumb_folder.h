// The folder that the hosts of one installation on one machine share: their breadcrumbs, unexplained deaths, and the action types
// that were switched off.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "breadcrumbs/breadcrumb_file.h"

namespace waybill {

inline constexpr std::size_t kMaxUnexplainedDeaths = 3;  // within the time below; then the next start is careful
inline constexpr std::chrono::seconds kUnexplainedWithin{60};

// Safe from any thread and any number of processes.
class BreadcrumbFolder {
 public:
  // `base` as configured; "" for the default: $STATE_DIRECTORY, else next to the embedded database, else /var/lib/waybill for
  // root, else the user's state folder, else the user's own folder in /tmp. Created with mode 0700; refused if another user owns
  // it or may write to it. `installation` identifies the database, so that each has its own folder.
  struct Place {
    std::filesystem::path base;
    std::filesystem::path embedded;  // the embedded database's folder, or ""
    std::string installation;
  };
  static Result<std::unique_ptr<BreadcrumbFolder>> open(const Place& place);

  const std::filesystem::path& path() const { return path_; }
  Result<std::shared_ptr<BreadcrumbFile>> begin(BreadcrumbFile::Of whose);

  // Deaths since the last call by any process. The first reader of a crash outside of any delivery counts it. It switches an
  // action type off if that type was on trial, or if three hosts died within a minute inside it, outside of any delivery.
  std::vector<Death> new_deaths();
  // True after three unexplained deaths within a minute.
  bool is_careful() const;

  // True if it is switched off and its plugin file has not changed since.
  bool is_off(const std::string& action_type, const std::filesystem::path& plugin) const;
  // False: it was not switched off.
  bool switch_on(const std::string& action_type);
  std::vector<std::string> off() const;

 private:
  class Lock;
  explicit BreadcrumbFolder(std::filesystem::path path) : path_(std::move(path)) {}
  struct UnexplainedDeath {
    std::int64_t at_ms;
    std::string action_type;  // "-": inside no plugin
  };
  std::vector<UnexplainedDeath> unexplained() const;
  void write_unexplained(const std::vector<UnexplainedDeath>& deaths) const;
  void read_dead(const std::filesystem::path& file, bool is_news, std::vector<Death>& deaths);
  void judge(Death& death) const;
  void switch_off(const std::string& action_type) const;
  std::filesystem::path off_file(const std::string& action_type) const { return path_ / (action_type + ".off"); }

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::set<std::string> read_;  // guarded by mutex_; files whose deaths were returned
};

}  // namespace waybill
