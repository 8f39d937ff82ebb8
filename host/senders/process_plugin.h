// A plugin whose code runs in processes of its own: what it is, what it thinks of settings and destinations, and its processes.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "config/isolation.h"
#include "plugin_library/plugin_folder.h"
#include "plugin_process/greeting.h"

namespace waybill {

// Safe from any thread.
class ProcessPlugin {
 public:
  // Starts a process of a copy of `file`, a shared library, or of an executable's folder. An error says what is wrong and, after
  // a line break, what would help. `program`: waybill-plugin-host; "" for that beside this program.
  static Result<std::unique_ptr<ProcessPlugin>> of_library(const std::filesystem::path& file,
                                                           const std::filesystem::path& program, const Isolation& isolation);
  static Result<std::unique_ptr<ProcessPlugin>> of_folder(PluginFolder folder, const std::filesystem::path& program,
                                                          const Isolation& isolation);
  ~ProcessPlugin();
  ProcessPlugin(const ProcessPlugin&) = delete;
  ProcessPlugin& operator=(const ProcessPlugin&) = delete;

  Descriptor take_descriptor() { return std::move(descriptor_); }  // once
  const std::vector<std::string>& missing() const { return missing_; }
  plugin_process::ProcessSpec spec(const Isolation& isolation) const;

  // The plugin's own opinion of a JSON object.
  Problems opinion_of_settings(std::string_view action_type, std::string_view json);
  Problems opinion_of_destination(std::string_view action_type, std::string_view json);

 private:
  explicit ProcessPlugin(plugin_process::ProcessSpec spec) : spec_(std::move(spec)) {}
  static Isolation with(Isolation isolation, const std::vector<std::filesystem::path>& read);
  Result<plugin_process::ReadyProcess> start_first(const std::filesystem::path& file) const;
  void take_first(plugin_process::ReadyProcess ready);
  Problems opinion(std::uint32_t what, std::string_view action_type, std::string_view json);
  void keep(plugin_process::ReadyProcess ready);  // with mutex_ held
  void end_when_idle(const std::stop_token& stop);

  const plugin_process::ProcessSpec spec_;   // its library is this object's
  std::vector<std::filesystem::path> read_;  // what an executable's process reads beside that
  Descriptor descriptor_;
  std::vector<std::string> missing_;
  std::mutex mutex_;  // for all below
  std::condition_variable_any asked_;
  std::optional<plugin_process::ReadyProcess> adviser_;  // who is asked; ended when nobody has asked for a while
  std::chrono::steady_clock::time_point last_asked_{};
  std::jthread closer_;  // last
};

}  // namespace waybill
