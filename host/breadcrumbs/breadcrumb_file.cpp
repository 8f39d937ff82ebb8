// The file's layout, its writer and its reader.
#include "breadcrumbs/breadcrumb_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <type_traits>

namespace waybill {
namespace {

constexpr char kMagic[8] = {'w', 'b', 'c', 'r', 'u', 'm', 'b', '1'};
constexpr std::size_t kNameBytes = 64;

void copy(char (&to)[kNameBytes], std::string_view from) noexcept {
  const auto size = std::min(from.size(), kNameBytes - 1);
  std::memcpy(to, from.data(), size);
  std::memset(to + size, 0, kNameBytes - size);
}

// A file is a stranger's until it was read: its names need not end.
std::string text(const char (&from)[kNameBytes]) { return {from, strnlen(from, kNameBytes)}; }

std::string without_dashes(std::string id) {  // as systemd writes it
  std::erase(id, '-');
  return id;
}

// A service that sees processes only in /proc (ProcSubset=pid) is told by its unit.
std::string boot_id() {
  if (const char* told = std::getenv("WAYBILL_BOOT_ID"); told != nullptr && *told != '\0') return without_dashes(told);
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return without_dashes(std::move(id));
}

tl::unexpected<Error> failure(const std::filesystem::path& path, const char* what) {
  return fail(Error::Kind::unavailable, path.string() + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

namespace {

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::int32_t kExited = -1;
// A signal handler finds nothing but statics.
std::atomic<std::atomic<std::int32_t>*> noted_at{nullptr};
struct sigaction former[NSIG];

void note(std::int32_t what) {
  if (auto* const at = noted_at.load()) at->store(what);
}

// Notes the signal and lets it take its course: a fault comes again by itself, a signal that was sent is sent again. One that
// another process sent, as a service manager's watchdog does, is a kill and no crash.
void on_fatal(int number, siginfo_t* info, void*) {
  const bool is_kill = info->si_code <= 0 && info->si_pid != getpid();
  if (!is_kill) note(number);
  ::sigaction(number, &former[number], nullptr);
  if (info->si_code <= 0) ::raise(number);
}

}  // namespace

struct Breadcrumb::Line {
  std::atomic<std::int64_t> delivery;
  std::atomic<std::uint32_t> attempt;
  std::atomic<std::uint32_t> uncounted;
  std::atomic<std::uint32_t> losses;
  std::atomic<std::uint32_t> inside;
  char action_type[kNameBytes];
  char plugin[kNameBytes];
};

struct BreadcrumbFile::Map {
  char magic[8];
  std::int64_t pid;
  char boot[kNameBytes];
  std::uint32_t quarantine;
  std::atomic<std::int32_t> signal;
  char newest[kNameBytes];
  Breadcrumb::Line lines[kMaxBreadcrumbs];
};

Breadcrumb::~Breadcrumb() {
  if (file_) file_->free(line_);
}

void Breadcrumb::name(std::string_view action_type, std::string_view plugin) noexcept {
  if (line_ == nullptr) return;
  copy(line_->action_type, action_type);
  copy(line_->plugin, plugin);
}

void Breadcrumb::enter(const Trail& trail) noexcept {
  if (line_ == nullptr) return;
  line_->delivery.store(trail.delivery.value, std::memory_order_relaxed);
  line_->attempt.store(trail.attempt, std::memory_order_relaxed);
  line_->uncounted.store(trail.uncounted, std::memory_order_relaxed);
  line_->losses.store(trail.losses, std::memory_order_relaxed);
  line_->inside.store(1, std::memory_order_release);
}

void Breadcrumb::leave() noexcept {
  if (line_ != nullptr) line_->inside.store(0, std::memory_order_release);
}

Result<std::shared_ptr<BreadcrumbFile>> BreadcrumbFile::create(const std::filesystem::path& folder, Of whose) {
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::is_standard_layout_v<Map>);
  static std::atomic<int> number{0};
  const auto begun = std::chrono::system_clock::now().time_since_epoch() / std::chrono::microseconds(1);
  const auto path = folder / (std::to_string(begun) + "-" + std::to_string(getpid()) + "-" + std::to_string(++number) + ".crumb");
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return failure(path, "cannot be made");
  const auto give_up = [&](const char* what) {
    auto error = failure(path, what);
    ::unlink(path.c_str());
    ::close(descriptor);
    return error;
  };
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) return give_up("cannot be locked");
  // All of it is there from the beginning: a full disk must not become a signal later.
  if (const int error = ::posix_fallocate(descriptor, 0, sizeof(Map)); error != 0) {
    errno = error;
    return give_up("has no room");
  }
  void* at = ::mmap(nullptr, sizeof(Map), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return give_up("cannot be mapped");
  auto* map = static_cast<Map*>(at);
  map->pid = getpid();
  copy(map->boot, boot_id());
  map->quarantine = whose == Of::quarantine ? 1 : 0;
  std::memcpy(map->magic, kMagic, sizeof kMagic);
  return std::shared_ptr<BreadcrumbFile>(new BreadcrumbFile(path, descriptor, map));
}

BreadcrumbFile::BreadcrumbFile(std::filesystem::path path, int descriptor, Map* map)
    : path_(std::move(path)), descriptor_(descriptor), map_(map), taken_(kMaxBreadcrumbs) {}

void BreadcrumbFile::note_fatal_signals() {
  if (noted_at.exchange(&map_->signal) != nullptr) return;
  struct sigaction action {};
  action.sa_sigaction = &on_fatal;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (const int number : kFatal) ::sigaction(number, &action, &former[number]);
  std::atexit([] { note(kExited); });
}

BreadcrumbFile::~BreadcrumbFile() {
  auto* mine = &map_->signal;
  noted_at.compare_exchange_strong(mine, nullptr);
  ::munmap(map_, sizeof(Map));
  ::close(descriptor_);
}

Breadcrumb BreadcrumbFile::line(std::string_view action_type, std::string_view plugin) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find(taken_.begin(), taken_.end(), false);
  if (place == taken_.end()) return {};
  *place = true;
  Breadcrumb crumb(shared_from_this(), &map_->lines[place - taken_.begin()]);
  crumb.name(action_type, plugin);
  return crumb;
}

void BreadcrumbFile::free(Breadcrumb::Line* line) {
  line->inside.store(0, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  taken_[static_cast<std::size_t>(line - map_->lines)] = false;
}

void BreadcrumbFile::on_trial(std::string_view action_type) {
  const std::lock_guard lock(mutex_);
  copy(map_->newest, action_type);
}

void BreadcrumbFile::remove() { ::unlink(path_.c_str()); }

std::optional<Death> read_breadcrumbs(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || static_cast<std::size_t>(status.st_size) != sizeof(BreadcrumbFile::Map)) return {};
  void* at = ::mmap(nullptr, sizeof(BreadcrumbFile::Map), PROT_READ, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return {};
  const auto unmap = [](const void* map) { ::munmap(const_cast<void*>(map), sizeof(BreadcrumbFile::Map)); };
  const std::unique_ptr<const void, decltype(unmap)> mapped(at, unmap);
  const auto& map = *static_cast<const BreadcrumbFile::Map*>(at);
  if (std::memcmp(map.magic, kMagic, sizeof kMagic) != 0) return {};
  Death death{.pid = map.pid,
              .is_news = false,
              .signal = map.signal.load(),
              .same_boot = without_dashes(text(map.boot)) == boot_id(),
              .quarantine = map.quarantine != 0,
              .inside = {},
              .newest = text(map.newest),
              .switched_off = {}};
  for (const auto& line : map.lines) {
    if (line.inside.load() == 0) continue;
    Death::Inside inside{{{line.delivery.load()}, line.attempt.load(), line.uncounted.load(), line.losses.load()},
                         text(line.action_type),
                         text(line.plugin)};
    if (std::find(death.inside.begin(), death.inside.end(), inside) == death.inside.end())
      death.inside.push_back(std::move(inside));
  }
  return death;
}

}  // namespace waybill
