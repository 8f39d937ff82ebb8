// What a process of the plugin's own costs: the same work with it and without it, in turn.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "bench/draining.h"
#include "bench/one_by_one.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

constexpr std::size_t kNoopBytes = 40;
constexpr auto kWithout = "in_process";

Settings isolated(const std::string& type, bool apart, Settings settings = {}) {
  settings["senders." + type] = apart ? R"({"isolation": "process"})" : R"({"isolation": "in_process"})";
  return settings;
}

double drain(const Bench& bench, bool apart) {
  Receiver receiver;
  return drain_once(bench, bench.sizes.drain, bench.sizes.body_bytes,
                    {.port = receiver.port(), .settings = isolated("webhook", apart)}, &receiver)
      .rate();
}

double noop(const Bench& bench, bool apart) {
  return drain_once(bench, bench.sizes.noop, kNoopBytes, {.type = "noop", .settings = isolated("noop", apart, wide_window())},
                    nullptr)
      .rate();
}

// MB that an idle process of a plugin holds, as the kernel counts what is resident, shared pages included.
double resident_mb(const Bench& bench) {
  const auto database = bench.postgres.create_database();
  const Host host(bench.program, database.url(), {.settings = isolated("webhook", true)});
  double most = 0;
  for (const auto child : testing::children_of(host.pid())) {
    const auto status = testing::read_file("/proc/" + std::to_string(child) + "/status");
    constexpr std::string_view kResident = "VmRSS:";
    const auto at = status.find(kResident);
    if (at == std::string::npos || status.find("waybill-plugin") == std::string::npos) continue;
    most = std::max(most, std::strtod(status.c_str() + at + kResident.size(), nullptr) / 1024);
  }
  if (most == 0) throw std::runtime_error("the host has no process for its plugin:\n" + host.log_end());
  return most;
}

// The program of a plugin in Python that accepts everything at once.
constexpr auto kSender = R"(import waybill_plugin as waybill


@waybill.sender("noop")
async def send(job, host):
    return waybill.accepted()


waybill.run()
)";

constexpr auto kDescriptor = R"({"id": "waybill.bench.noop", "version": "1", "command": ["python3", "sender.py"],
  "actions": [{"type": "noop", "reasons": ["gone"], "destinationSchema": {"type": "object"}}]})";

double noop_in_python(const Bench& bench) {
  const testing::TempFolder plugins;
  const auto made = testing::run(
      {.arguments = {bench.program.program, "plugin", "new", "noop", "--language", "python", "--dir", plugins.path()}});
  if (made.exit_code != 0) throw std::runtime_error("there is no plugin in Python: " + made.err);
  testing::write_file(plugins.path() / "noop.plugin/sender.py", kSender);
  testing::write_file(plugins.path() / "noop.plugin/plugin.json", kDescriptor);
  auto program = bench.program;
  program.bench_plugins = plugins.path();
  const Bench other{program, bench.postgres, bench.rivals, bench.report, bench.sizes, bench.rounds};
  return drain_once(other, bench.sizes.noop, kNoopBytes, {.type = "noop", .settings = wide_window()}, nullptr).rate();
}

}  // namespace

void measure_isolated(const Bench& bench) {
  Figures drained{.name = "isolated", .unit = "signed deliveries/s with a process for the plugin"};
  Figures nothing{.name = "isolated_noop", .unit = "no-op deliveries/s with a process for the plugin"};
  Figures python{.name = "isolated_python", .unit = "no-op deliveries/s with a plugin in Python"};
  Figures soon{.name = "isolated_latency", .unit = "ms to the first byte with a process for the plugin, p50"};
  Figures resident{.name = "isolated_memory", .unit = "MB resident of an idle process"};
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("isolated", round, bench.rounds);
    drained.compare(kWithout, "signed deliveries/s in the host's process", drain(bench, false));
    drained.runs.push_back(drain(bench, true));
    nothing.compare(kWithout, "no-op deliveries/s in the host's process", noop(bench, false));
    nothing.runs.push_back(noop(bench, true));
    python.runs.push_back(noop_in_python(bench));
    soon.compare(kWithout, "ms in the host's process, p50", median(one_by_one(bench, isolated("webhook", false)).to_gateway));
    soon.runs.push_back(median(one_by_one(bench, isolated("webhook", true)).to_gateway));
    resident.runs.push_back(resident_mb(bench));
  }
  for (auto* figures : {&drained, &nothing, &python, &soon, &resident}) bench.report.add(std::move(*figures));
}

}  // namespace waybill::bench
