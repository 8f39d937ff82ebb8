// The breadcrumbs of a running host, in a small mapped file: the delivery that each strand is inside a plugin with. The file
// survives the process, not a crash of the machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "domain/history.h"

namespace waybill {

inline constexpr std::size_t kMaxBreadcrumbs = 1024;  // strands of one host; further ones leave no breadcrumb

// An attempt as a breadcrumb records it. Delivery 0: for no delivery, such as a plugin's create.
struct Trail {
  DeliveryId delivery;
  std::uint32_t attempt = 0;
  std::uint32_t uncounted = 0;  // earlier attempts that did not count
  std::uint32_t losses = 0;     // deaths charged to the delivery before
  bool operator==(const Trail&) const = default;
  // Earlier attempts that counted. While this is unchanged, no attempt of the delivery has completed since.
  std::uint32_t counted() const { return attempt - 1 - uncounted; }
};

inline Trail trail_of(DeliveryId delivery, const History& before) {
  return {delivery, before.attempt_count + 1, before.uncounted, before.lease_lost};
}

class BreadcrumbFile;

// One strand's line in the file: a few plain stores around each entry into its plugin. One thread at a time.
class Breadcrumb {
 public:
  struct Line;  // in the mapped file

  Breadcrumb() = default;  // records nothing
  Breadcrumb(Breadcrumb&&) noexcept = default;
  Breadcrumb& operator=(Breadcrumb&&) = delete;
  ~Breadcrumb();

  void name(std::string_view action_type, std::string_view plugin) noexcept;  // cut to 63 bytes; not while inside
  void enter(const Trail& trail) noexcept;
  void leave() noexcept;

 private:
  friend class BreadcrumbFile;
  Breadcrumb(std::shared_ptr<BreadcrumbFile> file, Line* line) : file_(std::move(file)), line_(line) {}
  std::shared_ptr<BreadcrumbFile> file_;
  Line* line_ = nullptr;
};

// What the file of a dead host says.
struct Death {
  struct Inside {
    Trail trail;
    std::string action_type, plugin;
    bool operator==(const Inside&) const = default;
  };
  std::int64_t pid = 0;
  bool is_news = false;     // read for the first time
  int signal = 0;           // the fatal signal; -1: it called exit; 0: unknown, such as a kill from outside
  bool same_boot = true;    // false: the machine went down, which is no plugin's fault
  bool quarantine = false;  // the process was the quarantine
  std::vector<Inside> inside;
  std::string newest;        // the action type on trial: started last, one by one; or ""
  std::string switched_off;  // the action type switched off because of this death; or ""
};

// The writing side. Safe from any thread; each Breadcrumb belongs to one.
class BreadcrumbFile : public std::enable_shared_from_this<BreadcrumbFile> {
 public:
  enum class Of { host, quarantine };
  // The caller holds the folder's lock, so that no process takes the file for a dead host's before it is locked.
  static Result<std::shared_ptr<BreadcrumbFile>> create(const std::filesystem::path& folder, Of whose);
  ~BreadcrumbFile();
  BreadcrumbFile(const BreadcrumbFile&) = delete;
  BreadcrumbFile& operator=(const BreadcrumbFile&) = delete;

  Breadcrumb line(std::string_view action_type, std::string_view plugin);
  void on_trial(std::string_view action_type);  // the action type that started last, one by one; "" when all have started
  // Records fatal signals and calls of exit from now on, in one file per process; earlier handlers still run.
  void note_fatal_signals();
  // For an orderly end: deletes the file.
  void remove();

  const std::filesystem::path& path() const { return path_; }

 private:
  friend class Breadcrumb;
  friend std::optional<Death> read_breadcrumbs(int descriptor);
  struct Map;
  BreadcrumbFile(std::filesystem::path path, int descriptor, Map* map);
  void free(Breadcrumb::Line* line);

  const std::filesystem::path path_;
  const int descriptor_;  // locked while the process lives
  Map* const map_;
  std::mutex mutex_;
  std::vector<bool> taken_;  // guarded by mutex_
};

// Reads the file of a dead process; none if it is not such a file. The caller has locked it.
std::optional<Death> read_breadcrumbs(int descriptor);

}  // namespace waybill
