// Who runs a command, as the system knows it.
#include "cli/caller.h"

#include <pwd.h>
#include <unistd.h>

#include "base/utf8.h"

namespace waybill {

std::string this_machine() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string caller() {
  constexpr std::size_t kMostBytes = 200;
  const auto* found = getpwuid(getuid());
  return clean_text((found ? found->pw_name : std::to_string(getuid())) + std::string("@") + this_machine(), kMostBytes);
}

}  // namespace waybill
