// What a real host tells Prometheus, given to the rules and alerts of docs/operations/prometheus: none fires while all is well,
// and those fire that should when it is not. O3
#include <gtest/gtest.h>

#include <cmath>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using Scrape = std::map<std::string, double>;  // by series, as promtool writes one

constexpr int kMinutesOfScrape = 20;  // so long a scrape stands for what Prometheus saw

class Monitoring : public World {
 protected:
  Monitoring() { setup.more = "metrics: {objective: 5s}\n"; }

  Scrape scrape() {
    Scrape seen{{R"(up{job="waybill",instance="host"})", 1}};
    std::istringstream lines(client().get("/metrics").body);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty() || line[0] == '#') continue;
      const auto end = line.rfind(' ');
      auto series = line.substr(0, end);
      if (series.back() == '}')
        series.insert(series.size() - 1, R"(,job="waybill",instance="host")");
      else
        series += R"({job="waybill",instance="host"})";
      seen[series] = std::stod(line.substr(end + 1));
    }
    return seen;
  }

  // The series of these scrapes, each held for so long.
  static std::string input_of(const std::vector<Scrape>& scrapes) {
    std::set<std::string> names;
    for (const auto& one : scrapes)
      for (const auto& [name, value] : one) names.insert(name);
    std::ostringstream text;
    text << std::fixed << std::setprecision(6);
    for (const auto& name : names) {
      text << "  - {series: '" << name << "', values: '";
      for (const auto& one : scrapes) {
        const auto found = one.find(name);
        if (found == one.end())
          text << "_x" << kMinutesOfScrape - 1 << " ";
        else
          text << found->second << "x" << kMinutesOfScrape - 1 << " ";
      }
      text << "'}\n";
    }
    return text.str();
  }

  // What fires so many minutes after the first scrape.
  void expect_firing(const std::vector<Scrape>& scrapes, const std::map<int, std::set<std::string>>& by_minute) {
    const auto rules = std::filesystem::path(WAYBILL_SOURCE_FOLDER) / "docs/operations/prometheus";
    std::ostringstream text;
    text << "rule_files: [" << (rules / "rules.yml").string() << ", " << (rules / "alerts.yml").string() << "]\n"
         << "evaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n"
         << input_of(scrapes) << "  promql_expr_test:\n";
    for (const auto& [minute, names] : by_minute) {
      text << "  - expr: 'count by (alertname) (ALERTS{alertstate=\"firing\"})'\n    eval_time: " << minute
           << "m\n    exp_samples:" << (names.empty() ? " []\n" : "\n");
      for (const auto& name : names) text << "    - {labels: '{alertname=\"" << name << "\"}', value: 1}\n";
    }
    const TempFolder folder;
    write_file(folder.path() / "test.yml", text.str());
    const auto checked = run({.arguments = {"/usr/bin/promtool", "test", "rules", (folder.path() / "test.yml").string()}});
    EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  }

  void send(int count, const std::string& prefix, const std::string& target) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(post_intent(client(), sms_intent(prefix + std::to_string(i), target), 30).status, 200);
  }
  double ends(const std::string& target, const std::string& end) {
    return metric(client(),
                  "waybill_objective_ends_total{end=\"" + end + "\",organisation=\"default\",target=\"" + target + "\"}", 0);
  }
};

