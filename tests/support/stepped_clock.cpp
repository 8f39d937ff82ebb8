// A file of eight bytes, mapped here and by every process of the server.
#include "support/stepped_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

#include "support/process.h"

namespace waybill::testing {
namespace {
constexpr auto kLibrary = "clock.so", kFile = "offset";
}

SteppedClock::SteppedClock() {
  std::filesystem::copy_file(WAYBILL_STEPPED_CLOCK, folder_.path() / kLibrary);  // the server's user may not see the build
  const auto file = folder_.path() / kFile;
  write_file(file, std::string(sizeof *offset_, '\0'));
  if (const auto user = database_user())
    for (const auto& path : {folder_.path(), folder_.path() / kLibrary, file})
      if (::chown(path.c_str(), user->first, user->second) != 0) throw std::runtime_error("chown failed");
  const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped = fd < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof *offset_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) ::close(fd);
  if (mapped == MAP_FAILED) throw std::runtime_error("cannot map " + file.string());
  offset_ = static_cast<std::int64_t*>(mapped);
}

SteppedClock::~SteppedClock() { ::munmap(offset_, sizeof *offset_); }

std::map<std::string, std::string> SteppedClock::environment() const {
  return {{"LD_PRELOAD", folder_.path() / kLibrary}, {"STEPPED_CLOCK_FILE", folder_.path() / kFile}};
}

void SteppedClock::step(std::chrono::milliseconds by) {
  __atomic_add_fetch(offset_, std::chrono::microseconds(by).count(), __ATOMIC_SEQ_CST);
}

std::chrono::microseconds SteppedClock::offset() const {
  return std::chrono::microseconds(__atomic_load_n(offset_, __ATOMIC_SEQ_CST));
}

}  // namespace waybill::testing
