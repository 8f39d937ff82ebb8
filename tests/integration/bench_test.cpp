// The benchmark program at a small size: it measures, checks, compares, and cleans up behind itself. Its figures say nothing
// here.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::minutes kEnough{25};
constexpr auto kRest = "rest\nrest\n";  // of each of their two databases

// Scripts in the place of peers and limits, which write down what they were asked for.
class FakeHarness {
 public:
  FakeHarness() {
    script("up.sh", "echo up >>" + log());
    script("limit.sh", "echo limit \"$@\" >>" + log() + "\n" + answer());
    script("peer.sh", "echo peer \"$@\" >>" + log() + "\n" + answer());
    script("psql", "echo rest >>" + log());
    write_file(folder_.path() / "env", "PATH=" + folder_.path().string() + ":$PATH\n");
  }
  void script(const std::string& name, const std::string& text) const {
    const auto file = folder_.path() / name;
    write_file(file, "#!/bin/bash\nset -e\n" + text + "\n");
    fs::permissions(file, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec | fs::perms::others_read |
                              fs::perms::others_exec);
  }
  const fs::path& folder() const { return folder_.path(); }
  std::string log() const { return (folder_.path() / "log").string(); }
  std::string asked() const { return read_file(log()); }
  // What comes before all measures. Only root sets the harness up.
  static std::string set_up() { return std::string(::geteuid() == 0 ? "up\n" : "") + kRest; }

 private:
  static std::string answer() { return R"(echo '{"unit":"jobs/s","runs":[1000],"p99":[7]}')"; }

  TempFolder folder_;
};

