// Entries by the journal's native protocol.
#include "telemetry/journal.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION  // the place in this file says nothing
#include <systemd/sd-journal.h>

#include <cstdlib>
#include <vector>

namespace waybill {
namespace {

constexpr std::size_t kMaxName = 64;
constexpr auto kSocket = "/run/systemd/journal/socket";

int priority(Log::Level level) {
  switch (level) {
    case Log::Level::debug:
      return LOG_DEBUG;
    case Log::Level::info:
      return LOG_INFO;
    case Log::Level::warn:
      return LOG_WARNING;
    case Log::Level::error:
      return LOG_ERR;
  }
  return LOG_ERR;
}

}  // namespace

bool is_standard_error_the_journal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat file {};
  if (stream == nullptr || fstat(STDERR_FILENO, &file) != 0) return false;
  return stream == std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
}

std::string journal_name(std::string_view key) {
  std::string name = "WAYBILL_";
  for (const char letter : key.substr(0, kMaxName - name.size())) {
    const bool is_small = letter >= 'a' && letter <= 'z';
    const bool is_kept = (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9');
    name += is_small ? static_cast<char>(letter - 'a' + 'A') : is_kept ? letter : '_';
  }
  return name;
}

bool write_to_journal(Log::Level level, std::string_view event, std::span<const Field> fields, const std::string& text) {
  if (access(kSocket, W_OK) != 0) return false;  // sd_journal_sendv() would take it for written
  std::vector<std::string> entry{"MESSAGE=" + text, "PRIORITY=" + std::to_string(priority(level)), "SYSLOG_IDENTIFIER=waybill",
                                 "WAYBILL_EVENT=" + std::string(event)};
  for (const auto& field : fields) entry.push_back(journal_name(field.key == "event" ? "event_" : field.key) + "=" + field.value);
  std::vector<iovec> parts;
  for (auto& line : entry) parts.push_back({line.data(), line.size()});
  return sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

}  // namespace waybill
