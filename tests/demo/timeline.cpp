// Reads the host's timestamps and prints lines.
#include "demo/timeline.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace waybill::testing {

double seconds_between(const std::string& from, const std::string& to) {
  const auto parse = [](const std::string& text) {
    tm utc{};
    const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
    return static_cast<double>(timegm(&utc)) + (rest ? std::atof(rest) : 0.0);
  };
  return parse(to) - parse(from);
}

void print_moment(const std::string& begin, const std::string& at, const std::string& what) {
  std::printf("       %+8.3f s  %s\n", seconds_between(begin, at), what.c_str());
}

void print_title(bool good, const std::string& id, const std::string& target, const std::string& status,
                 const std::string& tale) {
  std::printf("%s %-18s %-15s %s (%s)\n", good ? "ok  " : "BAD ", id.c_str(), target.c_str(), status.c_str(), tale.c_str());
}

}  // namespace waybill::testing
