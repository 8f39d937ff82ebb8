// Rules, alerts and dashboard against Prometheus' own checker, the metrics that there are, and the runbook. O3
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "docs/snippets.h"

namespace waybill::testing {
namespace {

const std::filesystem::path kRules = source_folder() / "docs/operations/prometheus";

struct Checked {
  int status = -1;
  std::string said;
};
Checked promtool(const std::string& arguments) {
  Checked checked;
  FILE* pipe = popen(("promtool " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return checked;
  std::array<char, 4096> part;
  while (const auto size = fread(part.data(), 1, part.size(), pipe)) checked.said.append(part.data(), size);
  checked.status = pclose(pipe);
  return checked;
}

std::filesystem::path temporary(const std::string& name, const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / ("waybill-" + std::to_string(getpid()) + "-" + name);
  std::ofstream(file) << text;
  return file;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

// Every rule of a file: `alert` or `record`.
std::vector<YAML::Node> rules_of(const std::string& file, const std::string& kind) {
  std::vector<YAML::Node> all;
  for (const auto& group : YAML::LoadFile((kRules / file).string())["groups"])
    for (const auto& rule : group["rules"])
      if (rule[kind]) all.push_back(rule);
  return all;
}

// Every query of the dashboard, its variables included, as Prometheus would get it.
std::vector<std::string> dashboard_queries() {
  const auto dashboard = nlohmann::json::parse(text_of(source_folder() / "docs/operations/grafana/waybill.json"));
  std::vector<std::string> all;
  for (const auto& panel : dashboard.at("panels"))
    for (const auto& target : panel.value("targets", nlohmann::json::array())) {
      auto query = target.at("expr").get<std::string>();
      for (const auto& [what, with] : {std::pair("$__rate_interval", "5m"), {"$host", ".*"}, {"$org", ".*"}})
        query = replaced(query, what, with);
      EXPECT_EQ(query.find('$'), std::string::npos) << query << " has a variable that the dashboard does not define";
      all.push_back(query);
    }
  return all;
}

// The names of series in a query: what is neither a function, a word of the language nor a label.
std::set<std::string> series_of(std::string query) {
  static const std::regex kText("\"[^\"]*\""), kLabels(R"(\{[^}]*\}|\b(by|without|on|ignoring)\s*\([^)]*\)|\[[^\]]*\])"),
      kName(R"([a-zA-Z_:][a-zA-Z0-9_:]*)");
  static const std::set<std::string> kWords{"and", "or", "unless", "offset", "inf"};
  query = std::regex_replace(query, kText, "");
  query = std::regex_replace(query, kLabels, " ");
  std::set<std::string> names;
  for (auto it = std::sregex_iterator(query.begin(), query.end(), kName); it != std::sregex_iterator(); ++it) {
    const auto end = static_cast<std::size_t>(it->position() + it->length());
    const auto next = query.find_first_not_of(' ', end);
    const bool is_function = next != std::string::npos && query[next] == '(';
    const bool is_number =
        it->position() > 0 && std::isdigit(static_cast<unsigned char>(query[static_cast<std::size_t>(it->position()) - 1])) != 0;
    if (!is_function && !is_number && !kWords.contains((*it)[0])) names.insert((*it)[0]);
  }
  return names;
}

// What the host's program calls its metrics, and what Prometheus and the rules make of them.
std::set<std::string> known_series() {
  static const std::regex kFamily(R"re("((?:submissions?|waybill|process|queue|job)_[a-z_]+)")re");
  std::set<std::string> names{"up"};
  for (const auto& file : files_below("host/telemetry", {".cpp"})) {
    const auto text = text_of(source_folder() / file);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), kFamily); it != std::sregex_iterator(); ++it) {
      names.insert((*it)[1]);
      names.insert((*it)[1].str() + "_bucket");
    }
  }
  for (const auto& rule : rules_of("rules.yml", "record")) names.insert(rule["record"].as<std::string>());
  return names;
}

void expect_known(const std::string& query, const std::string& where) {
  static const auto known = known_series();
  const auto series = series_of(query);
  EXPECT_FALSE(series.empty()) << query;
  for (const auto& name : series)
    EXPECT_TRUE(known.contains(name)) << where << " uses " << name << ", which nothing has: " << query;
}

TEST(Monitoring, PrometheusTakesTheRules) {
  const auto checked = promtool("check rules " + (kRules / "rules.yml").string() + " " + (kRules / "alerts.yml").string());
  EXPECT_EQ(checked.status, 0) << checked.said;
  EXPECT_NE(checked.said.find("SUCCESS"), std::string::npos) << checked.said;
}

TEST(Monitoring, EachAlertFiresWhenItShouldAndNoneWhereAllIsWell) {
  const auto text = text_of(source_folder() / "tests/docs/alert_rules.yml");
  for (const auto& rule : rules_of("alerts.yml", "alert"))
    EXPECT_NE(text.find("alertname=\"" + rule["alert"].as<std::string>() + "\""), std::string::npos)
        << "no test shows " << rule["alert"] << " firing";
  const auto file = temporary("alerts.yml", replaced(text, "RULES", kRules.string()));
  const auto checked = promtool("test rules " + file.string());
  std::filesystem::remove(file);
  EXPECT_EQ(checked.status, 0) << checked.said;
  EXPECT_NE(checked.said.find("SUCCESS"), std::string::npos) << checked.said;
}

TEST(Monitoring, EachAlertNamesASectionOfTheRunbookAndIsExplained) {
  std::set<std::string> sections;
  for (const auto& line : lines_of(source_folder() / "docs/operations/runbook.md"))
    if (line.starts_with("## ")) {
      std::string anchor;
      for (const char c : line.substr(3))
        if (c == ' ')
          anchor += '-';
        else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-')
          anchor += static_cast<char>(std::tolower(c));
      sections.insert(anchor);
    }
  const auto page = text_of(source_folder() / "docs/operations/monitoring.md");
  const std::string book = "docs/operations/runbook.md#";
  const auto alerts = rules_of("alerts.yml", "alert");
  EXPECT_GT(alerts.size(), 20u);
  for (const auto& rule : alerts) {
    const auto name = rule["alert"].as<std::string>();
    for (const char* word : {"summary", "description", "runbook"}) ASSERT_TRUE(rule["annotations"][word]) << name << ": " << word;
    const auto runbook = rule["annotations"]["runbook"].as<std::string>();
    ASSERT_TRUE(runbook.starts_with(book)) << name << ": " << runbook;
    const auto section = runbook.substr(book.size());
    EXPECT_TRUE(sections.contains(section)) << name << ": the runbook has no section " << section;
    EXPECT_NE(page.find("| [" + name + "](runbook.md#" + section + ") |"), std::string::npos) << name << " is not explained";
  }
}

TEST(Monitoring, AlertsAndRulesUseMetricsThatThereAre) {
  for (const auto& [file, kind] : {std::pair("rules.yml", "record"), {"alerts.yml", "alert"}})
    for (const auto& rule : rules_of(file, kind)) expect_known(rule["expr"].as<std::string>(), rule[kind].as<std::string>());
}

TEST(Monitoring, TheDashboardsQueriesAreValidAndUseMetricsThatThereAre) {
  const auto queries = dashboard_queries();
  EXPECT_GT(queries.size(), 30u);
  std::string rules = "groups:\n- name: dashboard\n  rules:\n";
  for (std::size_t i = 0; i < queries.size(); ++i) {
    expect_known(queries[i], "the dashboard");
    rules += "  - record: dashboard:query" + std::to_string(i) + "\n    expr: " + nlohmann::json(queries[i]).dump() + "\n";
  }
  const auto file = temporary("dashboard.yml", rules);
  const auto checked = promtool("check rules " + file.string());
  std::filesystem::remove(file);
  EXPECT_EQ(checked.status, 0) << checked.said;
}

TEST(Monitoring, TheDashboardIsForGrafana10AndAnyPrometheus) {
  const auto dashboard = nlohmann::json::parse(text_of(source_folder() / "docs/operations/grafana/waybill.json"));
  EXPECT_GE(dashboard.at("schemaVersion").get<int>(), 38);
  std::set<std::string> variables;
  for (const auto& variable : dashboard.at("templating").at("list")) variables.insert(variable.at("name"));
  EXPECT_EQ(variables, (std::set<std::string>{"datasource", "host", "org"}));
  std::set<int> ids;
  for (const auto& panel : dashboard.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << panel.at("title");
    const auto& place = panel.at("gridPos");
    EXPECT_LE(place.at("x").get<int>() + place.at("w").get<int>(), 24) << panel.at("title");
    for (const auto& target : panel.value("targets", nlohmann::json::array()))
      EXPECT_EQ(target.at("datasource").at("uid"), "${datasource}") << panel.at("title");
  }
}

}  // namespace
}  // namespace waybill::testing
