// Processes in a session of their own, and the JSON that they print.
#include "bench/harness.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/interrupt.h"
#include "bench/progress.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::bench {
namespace {

constexpr std::chrono::minutes kSetUp{15}, kRun{6}, kRest{2};
constexpr std::chrono::seconds kToEnd{20};
// In the same shell for both: `env` tells where their server is. "$0" is the work folder.
constexpr auto kRestScript =
    R"(. "$0/env" && for one in peers limits; do psql -qX -d "$one" -c 'VACUUM (ANALYZE)' -c CHECKPOINT || exit 1; done)";

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

// A process with all that it has started. setsid makes it the head of a group, whose number is then its own.
class Group {
 public:
  explicit Group(const testing::Command& command) : process_(command) {}
  ~Group() {
    if (!process_.running()) return;
    ::kill(-process_.pid(), SIGTERM);
    if (!process_.wait(kToEnd)) ::kill(-process_.pid(), SIGKILL);
  }
  // None if it has not ended within the bound.
  std::optional<int> wait(std::chrono::seconds bound) {
    if (!wait_until([&] { return !process_.running(); }, bound, std::chrono::milliseconds(20))) return std::nullopt;
    return process_.wait();
  }

 private:
  testing::Process process_;
};

}  // namespace

HarnessAnswer parse_answer(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto one_number = [&](const char* name) -> std::optional<double> {
    if (!json.is_object() || !json.contains(name) || !json[name].is_array() || json[name].size() != 1) return std::nullopt;
    const auto& number = json[name][0];
    return number.is_number() && number.get<double>() > 0 ? std::optional(number.get<double>()) : std::nullopt;
  };
  const auto run = one_number("runs");
  if (!run || !json.contains("unit") || !json["unit"].is_string())
    throw std::runtime_error("this is not a figure: " + std::string(text));
  return {json["unit"], *run, one_number("p99")};
}

Harness::Harness(std::filesystem::path folder)
    : folder_(std::move(folder)), work_folder_(variable("WAYBILL_BENCH_DIR", "/tmp/waybill-bench")) {}

bool Harness::is_there() const {
  for (const auto* script : {"up.sh", "peer.sh", "limit.sh"})
    if (!std::filesystem::exists(folder_ / script)) return false;
  return true;
}

void Harness::set_up() const {
  if (::geteuid() == 0) {
    tell("peers and limits: " + (folder_ / "up.sh").string() + " (the first time it installs packages, which takes minutes)");
    output_of({folder_ / "up.sh"}, kSetUp);
  } else if (!std::filesystem::exists(work_folder_ / "env")) {
    throw std::runtime_error("peers and limits are not set up: run " + (folder_ / "up.sh").string() + " as root first");
  }
}

HarnessAnswer Harness::run(const std::string& script, const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{folder_ / script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return parse_answer(output_of(command, kRun));
}

void Harness::rest() const { output_of({"/bin/bash", "-c", kRestScript, work_folder_}, kRest); }

std::string Harness::output_of(const std::vector<std::string>& command, std::chrono::seconds bound) const {
  const testing::TempFolder folder;
  const auto out = folder.path() / "out", err = folder.path() / "err";
  std::vector<std::string> arguments{"/usr/bin/setsid"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  std::map<std::string, std::string> environment{{"RUNS", "1"}, {"WAYBILL_BENCH_DIR", work_folder_}};
  if (const auto port = variable("WAYBILL_BENCH_PORT", ""); !port.empty()) environment["WAYBILL_BENCH_PORT"] = port;
  Group group({.arguments = arguments, .environment = environment, .folder = "/", .out = out, .err = err});
  const auto code = group.wait(bound);
  if (code == 0) return testing::read_file(out);
  std::string line;
  for (const auto& word : command) line += (line.empty() ? "" : " ") + word;
  throw std::runtime_error(line + (code ? " failed: " : " did not end: ") + testing::read_file(out) + testing::read_file(err));
}

}  // namespace waybill::bench
