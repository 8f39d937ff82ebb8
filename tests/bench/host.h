// The real program under measurement: `waybill serve` with one target.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "support/http_client.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::bench {

inline constexpr auto kTarget = "bench";
inline constexpr auto kNewcomer = "newcomer";
inline constexpr auto kMasterKey = "of the bench alone, and sealed with it is nothing";

using Settings = std::map<std::string, std::string>;  // configuration keys and their values

struct HostProgram {
  std::filesystem::path program;        // waybill
  std::filesystem::path plugins;        // the folder with webhook.so
  std::filesystem::path bench_plugins;  // the folder with noop.so, which nobody ships
  Settings settings;                    // the operator's word: above all others
};

// What one host serves. `type` and `port` are of all its targets, but for the newcomer's port.
struct Serving {
  std::string type = "webhook";     // action type: webhook, signed with one secret, or noop
  std::uint16_t port = 9;           // of the receiver; noop calls nobody
  Settings settings = {};           // of this measure, above default_settings()
  std::size_t targets = 1;          // bench, and then bench-1, bench-2, ... beside it, all at that port
  std::uint16_t newcomer_port = 0;  // of one more target, with a receiver of its own; 0: there is none
  bool channels = false;            // organisations may have channels, sealed with kMasterKey, also on loopback
};

// Up and ready when made; stopped at the end. One thread at a time; made by a thread that lives longer.
class Host {
 public:
  Host(const HostProgram& program, const std::string& database_url, const Serving& serving);
  ~Host();

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return process_->pid(); }
  std::uint64_t accepted();    // intents that it has settled as such, by its own count
  void check_running() const;  // throws with the end of its log if it has ended
  // Of a member, for `auth: tokens` among the settings; an organisation that is not there is made.
  std::string make_token(const std::string& org = "default");
  void stop();  // SIGTERM: what is in flight ends first
  std::string log_end() const;

 private:
  std::filesystem::path program_;
  testing::TempFolder folder_;
  std::unique_ptr<testing::Process> process_;
  std::uint16_t port_ = 0;
  std::unique_ptr<testing::HttpClient> metrics_;
};

// What `Host` sets by itself: measured best for a single receiver that answers at once.
const Settings& default_settings();

}  // namespace waybill::bench
