// `waybill check --online`: what only a question to the outside can tell. Nothing is sent, claimed or changed, and each question
// ends within some seconds.
#pragma once

#include "cli/asking.h"
#include "cli/finding.h"

namespace waybill {

// The database: reachable, version of the schema, rights, settings, room for the host's sessions, what holds up vacuum.
Findings check_database_online(const Config& config, Log& log);
// The key for links, the relays of senders, and all targets: by their plugin's probe, or else by a connection.
Findings check_outside(ProviderOptions& asking);

}  // namespace waybill
