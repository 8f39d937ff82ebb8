// Operators' words on hosts: which ones there are, and that one claims nothing. Each call has a session of its own for its time:
// operators ask rarely. Safe from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/operations/known_host.h"
#include "store/operations/operator_word.h"
#include "store/pg/pg.h"
#include "store/submissions/read_store.h"

namespace waybill {

// A process of a host, or a host without one.
struct ListedHost {
  std::string name;
  std::optional<LivingHost> process;  // registered: its name, and what it says of itself
  bool lives = false;                 // it holds its lock
  int knows = 0;                      // the newest schema that its program knows
  std::string last_version;           // of the program that was heard last; "": of an earlier one, which says none
  std::string digest;                 // of its registry; "": it has said nothing yet
  std::optional<Timestamp> started, heard, succeeded;
  std::optional<HostDrain> drain;
};
inline constexpr std::size_t kMaxHostsListed = 1000;

class HostStore {
 public:
  virtual ~HostStore() = default;
  // By name, up to kMaxHostsListed.
  virtual Result<std::vector<ListedHost>> list() = 0;
  // The name of the host that is called so, or that has or last had this process ("<machine>:<pid>"). Error::not_found: there is
  // none, and was none for a month.
  virtual Result<std::string> name_of(const std::string& called) = 0;
  // By its name. Error::conflict: it is drained already. Error::invalid: no reason, or one that is too long.
  virtual Result<HostDrain> drain(const std::string& name, const std::string& reason, const Operator& by) = 0;
  // The drain that has ended. Error::not_found: there was none.
  virtual Result<HostDrain> resume(const std::string& name, const Operator& by) = 0;
};

std::unique_ptr<HostStore> make_host_store(const DatabaseAddress& address);

}  // namespace waybill
