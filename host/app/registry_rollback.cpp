// Copying, writing and exchanging the folder of the registry.
#include "app/registry_rollback.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <system_error>

#include "base/owned_descriptor.h"
#include "registry/registry_digest.h"
#include "registry/registry_file.h"
#include "registry/registry_history.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> fault(const std::string& what, const std::string& why) {
  return fail(Error::Kind::invalid, what + ": " + why);
}

// On disk when it returns, with the owner and the mode of the file that it replaces, or of a new one.
Result<void> write_file(const fs::path& file, const std::string& content) {
  struct stat was {};
  const bool is_there = ::lstat(file.c_str(), &was) == 0;
  if (is_there) ::unlink(file.c_str());  // where it is a link, what it leads to stays
  const OwnedDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (out.get() < 0) return fault(file.string(), std::strerror(errno));
  if (is_there && S_ISREG(was.st_mode)) static_cast<void>(::fchmod(out.get(), was.st_mode & 07777));
  for (std::size_t at = 0; at < content.size();) {
    const auto written = ::write(out.get(), content.data() + at, content.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fault(file.string(), std::strerror(errno));
    at += static_cast<std::size_t>(written);
  }
  if (::fsync(out.get()) != 0) return fault(file.string(), std::strerror(errno));
  return {};
}

// Whoever runs the command, the host reads its files as before: each is its owner's, a new one is the folder's owner's.
void give_to_owners(const fs::path& staged, const fs::path& folder) {
  struct stat of_folder {};
  if (::geteuid() != 0 || ::lstat(folder.c_str(), &of_folder) != 0) return;
  static_cast<void>(::lchown(staged.c_str(), of_folder.st_uid, of_folder.st_gid));
  std::error_code error;
  for (fs::recursive_directory_iterator at(staged, error), end; !error && at != end; at.increment(error)) {
    struct stat was {};
    const auto before = folder / at->path().lexically_relative(staged);
    const auto& owner = ::lstat(before.c_str(), &was) == 0 ? was : of_folder;
    static_cast<void>(::lchown(at->path().c_str(), owner.st_uid, owner.st_gid));
  }
}

// A link to a folder would lead from the copy back into what is in force.
Result<void> refuse_linked_folders(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unseen;
    if (at->is_symlink(unseen) && fs::is_directory(at->path(), unseen))
      return fault(at->path().string(),
                   "it is a link to a folder, which a rollback does not write to: restore that folder by hand");
  }
  if (error) return fault(folder.string(), error.message());
  return {};
}

// Deletes what a version would have, and this one has not.
Result<void> delete_others(const fs::path& staged, const RegistryFiles& files) {
  for (const auto& file : files_below(staged)) {
    const auto below = file.lexically_relative(staged);
    if (files.contains(below.generic_string())) continue;
    const auto text = read_text(file);
    if (!text || !is_kept(below, *text)) continue;
    std::error_code error;
    if (!fs::remove(file, error) && error) return fault(file.string(), error.message());
  }
  return {};
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

}  // namespace

Result<StagedRegistry> StagedRegistry::make(const fs::path& folder, const RegistryFiles& files) {
  std::error_code error;
  const auto place = fs::canonical(folder, error);
  if (error) return fault(folder.string(), error.message());
  TRY(refuse_linked_folders(place));
  StagedRegistry staged(place, place.string() + ".rollback-" + std::to_string(::getpid()));
  fs::copy(place, staged.path_, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  if (error) return fault("copying " + place.string() + " to " + staged.path_.string(), error.message());
  TRY(delete_others(staged.path_, files));
  for (const auto& [below, content] : files) {
    const auto file = staged.path_ / below;
    fs::create_directories(file.parent_path(), error);
    if (error) return fault(file.parent_path().string(), error.message());
    TRY(write_file(file, content));
  }
  give_to_owners(staged.path_, place);
  return staged;
}

Result<fs::path> StagedRegistry::put_in_place() {
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) != 0)
    return fault("exchanging " + folder_.string(), std::strerror(errno));
  const fs::path backup = folder_.string() + ".before-" + time_now() + "-" + std::to_string(::getpid());
  const auto old = std::exchange(path_, {});
  std::error_code error;
  fs::rename(old, backup, error);
  return error ? old : backup;
}

StagedRegistry::StagedRegistry(StagedRegistry&& other) noexcept
    : folder_(std::move(other.folder_)), path_(std::exchange(other.path_, {})) {}

StagedRegistry::~StagedRegistry() {
  std::error_code unseen;
  if (!path_.empty()) fs::remove_all(path_, unseen);
}

}  // namespace waybill
