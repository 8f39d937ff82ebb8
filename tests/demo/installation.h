// The installation that the demo serves: the sample registry with the demo's gateway and mail server in the place of the
// sample's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "support/process.h"

namespace waybill::testing {

// Where the demo keeps its things: `wanted`, unless root's PostgreSQL, which runs as user postgres, cannot get there.
std::filesystem::path reachable(const std::filesystem::path& wanted);

struct DemoServices {
  std::string gateway;  // URL
  std::string relay;    // URL
};

// Writes waybill.yaml, the registry (a copy of `sample`) and a key for links made for this run.
void write_installation(const std::filesystem::path& folder, const std::filesystem::path& sample, const DemoServices& services);

// The host that serves it, on a port of its own. One thread at a time.
class DemoHost {
 public:
  explicit DemoHost(const std::filesystem::path& folder);  // throws with its log when it does not come up

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::filesystem::path log() const { return folder_ / "log"; }
  bool stop();  // true when it ended well; else says so

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Process> process_;
  std::uint16_t port_ = 0;
};

}  // namespace waybill::testing
