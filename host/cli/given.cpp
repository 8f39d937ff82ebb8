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

GivenLines::GivenLines(const std::string& name) : name_(name) {
  if (name != "-") file_.open(name, std::ios::binary);
}
bool GivenLines::is_open() const { return name_ == "-" || file_.is_open(); }
std::istream& GivenLines::lines() { return name_ == "-" ? std::cin : file_; }
std::string GivenLines::name() const { return name_ == "-" ? "standard input" : name_; }

}  // namespace waybill
