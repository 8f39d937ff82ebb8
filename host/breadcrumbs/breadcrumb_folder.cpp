// Plain files under one lock: the folder's processes are few, and deaths are rare.
#include "breadcrumbs/breadcrumb_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "domain/idempotency.h"

namespace waybill {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::minutes kKept{10};

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path default_base(const fs::path& embedded) {
  if (const auto given = from_environment("STATE_DIRECTORY"); !given.empty())
    return fs::path(given.substr(0, given.find(':'))) / "breadcrumbs";
  if (!embedded.empty()) return embedded.lexically_normal().string() + ".breadcrumbs";
  if (geteuid() == 0) return "/var/lib/waybill/breadcrumbs";
  if (const auto state = from_environment("XDG_STATE_HOME"); !state.empty()) return fs::path(state) / "waybill/breadcrumbs";
  const fs::path home = from_environment("HOME");
  if (!home.empty() && ::access(home.c_str(), W_OK) == 0) return home / ".local/state/waybill/breadcrumbs";
  return "/tmp/waybill-" + std::to_string(geteuid());
}

// Made if it is missing, with its parents; ours alone to write to.
Result<void> own_folder(const fs::path& path) {
  const auto refuse = [&](const std::string& why) {
    return fail(Error::Kind::invalid, "breadcrumbs: " + path.string() + " " + why);
  };
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return refuse(std::string("cannot be made: ") + std::strerror(errno));
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return refuse("is no folder");
  if (status.st_uid != geteuid()) return refuse("belongs to another user: name another one (breadcrumbs), or chown it");
  if ((status.st_mode & 022) != 0) return refuse("may be written to by others: chmod 700");
  return {};
}

bool is_action_type(std::string_view name) {
  return !name.empty() && name.size() < 64 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

}  // namespace

// Held by whoever changes what the folder holds; gone with its process.
class BreadcrumbFolder::Lock {
 public:
  explicit Lock(const fs::path& folder)
      : descriptor_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool held() const { return descriptor_ >= 0; }

 private:
  const int descriptor_;
};

Result<std::unique_ptr<BreadcrumbFolder>> BreadcrumbFolder::open(const Place& place) {
  const fs::path base = place.base.empty() ? default_base(place.embedded) : place.base;
  TRY(own_folder(base));
  const fs::path folder = base / to_hex(as_view(sha256(place.installation))).substr(0, 16);
  TRY(own_folder(folder));
  return std::unique_ptr<BreadcrumbFolder>(new BreadcrumbFolder(folder));
}

Result<std::shared_ptr<BreadcrumbFile>> BreadcrumbFolder::begin(BreadcrumbFile::Of whose) {
  const Lock lock(path_);
  if (!lock.held()) return fail(Error::Kind::unavailable, "breadcrumbs: " + path_.string() + " cannot be locked");
  return BreadcrumbFile::create(path_, whose);
}

// A file is kept for a while after its process: other hosts here may be the ones who take back what the dead one held.
std::vector<Death> BreadcrumbFolder::new_deaths() {
  std::vector<Death> deaths;
  const std::lock_guard guard(mutex_);
  const Lock lock(path_);
  if (!lock.held()) return deaths;
  std::vector<fs::path> trails, dead;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    if (entry.path().extension() == ".crumb") trails.push_back(entry.path());
    if (entry.path().extension() == ".dead") dead.push_back(entry.path());
  }
  for (const auto& file : dead) {
    if (fs::file_time_type::clock::now() - fs::last_write_time(file, error) > kKept)
      read_.erase(file.filename().string()), fs::remove(file, error);
    else
      read_dead(file, false, deaths);
  }
  for (const auto& file : trails) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) continue;
    const bool is_dead = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;  // else its process lives
    ::close(descriptor);
    if (!is_dead) continue;
    auto renamed = file;
    renamed.replace_extension(".dead");
    fs::rename(file, renamed, error);
    fs::last_write_time(renamed, fs::file_time_type::clock::now(), error);
    read_dead(renamed, true, deaths);
  }
  return deaths;
}

