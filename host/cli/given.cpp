// Reads who runs a command, and the files that it names.
#include "cli/given.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

namespace waybill {

std::string actor_of(const std::string& said) {
  if (!said.empty()) return said;
  if (const char* behind = std::getenv("SUDO_USER"); behind != nullptr && *behind != '\0') return behind;
  const passwd* user = getpwuid(geteuid());
  return user != nullptr ? user->pw_name : "user " + std::to_string(geteuid());
}

Result<std::string> read_whole(const std::string& name) {
  if (name == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream in(name, std::ios::binary);
  if (!in) return fail(Error::Kind::invalid, "cannot read " + name);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace waybill
