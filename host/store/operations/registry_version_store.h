// Which registries were in force, when, and by whom. Each call has a session of its own for its time: they are rare. Safe from
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "domain/registry_files.h"
#include "store/pg/pg.h"

namespace waybill {

// By whom a registry came into force.
struct RegistryOrigin {
  std::string host, actor, trigger;  // "<machine>:<pid>"; who asked for the reload; start or reload
};

// That a version came into force after another.
struct RegistryEvent {
  std::int64_t id = 0;
  int version = 0;
  std::string digest;
  Timestamp at;
  RegistryOrigin by;
  TargetCounts targets;
};
struct RegistryEvents {
  std::vector<RegistryEvent> items;
  std::int64_t next = 0;  // the `before` of the next page; 0: there is none
};
inline constexpr std::size_t kMaxEventsListed = 500;
inline constexpr int kKeptEvents = 200;  // versions that none of the newest so many events name are forgotten

struct RegistryVersion {
  int version = 0;
  std::string digest;
  Timestamp at;  // when it was first in force
  RegistryFiles files;
};

class RegistryVersionStore {
 public:
  using Count = std::function<TargetCounts(const RegistryFiles& before, const RegistryFiles& after)>;

  virtual ~RegistryVersionStore() = default;
  // Notes that this registry has come into force, unless it was the last one that did. Its files are stored once, however often
  // it does. Returns the version if it was noted.
  virtual Result<std::optional<int>> note(const RegistryFiles& files, const std::string& digest, const RegistryOrigin& by,
                                          const Count& count) = 0;
  // The newest first, before an event (0: from the newest on).
  virtual Result<RegistryEvents> events(std::int64_t before, std::size_t most) = 0;
  // Error::not_found: there is none of this number any more.
  virtual Result<RegistryVersion> find(int version) = 0;
};

std::unique_ptr<RegistryVersionStore> make_registry_version_store(const DatabaseAddress& address);

}  // namespace waybill
