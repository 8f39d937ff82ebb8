// What a host says of itself, for who looks after the installation: host/app/host_facts.cpp writes it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/submissions/read_store.h"

namespace waybill {

inline constexpr Seconds kHostSilent{15};  // a host says what it does once a second

// Which plugin a host uses for an action type, and which others still finish what they have.
struct PluginInUse {
  std::string host, action_type, plugin, isolation;
  std::vector<std::string> draining;
};

// Of an earlier version there is less.
struct HostReport {
  std::string name;  // that a restart leaves it; that of its process, if it does not say
  std::string version;
  bool is_draining = false;                           // because it ends
  std::string drain;                                  // why it claims nothing, in an operator's words; "": it may claim
  std::string claims_nothing;                         // why; "": it claims
  std::optional<std::string> not_ready;               // as /readyz says; "": it is ready
  Seconds clock_ahead{0};                             // of the database's
  std::optional<std::int64_t> in_flight;              // deliveries that it has
  Millis looked_ago{0};                               // at the queue
  std::int64_t free_bytes = 0, max_bytes = 0;         // of bodies in flight; 0 at most: it says nothing
  std::optional<std::set<std::string>> action_types;  // that it has plugins for
  std::vector<PluginInUse> in_use;                    // by action type
  std::map<std::string, std::string> plugins;         // by action type
  std::map<std::string, std::string> off;             // action type -> why
  std::vector<std::pair<std::string, std::string>> not_isolated;  // action type, and what its plugin is not kept from
};
HostReport report_of(const LivingHost& host);

// True if it has said nothing for too long, and is of a version that says something.
bool is_silent(const LivingHost& host);

}  // namespace waybill
