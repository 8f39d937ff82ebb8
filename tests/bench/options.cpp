// A subcommand for each measure; several may stand in one line.
#include "bench/options.h"

#include <CLI/CLI.hpp>
#include <map>

namespace waybill::bench {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMax = 100'000'000;

// A build has this program in bench/, beside waybill and plugins/.
fs::path build_folder() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path(); }

template <class Number>
void number(CLI::App& app, const char* name, Number& value, const char* help, Number most) {
  app.add_option(name, value, help)->check(CLI::Range(Number{1}, most))->capture_default_str();
}

void count(CLI::App& app, const char* name, std::size_t& value, const char* help) { number(app, name, value, help, kMax); }

void add_common(CLI::App& app, Options& options) {
  number(app, "--rounds", options.rounds, "Rounds of each measure, in turn with what it is compared with", 100);
  app.add_option("--body", options.sizes.body_bytes, "Bytes of a payload, about")
      ->check(CLI::Range(64, 500'000))
      ->capture_default_str();
  app.add_option("--against", options.against,
                 "Whom to measure in turn: peers (graphile-worker and pg-boss), limits (what the machine can do), bullmq")
      ->delimiter(',');
  app.add_option("--harness", options.harness, "The folder with peer.sh and limit.sh")->capture_default_str();
  app.add_option("--json", options.json, "Also write the figures to this file");
  app.add_option("--set", options.settings, "A configuration key of the host, KEY=VALUE; may stand several times");
  app.add_option("--postgres", options.postgres, "A setting of PostgreSQL, NAME=VALUE; may stand several times");
  app.add_option("--program", options.program, "The waybill to measure")->capture_default_str();
  app.add_option("--plugins", options.plugins, "The folder with its plugins")->capture_default_str();
}

void add_drains(const std::map<std::string, CLI::App*>& of, Sizes& sizes) {
  count(*of.at("drain"), "--count", sizes.drain, "Deliveries in the backlog");
  number(*of.at("drain"), "--curl-connections", sizes.drain_connections, "Of the bare loop", std::size_t{1000});
  count(*of.at("noop"), "--count", sizes.noop, "Deliveries in the backlog");
  count(*of.at("slow"), "--count", sizes.slow, "Deliveries in the backlog");
  number(*of.at("slow"), "--open", sizes.slow_open, "Requests open at one time", std::size_t{60'000});
  count(*of.at("slow"), "--wide-count", sizes.slow_wide, "The same for the second figure");
  number(*of.at("slow"), "--wide-open", sizes.slow_wide_open, "The same for the second figure", std::size_t{60'000});
  number(*of.at("slow"), "--delay", sizes.slow_ms, "ms that the receiver takes", 8000);
  count(*of.at("flapping"), "--count", sizes.flapping, "Deliveries in the backlog");
  number(*of.at("flapping"), "--open", sizes.flapping_open, "Requests open at one time", std::size_t{60'000});
  number(*of.at("flapping"), "--delay", sizes.flapping_ms, "ms that the receiver takes", 8000);
  count(*of.at("snapshot"), "--count", sizes.snapshot, "Deliveries in the backlog");
  count(*of.at("memory"), "--count", sizes.memory, "Deliveries in the backlog");
  number(*of.at("memory"), "--seconds", sizes.memory_seconds, "When to stop watching", 3600);
  count(*of.at("memory"), "--large-count", sizes.memory_large, "Deliveries with large bodies");
  number(*of.at("memory"), "--large-bytes", sizes.memory_large_bytes, "Bytes of such a body, about", std::size_t{8} << 20);
  number(*of.at("memory"), "--large-delay", sizes.memory_large_ms, "ms that their receiver takes", 8000);
  count(*of.at("many"), "--count", sizes.many, "Deliveries in the backlog");
  number(*of.at("many"), "--targets", sizes.many_targets, "Targets", std::size_t{1'000'000});
  number(*of.at("many"), "--newcomers", sizes.many_newcomers, "Newcomers timed", std::size_t{100'000});
  count(*of.at("retention"), "--count", sizes.retention, "Deliveries in the backlog");
  count(*of.at("retention"), "--old", sizes.retention_old, "Submissions past their age");
  number(*of.at("hostile"), "--slow", sizes.hostile_slow, "Slow clients", std::size_t{5'000});
  number(*of.at("hostile"), "--strangers", sizes.hostile_strangers, "Senders of bodies without a token, and then with one",
         std::size_t{5'000});
  number(*of.at("hostile"), "--timed", sizes.hostile_timed, "Requests of the good client", std::size_t{1'000'000});
  count(*of.at("outage"), "--count", sizes.outage, "Deliveries that wait");
  number(*of.at("outage"), "--seconds", sizes.outage_seconds, "How long the receiver is away", 86'400);
  count(*of.at("hosts"), "--count", sizes.hosts, "Deliveries in the backlog");
  count(*of.at("hosts"), "--noop-count", sizes.hosts_noop, "The same where nothing is sent");
}

void add_organisations(CLI::App& many, CLI::App& hanging, Sizes& sizes) {
  number(many, "--organisations", sizes.orgs, "Organisations", std::size_t{100'000});
  number(many, "--channels", sizes.orgs_channels, "Channels of each", std::size_t{1000});
  count(many, "--waiting", sizes.orgs_waiting, "Deliveries due for one more organisation");
  count(many, "--timed", sizes.orgs_timed, "Organisations with one delivery each beside it");
  number(many, "--seconds", sizes.orgs_seconds, "Over which these fall due, where they do not at once", 3600);
  count(hanging, "--count", sizes.hanging, "Deliveries due for the organisation whose endpoints hang");
  number(hanging, "--endpoints", sizes.hanging_endpoints, "Endpoints that hang", std::size_t{1000});
  count(hanging, "--timed", sizes.hanging_timed, "Deliveries of the other one");
  number(hanging, "--gap", sizes.hanging_gap_ms, "ms between two of these", 60'000);
}

void add_growth(CLI::App& growth, Sizes& sizes) {
  count(growth, "--small", sizes.growth_small, "Deliveries in a small backlog");
  count(growth, "--backlogs", sizes.growth_backlogs, "Small backlogs in a row");
  count(growth, "--pending", sizes.growth_pending, "Deliveries in the large backlog");
  count(growth, "--timed", sizes.growth_timed, "Of these timed in a round");
  count(growth, "--finished", sizes.growth_finished, "Deliveries done before");
}

void add_intakes(const std::map<std::string, CLI::App*>& of, Sizes& sizes) {
  number(*of.at("ingest"), "--connections", sizes.ingest_connections, "Keep-alive connections; pgbench's clients", 90);
  number(*of.at("ingest"), "--seconds", sizes.ingest_seconds, "Length of a round", 30);
  count(*of.at("bulk"), "--count", sizes.bulk, "Intents in a round");
  number(*of.at("bulk"), "--batch", sizes.bulk_batch, "Intents in a batch", std::size_t{10'000});
  number(*of.at("bulk"), "--clients", sizes.bulk_clients, "Clients of the second figure", 90);
  count(*of.at("burst"), "--count", sizes.burst, "Intents in a round");
  number(*of.at("burst"), "--batch", sizes.burst_batch, "Intents in a batch", std::size_t{10'000});
  count(*of.at("latency"), "--count", sizes.latency, "Intents in a round");
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
  Options options;
  options.harness = fs::weakly_canonical(fs::path(WAYBILL_SOURCE_FOLDER) / "../shared/bench");
  options.program = build_folder() / "waybill";
  options.plugins = build_folder() / "plugins";
  options.bench_plugins = build_folder() / "bench/plugins";
  CLI::App app{
      "Measures a real `waybill serve` on a private PostgreSQL with durable settings. Only figures of one run may be compared, "
      "above "
      "all the ratios; a busy machine spoils them. Several measures may be named, each with its own options behind it."};
  app.require_subcommand(1, 0);
  app.fallthrough();
  add_common(app, options);
  std::map<std::string, CLI::App*> of;
  for (const auto& measure : measures()) of[measure.name] = app.add_subcommand(measure.name, measure.help);
  const auto* all = app.add_subcommand("all", "All of these but those that say so");
  add_drains(of, options.sizes);
  add_growth(*of.at("growth"), options.sizes);
  add_organisations(*of.at("many_orgs"), *of.at("hanging"), options.sizes);
  add_intakes(of, options.sizes);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    exit_code = app.exit(e);
    return std::nullopt;
  }
  for (const auto& measure : measures())
    if ((all->parsed() && measure.in_all) || of.at(measure.name)->parsed()) options.measures.insert(measure.name);
  return options;
}

}  // namespace waybill::bench
