// Plugins in processes of their own.
#include "senders/process_plugin.h"

#include <unistd.h>

#include "base/utf8.h"
#include "plugin_library/descriptor_json.h"
#include "plugin_library/plugin_file.h"
#include "plugin_library/private_copy.h"

namespace waybill {
namespace {

using plugin_process::ProcessSpec;
using plugin_process::ReadyProcess;

constexpr Millis kAnswersWithin{15'000};
constexpr std::chrono::seconds kIdle{10};
constexpr auto kChanged = "its files have changed since this host took it up: `waybill reload` takes up what is there now";

std::filesystem::path program_or_ours(const std::filesystem::path& program) {
  return program.empty() ? plugin_process::plugin_host_program() : program;
}

}  // namespace

Isolation ProcessPlugin::with(Isolation isolation, const std::vector<std::filesystem::path>& read) {
  isolation.read.insert(isolation.read.end(), read.begin(), read.end());
  return isolation;
}

Result<ReadyProcess> ProcessPlugin::start_first(const std::filesystem::path& file) const {
  auto ready = plugin_process::start_process(spec_, kAnswersWithin);
  if (ready || ready.error().what.find('\n') != std::string::npos) return ready;
  return fail(Error::Kind::invalid,
              ready.error().what + "\nsee what `waybill plugin check " + file.string() + "` finds, and mend the plugin");
}

Result<std::unique_ptr<ProcessPlugin>> ProcessPlugin::of_library(const std::filesystem::path& file,
                                                                 const std::filesystem::path& program,
                                                                 const Isolation& isolation) {
  if (auto fault = fault_in_file(file)) return fail(Error::Kind::invalid, fault->reason + "\n" + fault->remedy);
  const auto copy = private_copy_descriptor(file);
  if (!copy)
    return fail(Error::Kind::invalid, "it cannot run in a process of its own: " + copy.error().what +
                                          "\nmend that, or say `isolation: in_process` for its action types");
  std::unique_ptr<ProcessPlugin> plugin(new ProcessPlugin(
      {.program = program_or_ours(program), .plugin = file.filename(), .library = *copy, .isolation = isolation}));
  auto ready = plugin->start_first(file);
  TRY(ready);
  auto descriptor = read_descriptor(ready->descriptor);
  TRY(descriptor);
  plugin->descriptor_ = std::move(*descriptor);
  plugin->take_first(std::move(*ready));
  return plugin;
}

Result<std::unique_ptr<ProcessPlugin>> ProcessPlugin::of_folder(PluginFolder folder, const std::filesystem::path& program,
                                                                const Isolation& isolation) {
  std::unique_ptr<ProcessPlugin> plugin(new ProcessPlugin(
      {.program = program_or_ours(program),
       .plugin = folder.folder.filename(),
       .command = std::move(folder.command),
       .folder = folder.folder,
       .veto = [where = folder.folder, mark = std::move(folder.mark)] { return mark_of_folder(where) == mark ? "" : kChanged; },
       .isolation = with(isolation, folder.read)}));
  plugin->read_ = std::move(folder.read);
  plugin->descriptor_ = std::move(folder.descriptor);
  auto ready = plugin->start_first(plugin->spec_.folder);
  TRY(ready);
  plugin->take_first(std::move(*ready));
  return plugin;
}

void ProcessPlugin::take_first(ReadyProcess ready) {
  missing_ = ready.missing;
  const std::lock_guard lock(mutex_);
  keep(std::move(ready));
}

ProcessPlugin::~ProcessPlugin() {
  closer_ = {};
  adviser_.reset();
  if (spec_.library >= 0) close(spec_.library);
}

ProcessSpec ProcessPlugin::spec(const Isolation& isolation) const {
  auto spec = spec_;
  spec.isolation = with(isolation, read_);
  return spec;
}

void ProcessPlugin::keep(ReadyProcess ready) {
  adviser_.emplace(std::move(ready));
  last_asked_ = std::chrono::steady_clock::now();
  if (!closer_.joinable()) closer_ = std::jthread([this](const std::stop_token& stop) { end_when_idle(stop); });
  asked_.notify_all();
}

void ProcessPlugin::end_when_idle(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!adviser_) {
      asked_.wait(lock, stop, [this] { return adviser_.has_value(); });
      continue;
    }
    const auto until = last_asked_ + kIdle;
    asked_.wait_until(lock, stop, until, [&] { return last_asked_ + kIdle != until; });
    if (!stop.stop_requested() && std::chrono::steady_clock::now() >= last_asked_ + kIdle) adviser_.reset();
  }
}

Problems ProcessPlugin::opinion(std::uint32_t what, std::string_view action_type, std::string_view json) {
  const std::lock_guard lock(mutex_);
  last_asked_ = std::chrono::steady_clock::now();
  if (!adviser_) {
    auto ready = plugin_process::start_process(spec_, kAnswersWithin);
    if (!ready)
      return {{"", 0, "", spec_.plugin + " could not be asked: " + ready.error().what.substr(0, ready.error().what.find('\n'))}};
    keep(std::move(*ready));
  }
  auto problems = plugin_process::ask_opinion(*adviser_, what, action_type, json, kAnswersWithin);
  if (problems) return std::move(*problems);
  adviser_.reset();  // it died of this, or hangs in it
  return {{"", 0, "", spec_.plugin + " failed while it checked this: " + clean_text(problems.error().what, 300)}};
}

Problems ProcessPlugin::opinion_of_settings(std::string_view action_type, std::string_view json) {
  return opinion(plugin_process::kSettings, action_type, json);
}

Problems ProcessPlugin::opinion_of_destination(std::string_view action_type, std::string_view json) {
  return opinion(plugin_process::kDestination, action_type, json);
}

}  // namespace waybill
