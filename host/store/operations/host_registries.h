// Which registry each host runs by, and the reloads that were asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"

namespace waybill {

struct ReloadRequest {
  std::int64_t id = 0;
  std::string asked_by;
};

// What a host says of its registry.
struct RegistryReport {
  std::string digest;        // of the one in force
  std::int64_t request = 0;  // the newest ReloadRequest that it has answered; 0: none
  std::string verdict;       // loaded, refused, not_stored
  std::string remarks;       // problems, or what waits for a plugin, one a line
  bool operator==(const RegistryReport&) const = default;
};

struct HostRegistry {
  HostId host;
  std::string name;                      // "<machine>:<pid>"
  std::optional<RegistryReport> report;  // none: it has said nothing yet
  bool is_mute = false;                  // of a version that says nothing
};

class Connection;
// `hosts`: the names of those that are asked.
Result<std::int64_t> ask_reload(Connection& connection, const std::string& asked_by, std::span<const std::string> hosts);
// The newest that is still waited for and that was asked of this host.
Result<std::optional<ReloadRequest>> newest_reload(Connection& connection, const std::string& host);
Result<void> publish_registry(Connection& connection, HostId host, const RegistryReport& report);
Result<std::vector<HostRegistry>> read_registries(Connection& connection);

}  // namespace waybill