void BreadcrumbFolder::read_dead(const fs::path& file, bool is_news, std::vector<Death>& deaths) {
  if (!read_.insert(file.filename().string()).second) return;
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return;
  auto death = read_breadcrumbs(descriptor);
  ::close(descriptor);
  if (!death) return;
  death->is_news = is_news;
  if (is_news) judge(*death);
  deaths.push_back(std::move(*death));
}

// Deaths that name a delivery are that delivery's affair. Who kills a host from outside, or with its machine, proves nothing
// against an action type. The quarantine has its own rule.
void BreadcrumbFolder::judge(Death& death) const {
  const auto names_one = [](const Death::Inside& inside) { return inside.trail.delivery.value != 0; };
  if (!death.same_boot || death.signal == 0 || death.quarantine ||
      std::any_of(death.inside.begin(), death.inside.end(), names_one))
    return;
  auto deaths = unexplained();
  const std::string type = death.inside.empty() ? "-" : death.inside.front().action_type;
  deaths.push_back({now_ms(), type});
  const auto of_type =
      std::count_if(deaths.begin(), deaths.end(), [&](const UnexplainedDeath& one) { return one.action_type == type; });
  if (type == "-" || type == death.newest)
    death.switched_off = death.newest;
  else if (static_cast<std::size_t>(of_type) >= kMaxUnexplainedDeaths)
    death.switched_off = type;
  if (!is_action_type(death.switched_off)) death.switched_off.clear();
  if (!death.switched_off.empty()) {
    switch_off(death.switched_off);
    deaths.clear();
  }
  write_unexplained(deaths);
}

std::vector<BreadcrumbFolder::UnexplainedDeath> BreadcrumbFolder::unexplained() const {
  std::vector<UnexplainedDeath> recent;
  std::ifstream in(path_ / "deaths");
  const auto since = now_ms() - std::chrono::milliseconds(kUnexplainedWithin).count();
  for (UnexplainedDeath one; in >> one.at_ms >> one.action_type;)
    if (one.at_ms >= since) recent.push_back(one);
  return recent;
}

void BreadcrumbFolder::write_unexplained(const std::vector<UnexplainedDeath>& deaths) const {
  const auto fresh = path_ / "deaths.new";
  {
    std::ofstream out(fresh);
    for (const auto& one : deaths) out << one.at_ms << ' ' << one.action_type << '\n';
  }
  std::error_code error;
  fs::rename(fresh, path_ / "deaths", error);
}

bool BreadcrumbFolder::is_careful() const { return unexplained().size() >= kMaxUnexplainedDeaths; }

void BreadcrumbFolder::switch_off(const std::string& action_type) const {
  std::ofstream(off_file(action_type)) << now_ms() << '\n';
}

bool BreadcrumbFolder::is_off(const std::string& action_type, const fs::path& plugin) const {
  if (!is_action_type(action_type)) return false;
  struct stat off {
  }, file{};
  if (::stat(off_file(action_type).c_str(), &off) != 0) return false;
  if (::stat(plugin.c_str(), &file) != 0) return true;
  // Copying or renaming a file into its place sets its time of change, whatever the file's own dates are.
  const auto nanoseconds = [](const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return nanoseconds(file.st_ctim) <= nanoseconds(off.st_mtim);
}

bool BreadcrumbFolder::switch_on(const std::string& action_type) {
  return is_action_type(action_type) && ::unlink(off_file(action_type).c_str()) == 0;
}

std::vector<std::string> BreadcrumbFolder::off() const {
  std::vector<std::string> types;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error))
    if (entry.path().extension() == ".off") types.push_back(entry.path().stem().string());
  std::sort(types.begin(), types.end());
  return types;
}

}  // namespace waybill
