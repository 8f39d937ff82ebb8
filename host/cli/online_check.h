// `waybill check --online`: what only a question to the outside can tell. Nothing is sent, claimed or changed, and each question
// ends within some seconds.
#pragma once

#include <string>
#include <vector>

#include "cli/asking.h"

namespace waybill {

struct Finding {
  enum class Level { ok, warning, problem } level;
  std::string what;     // "database", "relay of email_raw", "target sms.otp"
  std::string message;  // what was found
  std::string remedy;   // what to do about it; "" for ok
};
using Findings = std::vector<Finding>;

// The database: reachable, version of the schema, rights, settings, room for the host's sessions, what holds up vacuum.
Findings check_database_online(const Config& config, Log& log);
// The key for links, the relays of senders, and all targets: by their plugin's probe, or else by a connection.
Findings check_outside(ProviderOptions& asking);

const char* word_of(Finding::Level level);

}  // namespace waybill
