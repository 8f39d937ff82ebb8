// waybill_bench: the speed of the real program, beside what the machine could do at most.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/interrupt.h"
#include "bench/measures.h"

namespace {

using namespace waybill::bench;
namespace fs = std::filesystem;

struct Options {
  std::size_t drain_count = 50'000, latency_count = 200, memory_count = 1'000'000;
  std::size_t curl_connections = 64;
  int connections = 32, ingest_seconds = 5, memory_seconds = 20;
  int rounds = 3, body_bytes = 1024;
  fs::path program, plugins, json;
  std::vector<std::string> settings, postgres;
};

// A build has this program in bench/, beside waybill and plugins/.
fs::path build_folder() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path(); }

HostProgram program_of(const Options& options) {
  HostProgram program{fs::absolute(options.program), fs::absolute(options.plugins), {}};
  for (const auto& text : options.settings) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) throw std::runtime_error("--set takes KEY=VALUE, not " + text);
    program.settings[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return program;
}

void describe(const HostProgram& program, const Postgres& postgres, Report& report) {
  auto settings = default_settings();
  for (const auto& [key, value] : program.settings) settings[key] = value;
  std::string line = "host:";
  for (const auto& [key, value] : settings) {
    line += " " + key + "=" + value;
    report.setting(key, value);
  }
  line += "\nPostgreSQL (fsync, synchronous_commit and full_page_writes as shipped: on):";
  std::string all;
  for (const auto& setting : postgres.settings()) all += (all.empty() ? "" : " ") + setting;
  report.setting("postgresql", all);
  std::printf("%s %s\n\n", line.c_str(), all.c_str());
  std::fflush(stdout);
}

void run(const CLI::App& app, const Options& options) {
  const auto program = program_of(options);
  if (!options.json.empty() && ::access(fs::absolute(options.json).parent_path().c_str(), W_OK) != 0)
    throw std::runtime_error("--json: cannot write into the folder of " + options.json.string());
  Postgres postgres(options.postgres);
  Report report;
  describe(program, postgres, report);
  const Bench bench{program, postgres, report, options.rounds, options.body_bytes};
  const bool all = app.got_subcommand("all");
  if (all || app.got_subcommand("drain")) measure_drain(bench, options.drain_count, options.curl_connections);
  if (all || app.got_subcommand("ingest")) measure_ingest(bench, options.connections, options.ingest_seconds);
  if (all || app.got_subcommand("latency")) measure_latency(bench, options.latency_count);
  if (all || app.got_subcommand("memory")) measure_memory(bench, options.memory_count, options.memory_seconds);
  if (!options.json.empty()) report.write_json(options.json);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.program = build_folder() / "waybill";
  options.plugins = build_folder() / "plugins";
  CLI::App app{
      "Measures a real `waybill serve` on a private PostgreSQL with durable settings. Figures of one run may be compared, above "
      "all "
      "the ratios; a busy machine spoils them."};
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--rounds", options.rounds, "Rounds of each measurement, in turn with its limit")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--body", options.body_bytes, "Bytes of a payload, about")
      ->check(CLI::Range(64, 500'000))
      ->capture_default_str();
  app.add_option("--json", options.json, "Also write the figures to this file");
  app.add_option("--set", options.settings, "A configuration key of the host, KEY=VALUE; may stand several times");
  app.add_option("--postgres", options.postgres, "A setting of PostgreSQL, NAME=VALUE; may stand several times");
  app.add_option("--program", options.program, "The waybill to measure")->capture_default_str();
  app.add_option("--plugins", options.plugins, "The folder with its plugins")->capture_default_str();

  auto* drain =
      app.add_subcommand("drain", "Signed deliveries/s from a backlog to a receiver on loopback, and a bare libcurl loop");
  drain->add_option("--count", options.drain_count, "Deliveries in the backlog")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  drain->add_option("--curl-connections", options.curl_connections, "Of the bare loop")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  auto* ingest = app.add_subcommand("ingest", "POST /v1/intents, one intent each, durable when answered, and pgbench's commits");
  ingest->add_option("--connections", options.connections, "Keep-alive connections; pgbench's clients")
      ->check(CLI::Range(1, 90))
      ->capture_default_str();
  ingest->add_option("--seconds", options.ingest_seconds, "Length of a round")->check(CLI::Range(1, 30))->capture_default_str();
  auto* latency = app.add_subcommand("latency", "From POST to the first byte at the gateway, idle system, one at a time");
  latency->add_option("--count", options.latency_count, "Intents in a round")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  auto* memory = app.add_subcommand("memory", "The host's memory while it works on a long backlog");
  memory->add_option("--count", options.memory_count, "Deliveries in the backlog")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  memory->add_option("--seconds", options.memory_seconds, "When to stop watching")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_subcommand("all", "All of these, with their defaults");
  CLI11_PARSE(app, argc, argv);

  watch_interrupts();
  try {
    run(app, options);
    return 0;
  } catch (const Interrupted&) {
    std::fprintf(stderr, "waybill_bench: interrupted; all that was started has been stopped\n");
    return 130;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "waybill_bench: %s\n", e.what());
    return 1;
  }
}
