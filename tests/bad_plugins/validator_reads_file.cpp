// Looks into a file for an answer, and closes it again.
#include <fcntl.h>
#include <unistd.h>

#include "poster.h"

namespace {
std::int32_t check(wb_str, wb_report, void*) {
  const int file = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
  char name[64];
  const auto size = read(file, name, sizeof name);
  close(file);
  return size < -1 ? 1 : 0;
}
constexpr wb_action action() {
  auto made = kit::action("validator_reads_file", &kit::create<kit::Poster>);
  made.validate_destination = &check;
  return made;
}
}  // namespace

KIT_PLUGIN_OF(action(), "validator_reads_file");
