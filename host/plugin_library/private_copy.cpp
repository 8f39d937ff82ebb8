// A plugin's bytes, copied into an anonymous file (memfd) and sealed.
#include "plugin_library/private_copy.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/owned_descriptor.h"

namespace waybill {
namespace {

#ifndef MFD_EXEC
constexpr unsigned kMayRun = 0x0010;  // MFD_EXEC, since Linux 6.3
#else
constexpr unsigned kMayRun = MFD_EXEC;
#endif
constexpr std::size_t kMaxMemoryName = 240;  // bytes; the kernel takes 249

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(Error::Kind::unavailable, what + ": " + std::generic_category().message(errno));
}

int memory_file(const std::string& name) {
  const auto flags = static_cast<unsigned>(MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const int with_right = memfd_create(name.c_str(), flags | kMayRun);
  return with_right >= 0 || errno != EINVAL ? with_right : memfd_create(name.c_str(), flags);
}

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = write(to, bytes.data(), bytes.size());
    if (size < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace

Result<int> private_copy_descriptor(const std::filesystem::path& file) {
  const OwnedDescriptor from(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (from.get() < 0) return refuse("it cannot be read");
  OwnedDescriptor copy(memory_file(file.string().substr(0, kMaxMemoryName)));
  if (copy.get() < 0) return refuse("no memory of its own");
  static constexpr std::string_view kOrigin[] = {"$ORIGIN", "${ORIGIN}"};
  std::array<char, 1 << 16> buffer{};
  std::string end_of_last;
  for (;;) {
    const auto size = read(from.get(), buffer.data(), buffer.size());
    if (size < 0) return refuse("it cannot be read");
    if (size == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
    if (!write_all(copy.get(), bytes)) return refuse("it cannot be copied");
    end_of_last.append(bytes);
    for (const auto word : kOrigin)
      if (end_of_last.find(word) != std::string::npos)
        return fail(Error::Kind::invalid, "it finds libraries by " + std::string(word) + ", where it lies");
    end_of_last.erase(0, end_of_last.size() - std::min(end_of_last.size(), kOrigin[1].size()));
  }
  fcntl(copy.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return copy.release();
}

Result<std::filesystem::path> private_copy(const std::filesystem::path& file) {
  const auto copy = private_copy_descriptor(file);
  TRY(copy);
  // Never closed: the next copy would get this number, and the loader, which goes by names, would take it for this library.
  return std::filesystem::path("/proc/self/fd") / std::to_string(*copy);
}

void name_library(void* library, const std::filesystem::path& file) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return;
  // The old name stays in front of the new one: nothing else points to it, and a search for leaks would find it.
  const auto& path = file.native();
  auto* const block = static_cast<char*>(std::malloc(sizeof(char*) + path.size() + 1));
  if (block == nullptr) return;
  std::memcpy(block, &map->l_name, sizeof(char*));
  std::memcpy(block + sizeof(char*), path.c_str(), path.size() + 1);
  map->l_name = block + sizeof(char*);  // lives as long as the library: for ever
}

}  // namespace waybill
