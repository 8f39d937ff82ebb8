// The folder that the hosts of one installation on one machine share: their trails, deaths without a culprit, and the action
// types that were switched off for them.
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

inline constexpr std::size_t kMaxUnexplainedDeaths = 3;  // so many within the time below, and the next start is a careful one
inline constexpr std::chrono::seconds kUnexplainedWithin{60};

// Safe from any thread and any number of processes.
class BreadcrumbFolder {
 public:
  // `base` as configured; "" for the default place: $STATE_DIRECTORY, else beside the embedded database, else /var/lib/waybill
  // for root, else the user's state folder, else one of the user's own in /tmp. Made with mode 0700 where it is missing; refused
  // where somebody else owns it or may write to it. `installation` names the database, so that others have other folders.
  struct Place {
    std::filesystem::path base;
    std::filesystem::path embedded;  // the embedded database's folder, or ""
    std::string installation;
  };
  static Result<std::unique_ptr<BreadcrumbFolder>> open(const Place& place);

  const std::filesystem::path& path() const { return path_; }
  Result<std::shared_ptr<BreadcrumbFile>> begin(BreadcrumbFile::Of whose);

  // Hosts that have died since the last call, of this or of another process. Whoever reads of one first counts it, if it was
  // a crash that names nobody, and has an action type switched off: one that was on trial, or inside of which on nobody's behalf
  // three hosts died in a minute.
  std::vector<Death> new_deaths();
  // True after three deaths within a minute that name nobody.
  bool is_careful() const;

  // True if it is switched off, and its plugin file is the one of then.
  bool is_off(const std::string& action_type, const std::filesystem::path& plugin) const;
  // False: it was not switched off.
  bool switch_on(const std::string& action_type);
  std::vector<std::string> off() const;

 private:
  class Lock;
  explicit BreadcrumbFolder(std::filesystem::path path) : path_(std::move(path)) {}
  struct UnexplainedDeath {
    std::int64_t at_ms;
    std::string action_type;  // "-": nobody was inside
  };
  std::vector<UnexplainedDeath> unexplained() const;
  void write_unexplained(const std::vector<UnexplainedDeath>& deaths) const;
  void read_dead(const std::filesystem::path& file, bool is_news, std::vector<Death>& deaths);
  void judge(Death& death) const;
  void switch_off(const std::string& action_type) const;
  std::filesystem::path off_file(const std::string& action_type) const { return path_ / (action_type + ".off"); }

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::set<std::string> read_;  // guarded by mutex_; files of the dead that were answered
};

}  // namespace waybill