class TheBench : public ::testing::Test {
 protected:
  Command command(const std::vector<std::string>& arguments) const {
    Command command{
        .arguments = {WAYBILL_BENCH_PROGRAM}, .folder = home.path(), .out = home.path() / "out", .err = home.path() / "err"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.arguments.insert(command.arguments.end(),
                             {"--rounds", std::to_string(rounds), "--json", json_file, "--harness", harness.folder()});
    command.environment["WAYBILL_BENCH_DIR"] = harness.folder();
    return command;
  }
  int run(const std::vector<std::string>& arguments) const {
    Process process(command(arguments));
    return process.wait(kEnough).value_or(-1);
  }
  nlohmann::json figures() const { return nlohmann::json::parse(read_file(json_file)); }
  nlohmann::json figures_of(const std::string& name) const {
    const auto all = figures();
    for (const auto& one : all["benches"])
      if (one["name"] == name) return one;
    return nullptr;
  }
  std::string said() const { return read_file(home.path() / "out") + read_file(home.path() / "err"); }

  TempFolder home;
  FakeHarness harness;
  fs::path json_file = home.path() / "figures.json";
  int rounds = 1;
};

TEST_F(TheBench, MeasuresEverythingAtASmallSize) {
  ASSERT_EQ(run({"drain",
                 "--count",
                 "300",
                 "noop",
                 "--count",
                 "300",
                 "ingest",
                 "--connections",
                 "2",
                 "--seconds",
                 "5",
                 "bulk",
                 "--count",
                 "200",
                 "--batch",
                 "50",
                 "--clients",
                 "2",
                 "burst",
                 "--count",
                 "200",
                 "--batch",
                 "50",
                 "latency",
                 "--count",
                 "5",
                 "slow",
                 "--count",
                 "60",
                 "--open",
                 "30",
                 "--wide-count",
                 "120",
                 "--wide-open",
                 "60",
                 "--delay",
                 "20",
                 "flapping",
                 "--count",
                 "3000",
                 "--open",
                 "30",
                 "--delay",
                 "20",
                 "growth",
                 "--small",
                 "100",
                 "--backlogs",
                 "2",
                 "--pending",
                 "500",
                 "--timed",
                 "100",
                 "--finished",
                 "500",
                 "snapshot",
                 "--count",
                 "300",
                 "memory",
                 "--count",
                 "300",
                 "--seconds",
                 "5",
                 "--large-count",
                 "40",
                 "--large-bytes",
                 "100000",
                 "--large-delay",
                 "20",
                 "many",
                 "--count",
                 "300",
                 "--targets",
                 "60",
                 "--newcomers",
                 "3",
                 "many_orgs",
                 "--organisations",
                 "30",
                 "--channels",
                 "3",
                 "--timed",
                 "20",
                 "--waiting",
                 "30000",
                 "--seconds",
                 "1",
                 "hanging",
                 "--count",
                 "100",
                 "--endpoints",
                 "3",
                 "--timed",
                 "20",
                 "retention",
                 "--count",
                 "300",
                 "--old",
                 "20000",
                 "hostile",
                 "--slow",
                 "20",
                 "--strangers",
                 "10",
                 "--timed",
                 "20",
                 "outage",
                 "--count",
                 "200",
                 "--seconds",
                 "1",
                 "hosts",
                 "--count",
                 "300",
                 "--noop-count",
                 "300"}),
            0)
      << said();
  std::set<std::string> names;
  const auto all = figures();
  for (const auto& one : all["benches"]) {
    names.insert(one["name"]);
    if (one["name"] != "outage_attempts") {
      EXPECT_GT(one["median"], 0) << one["name"];
    }
    EXPECT_EQ(one["runs"].size(), 1u) << one["name"];
  }
  EXPECT_EQ(names, (std::set<std::string>{"drain",
                                          "noop",
                                          "ingest",
                                          "bulk",
                                          "burst",
                                          "latency",
                                          "latency_p99",
                                          "answer",
                                          "slow",
                                          "slow_wide",
                                          "flapping",
                                          "growth",
                                          "growth_pending",
                                          "growth_finished",
                                          "snapshot",
                                          "memory",
                                          "memory_large",
                                          "many",
                                          "many_newcomer",
                                          "many_orgs",
                                          "many_orgs_at_once",
                                          "many_orgs_spread",
                                          "hanging",
                                          "retention",
                                          "hostile",
                                          "hostile_memory",
                                          "hostile_bodies",
                                          "hostile_batches",
                                          "outage",
                                          "outage_attempts",
                                          "hosts",
                                          "hosts_2",
                                          "hosts_4",
                                          "hosts_4_sharded",
                                          "hosts_noop",
                                          "hosts_noop_2",
                                          "hosts_noop_4",
                                          "hosts_noop_4_sharded"}));
  EXPECT_GT(figures_of("drain")["ratios"]["limit"], 0);
  EXPECT_GT(figures_of("growth_finished")["ratios"]["growth"], 0);
  EXPECT_GT(figures_of("many")["ratios"]["one_target"], 0);
  EXPECT_GT(figures_of("many_newcomer")["ratios"]["quiet"], 0);
  for (const auto* name : {"many_orgs_at_once", "many_orgs_spread", "hanging"})
    EXPECT_GT(figures_of(name)["ratios"]["quiet"], 0) << name;
  EXPECT_EQ(figures_of("many_orgs_at_once")["details"]["deliveries timed"], 20);
  EXPECT_GT(figures_of("hanging")["details"]["its attempts meanwhile"], 0);
  EXPECT_GT(figures_of("retention")["ratios"]["plain"], 0);
  EXPECT_GT(figures_of("hostile")["ratios"]["quiet"], 0);
  EXPECT_GT(figures_of("hosts_4_sharded")["ratios"]["hosts_4"], 0);
  for (const auto* name : {"drain", "ingest", "bulk", "hosts_4"})
    EXPECT_GT(figures_of(name)["details"]["WAL bytes each"], 0) << name;
  EXPECT_GT(figures_of("hosts_4")["details"]["sessions at the database"],
            figures_of("hosts")["details"]["sessions at the database"]);
  EXPECT_LE(figures_of("slow")["details"]["open at once, at most"], 30);
  EXPECT_EQ(all["failures"], nlohmann::json::array());
  EXPECT_EQ(harness.asked(), "") << "nobody asked for peers or limits";
}

// I7
TEST_F(TheBench, ComparesProcessesOfPluginsWithTheHostsOwn) {
  ASSERT_EQ(run({"isolated", "drain", "--count", "300", "noop", "--count", "300", "latency", "--count", "5"}), 0) << said();
  for (const auto* name : {"isolated", "isolated_noop", "isolated_latency"})
    EXPECT_GT(figures_of(name)["ratios"]["in_process"], 0) << name;
  for (const auto* name : {"isolated_python", "isolated_memory"}) EXPECT_GT(figures_of(name)["median"], 0) << figures_of(name);
  EXPECT_EQ(figures()["failures"], nlohmann::json::array());
}

TEST_F(TheBench, RunsPeersAndLimitsInTurn) {
  rounds = 2;
  ASSERT_EQ(run({"drain", "--count", "100", "latency", "--count", "2", "--against", "peers,limits"}), 0) << said();
  const std::string drain = std::string("peer graphile webhook\npeer pgboss webhook\nlimit e2e\n") + kRest;
  const std::string latency = std::string("peer graphile latency\npeer pgboss latency\n") + kRest;
  EXPECT_EQ(harness.asked(), FakeHarness::set_up() + drain + drain + latency + latency);
  for (const auto* rival : {"graphile-worker", "pg-boss", "hot_path_sketch", "limit"})
    EXPECT_GT(figures_of("drain")["ratios"][rival], 0) << rival;
  EXPECT_EQ(figures_of("latency_p99")["against"]["pg-boss"]["runs"], nlohmann::json({7.0, 7.0}));
}

TEST_F(TheBench, KeepsWhatItHasWhenAPeerFails) {
  harness.script("peer.sh", "echo no luck >&2; exit 3");
  EXPECT_EQ(run({"drain", "--count", "100", "latency", "--count", "2", "snapshot", "--count", "100", "--against", "peers"}), 1)
      << said();
  EXPECT_FALSE(figures_of("snapshot").is_null());
  EXPECT_TRUE(figures_of("drain").is_null());
  ASSERT_EQ(figures()["failures"].size(), 2u);
  EXPECT_NE(figures()["failures"][0]["why"].get<std::string>().find("no luck"), std::string::npos);
}

TEST_F(TheBench, GoesOnWithoutAHarness) {
  fs::remove(harness.folder() / "peer.sh");
  ASSERT_EQ(run({"latency", "--count", "2", "--against", "peers"}), 0) << said();
  EXPECT_EQ(harness.asked(), "");
  EXPECT_NE(said().find("measuring without"), std::string::npos) << said();
}

TEST_F(TheBench, RefusesAFileThatCannotBeWrittenBeforeItMeasures) {
  json_file = home.path() / "missing/figures.json";
  EXPECT_EQ(run({"latency", "--count", "2", "--against", "peers"}), 1);
  EXPECT_NE(said().find("cannot write"), std::string::npos) << said();
  EXPECT_EQ(harness.asked(), "");
}

TEST_F(TheBench, TakesAPeerDownWhenItIsInterrupted) {
  const auto pid_file = harness.folder() / "pid";
  harness.script("peer.sh", "tail -f /dev/null & echo $! >" + pid_file.string() + "; wait");
  Process bench(command({"latency", "--count", "2", "--against", "peers"}));
  ASSERT_TRUE(eventually([&] { return read_file(pid_file).ends_with('\n') || !bench.running(); }, kEnough));
  const auto child = static_cast<pid_t>(std::atoi(read_file(pid_file).c_str()));
  ASSERT_GT(child, 0) << said();
  bench.signal(SIGINT);
  EXPECT_EQ(bench.wait(kEnough), 130) << said();
  EXPECT_TRUE(eventually([&] { return ::kill(child, 0) != 0; }));
  EXPECT_EQ(figures()["benches"], nlohmann::json::array());  // that measure was not over
}

}  // namespace
}  // namespace waybill::testing
