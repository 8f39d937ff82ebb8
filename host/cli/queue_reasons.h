// Why a delivery in the queue is where it is, in the words of `waybill explain`.
#pragma once

#include <string>

#include "app/installation.h"
#include "cli/living_hosts.h"

namespace waybill {

// Of one that has not ended. What living hosts say of themselves counts before what is on this machine.
BlockedReason why_unfinished(const Explanation& e, const QueuePosition& position, const Config& config,
                             const Catalogue& catalogue);

// Why this machine's hosts do not run an action type; "" if they do.
std::string closed_here(const Config& config, const Catalogue& catalogue, const std::string& action_type);
// That the plugins on this machine have no such action type, and which files were refused.
std::string no_plugin(const Config& config, const Catalogue& catalogue, const std::string& action_type);

}  // namespace waybill
