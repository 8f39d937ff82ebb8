// The exported names of a file that claims to be a shared library.
#include "elf_symbols.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace waybill;
  static const int file = memfd_create("library", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  fuzz::promise(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == static_cast<ssize_t>(size), "the file is written");
  const auto names = conformance::exported_symbols(path);
  if (!names) {
    fuzz::promise(!names.error().empty(), "a refused file has a reason");
    return 0;
  }
  fuzz::promise(std::is_sorted(names->begin(), names->end()), "names are sorted");
  fuzz::promise(names->size() * sizeof(Elf64_Sym) <= size, "there are no more names than the file has room for symbols");
  for (const auto& name : *names) fuzz::promise(name.find('\0') == std::string::npos, "a name ends at its NUL");
  return 0;
}
