// The real program under measurement: `waybill serve` with one webhook target, signed with one secret.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::bench {

inline constexpr auto kTarget = "bench";

struct HostProgram {
  std::filesystem::path program;                // waybill
  std::filesystem::path plugins;                // the folder with webhook.so
  std::map<std::string, std::string> settings;  // configuration keys, on top of what host.cpp sets
};

// Up and ready when made; stopped at the end. One thread at a time; made by a thread that lives longer.
class Host {
 public:
  Host(const HostProgram& program, const std::string& database_url, std::uint16_t receiver_port);
  ~Host();

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return process_->pid(); }
  void check_running() const;  // throws with the end of its log if it has ended
  void stop();                 // SIGTERM: what is in flight ends first
  std::string log_end() const;

 private:
  testing::TempFolder folder_;
  std::unique_ptr<testing::Process> process_;
  std::uint16_t port_ = 0;
};

// What `Host` sets by itself: measured best for a single receiver that answers at once.
const std::map<std::string, std::string>& default_settings();

}  // namespace waybill::bench
