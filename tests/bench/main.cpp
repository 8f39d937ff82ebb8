// waybill_bench: the speed of the real program, beside what others and the machine can do.
#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "bench/interrupt.h"
#include "bench/options.h"
#include "support/temp_folder.h"

namespace {

using namespace waybill::bench;
namespace fs = std::filesystem;

HostProgram program_of(const Options& options) {
  HostProgram program{fs::absolute(options.program), fs::absolute(options.plugins), options.bench_plugins, {}};
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

void raise_file_limit() {  // the slow receiver has one for each open request
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// One that fails does not take the others with it: an hour's figures are worth keeping.
void run_measures(const Options& options, const Bench& bench) {
  for (const auto& measure : measures()) {
    if (!options.measures.contains(measure.name)) continue;
    try {
      measure.run(bench);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& e) {
      bench.report.add_failure(measure.name, e.what());
    }
  }
}

int run(const Options& options) {
  const auto program = program_of(options);
  const auto asked = parse_asked(options.against);
  if (!options.json.empty()) check_writable(options.json);
  const Rivals rivals(Harness(fs::absolute(options.harness)), asked);
  Postgres postgres(options.postgres);
  Report report(options.sizes == Sizes{});
  describe(program, postgres, report);
  const auto end = [&] {
    report.print_bar();
    if (!options.json.empty()) waybill::testing::write_file(options.json, report.json());
  };
  try {
    run_measures(options, {program, postgres, rivals, report, options.sizes, options.rounds});
  } catch (const Interrupted&) {
    end();
    throw;
  }
  end();
  return report.failed() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  const auto options = parse_options(argc, argv, exit_code);
  if (!options) return exit_code;
  watch_interrupts();
  raise_file_limit();
  try {
    return run(*options);
  } catch (const Interrupted&) {
    std::fprintf(stderr, "waybill_bench: interrupted; all that was started has been stopped\n");
    return 130;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "waybill_bench: %s\n", e.what());
    return 1;
  }
}
