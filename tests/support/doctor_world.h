// What `waybill doctor` says of an installation.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/world.h"

namespace waybill::testing {

class DoctorWorld : public World {
 protected:
  DoctorWorld() { set("fsync", "on"); }  // which tests do without elsewhere
  ~DoctorWorld() override { change("RESET ALL"); }

  // Changes a setting of the tests' server, until the end of the test.
  static void set(const std::string& name, const std::string& value) { change("SET " + name + " = " + value); }
  static void change(const std::string& what) {
    const auto read_at = [] { return SqlClient(cluster().url("postgres")).text("SELECT pg_conf_load_time()"); };
    const auto before = read_at();
    SqlClient admin(cluster().url("postgres"));
    admin.execute("ALTER SYSTEM " + what);
    admin.rows("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] { return read_at() != before; })) << what;
  }
  // Starts the host, and waits until it has said something of itself.
  void start_host() {
    ASSERT_EQ(client().get("/readyz").status, 200);
    ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.host_facts WHERE facts <> '{}'") == 1; }));
    ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.host_registries") == 1; }));
  }
  struct Visit {
    int exit_code = -1;
    nlohmann::json findings;
    std::string text;  // all that was printed
    // The level of a check, of one of its subjects if that is said; the worst of several. "absent".
    std::string level(const std::string& what, const std::string& subject = "") const {
      static const std::vector<std::string> kLevels{"absent", "ok", "note", "unknown", "warning", "problem"};
      std::size_t worst = 0;
      for (const auto& finding : findings)
        if (finding.at("what") == what && (subject.empty() || finding.at("subject") == subject))
          worst = std::max(
              worst, static_cast<std::size_t>(std::find(kLevels.begin(), kLevels.end(), finding.at("level").get<std::string>()) -
                                              kLevels.begin()));
      return kLevels.at(worst);
    }
    // The messages and remedies of a check.
    std::string said(const std::string& what) const {
      std::string all;
      for (const auto& finding : findings)
        if (finding.at("what") == what)
          all += finding.at("message").get<std::string>() + " -> " + finding.at("remedy").get<std::string>() + "\n";
      return all;
    }
    std::set<std::string> checks() const {
      std::set<std::string> all;
      for (const auto& finding : findings) all.insert(finding.at("what"));
      return all;
    }
    // The checks that found something.
    std::vector<std::string> found() const {
      std::vector<std::string> all;
      for (const auto& finding : findings)
        if (finding.at("level") != "ok" && finding.at("level") != "note") all.push_back(finding.at("what"));
      return all;
    }
  };
  Visit visit(const std::map<std::string, std::string>& environment = {}) {
    const auto result = installation().command({"doctor", "--json"}, environment);
    Visit visit{result.exit_code, {}, result.out + result.err};
    const auto answer = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_TRUE(answer.is_object()) << visit.text;
    if (!answer.is_object()) return visit;
    EXPECT_EQ(answer.at("exitCode"), result.exit_code);
    visit.findings = answer.at("findings");
    for (const auto& finding : visit.findings) {
      const bool is_calm = finding.at("level") == "ok" || finding.at("level") == "note";
      EXPECT_EQ(finding.at("remedy").get<std::string>().empty(), is_calm) << finding;
    }
    return visit;
  }
  static bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }
  // Looks until a check is at this level.
  bool becomes(const std::string& what, const std::string& level) {
    return eventually([&] { return visit().level(what) == level; });
  }
};

}  // namespace waybill::testing
