// What keeps the living hosts from taking a delivery, by what each says of itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/host_report.h"

namespace waybill {

struct BlockedReason {
  // done, waiting, claimed, host_dead, target_rests, target_paused, plugin_missing, switched_off, suspect, half_open, capped,
  // rate, no_host, host_silent, host_drained, draining, claims_nothing, no_able_host, due; of a form's submission also
  // not_finalized, waiting_for_scans, running, and of its actions waiting_for_turn
  std::string code;
  std::string text;
};

// True if a living host has said of itself what it can do: then no guess is needed from what is on this machine.
bool is_told(const Explanation& e);
// Why none of the living hosts would take a delivery of this action type now; no value if one would, as far as is known. One that
// has just begun and has said nothing yet is no answer: what the others say holds, and nothing if there are none. The code is
// theirs if all have the same, else no_able_host.
std::optional<BlockedReason> why_nobody(const Explanation& e, const std::string& action_type);
// That the bodies in flight are the limit on each host that says so; "" if not.
std::string why_no_room_for_bodies(const Explanation& e);
std::vector<PluginInUse> plugins_in_use(const std::vector<LivingHost>& hosts);

// "" or, of a host that holds its lock and has said nothing for long: how long.
std::string silence_of(const Explanation& e, const std::string& host_name);

}  // namespace waybill
