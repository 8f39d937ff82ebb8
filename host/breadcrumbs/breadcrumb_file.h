// The trail that a running host leaves in a small mapped file: which delivery each strand is inside a plugin with. It survives
// the process, not the machine.
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

namespace waybill {

inline constexpr std::size_t kMaxBreadcrumbs = 1024;  // strands of one host that can be named; further ones leave no trail

// An attempt as its trail names it. Delivery 0: on nobody's behalf, as a plugin's create is.
struct Trail {
  DeliveryId delivery;
  std::uint32_t attempt = 0;
  std::uint32_t uncounted = 0;  // earlier ones that did not count
  std::uint32_t losses = 0;     // deaths that counted against the delivery before
  bool operator==(const Trail&) const = default;
  // Attempts before it whose end was seen and counted: as long as this stays, the delivery has not lived through another one.
  std::uint32_t counted() const { return attempt - 1 - uncounted; }
};

class BreadcrumbFile;

// One strand's line in the file: a few plain stores around each entry into its plugin. One thread at a time.
class Breadcrumb {
 public:
  struct Line;  // in the mapped file

  Breadcrumb() = default;  // leaves no trail
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

// What somebody who finds the file of a dead host reads in it.
struct Death {
  struct Inside {
    Trail trail;
    std::string action_type, plugin;
    bool operator==(const Inside&) const = default;
  };
  std::int64_t pid = 0;
  bool is_news = false;   // nobody has read it before
  int signal = 0;         // that ended it; -1: it called exit; 0: nothing that it could note, as when it was killed from outside
  bool same_boot = true;  // false: the machine went down, which is no plugin's fault
  bool quarantine = false;  // it tried suspects
  std::vector<Inside> inside;
  std::string newest;        // the action type on trial: started last, one by one; or ""
  std::string switched_off;  // the action type that this death had switched off; or ""
};

// The writer's side. Safe from any thread; each Breadcrumb belongs to one.
class BreadcrumbFile : public std::enable_shared_from_this<BreadcrumbFile> {
 public:
  enum class Of { host, quarantine };
  // The caller holds the folder's lock, so that nobody takes the file for a dead host's before it is locked.
  static Result<std::shared_ptr<BreadcrumbFile>> create(const std::filesystem::path& folder, Of whose);
  ~BreadcrumbFile();
  BreadcrumbFile(const BreadcrumbFile&) = delete;
  BreadcrumbFile& operator=(const BreadcrumbFile&) = delete;

  Breadcrumb line(std::string_view action_type, std::string_view plugin);
  void on_trial(std::string_view action_type);  // the action type that began last, one by one; "" when all have
  // From now on fatal signals and calls of exit are noted here, in one file of the process; what was set up for them before goes
  // on.
  void note_fatal_signals();
  // An orderly end: there is nothing to be found.
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

// What the file of a process that is dead says; none if it is no such file. Locked by the caller.
std::optional<Death> read_breadcrumbs(int descriptor);

}  // namespace waybill