// O3
TEST_F(Monitoring, AHostThatIsWellFiresNoAlertAndTroubleFiresItsOwn) {
  std::vector<Scrape> well;
  for (const auto* prefix : {"a", "b", "c"}) {
    send(10, prefix, "sms.patient");
    ASSERT_TRUE(eventually([&] { return ends("sms.patient", "within") >= 10 * static_cast<double>(well.size() + 1); }));
    well.push_back(scrape());
  }
  EXPECT_EQ(metric(client(), "waybill_ready"), 1);
  EXPECT_EQ(metric(client(), "waybill_objective_seconds"), 5);
  EXPECT_GT(metric(client(), "waybill_memory_limit_bytes"), metric(client(), "process_resident_memory_bytes"));
  expect_firing(well, {{15, {}}, {35, {}}, {55, {}}});

  auto rejecting = well;
  for (int i = 0; i < 15; ++i) gateway.script("r" + std::to_string(i), {Reply::reject("invalid_request")});
  send(15, "r", "sms.patient");
  ASSERT_TRUE(eventually([&] { return ends("sms.patient", "rejected") >= 15; }));
  sql().execute(
      "INSERT INTO waybill.dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, "
      "reason, died_at) VALUES (0, 1, 1, 1, 'form', 'dead', 'one', 1, 'email_raw', 'rejected', now())");
  ASSERT_TRUE(eventually([&] { return metric(client(), "submission_dead_letters_waiting") == 1; }));
  rejecting.push_back(scrape());
  expect_firing(rejecting, {{58, {}}, {70, {"WaybillDeadLetters", "WaybillTargetRejects"}}, {79, {"WaybillDeadLetters"}}});

  auto outage = well;
  sql().execute("UPDATE waybill.dead_letters SET replayed_at = now()");
  gateway.by_default(Reply::accept_when_released());
  for (int i = 0; i < 20; ++i) post_intent(client(), sms_intent("held" + std::to_string(i), "sms.patient"));
  const std::string overdue = R"(waybill_objective_overdue{organisation="default",target="sms.patient"})";
  ASSERT_TRUE(
      eventually([&] { return metric(client(), overdue, 0) >= 20 && metric(client(), "submission_dead_letters_waiting") == 0; }));
  for (int i = 0; i < 3; ++i) outage.push_back(scrape());
  cluster().stop(PostgresCluster::Stop::immediate);
  EXPECT_TRUE(eventually([&] { return client().get("/readyz").status == 503; }));
  ASSERT_TRUE(eventually([&] { return metric(client(), "submission_database_up") == 0; }));
  outage.push_back(scrape());
  EXPECT_EQ(metric(client(), "waybill_ready"), 0);
  cluster().start();
  gateway.release();
  ASSERT_TRUE(eventually([&] { return ends("sms.patient", "late") >= 20; })) << client().get("/metrics").body;
  EXPECT_TRUE(eventually([&] { return metric(client(), overdue) == 0; }));
  const std::set<std::string> missed{"WaybillObjectiveBurnsFast", "WaybillObjectiveBurns"};
  auto and_away = missed;
  and_away.insert({"WaybillObjectiveBurnsSlowly", "WaybillDatabaseDown", "WaybillNotReady"});
  expect_firing(outage, {{59, {}}, {100, missed}, {130, and_away}});
}

// O3
TEST_F(Monitoring, BothFormsOfTheMetricsAreWhatTheirReadersTake) {
  const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(client()
                  .request("POST", "/v1/intents?waitSeconds=30", sms_intent("t" + std::to_string(i), "sms.patient").dump(),
                           {{"traceparent", "00-" + trace_id + "-00f067aa0ba902b7-01"}})
                  .status,
              200);
  ASSERT_TRUE(eventually([&] { return ends("sms.patient", "within") == 3; }));
  const TempFolder folder;
  const auto classic = client().get("/metrics");
  EXPECT_EQ(classic.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  write_file(folder.path() / "classic", classic.body);
  const auto checked =
      run({.arguments = {"/bin/sh", "-c", "/usr/bin/promtool check metrics <" + (folder.path() / "classic").string()}});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;

  const auto open = client().request("GET", "/metrics", "", {{"Accept", "application/openmetrics-text; version=1.0.0"}});
  EXPECT_EQ(open.header("Content-Type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
  write_file(folder.path() / "open", open.body);
  const auto script = std::string(WAYBILL_SOURCE_FOLDER) + "/tests/support/read_open_metrics.py";
  const auto read =
      run({.arguments = {"/bin/sh", "-c", "/usr/bin/python3 " + script + " <" + (folder.path() / "open").string()}});
  ASSERT_EQ(read.exit_code, 0) << read.err << open.body;
  const auto seen = nlohmann::json::parse(read.out);
  EXPECT_EQ(seen.at("families").at("submission_intents"), "counter");
  EXPECT_EQ(seen.at("families").at("submission_attempt_seconds"), "histogram");
  std::set<std::string> with_exemplars;
  for (const auto& exemplar : seen.at("exemplars")) {
    with_exemplars.insert(exemplar.at("sample").get<std::string>());
    EXPECT_EQ(exemplar.at("trace").at("trace_id"), trace_id);
    EXPECT_EQ(exemplar.at("labels").at("action_type"), "sms");
    EXPECT_GT(exemplar.at("value").get<double>(), 0);
    const auto bound = exemplar.at("labels").at("le").get<std::string>();
    EXPECT_LE(exemplar.at("value").get<double>(), bound == "+Inf" ? HUGE_VAL : std::stod(bound));
    EXPECT_GT(exemplar.at("timestamp").get<double>(), 1.7e9);
  }
  EXPECT_EQ(with_exemplars, (std::set<std::string>{"submission_attempt_seconds_bucket", "submission_end_to_end_seconds_bucket"}));
}

}  // namespace
}  // namespace waybill::testing
