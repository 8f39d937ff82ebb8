// Texts that colour, clear and overwrite a terminal, stored wherever a text is stored: no command hands them on.
#include <gtest/gtest.h>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// ESC [ 2 J, BEL, CR, DEL and C1's own CSI.
const std::string kHostile =
    "\x1b[2J\x07\rx\x7f\xc2\x9b"
    "31m";
const std::string kHostileSql = "E'\\x1b[2J\\x07\\rx\\x7f\\u009b31m'";

bool has_control(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

class HostileTexts : public World {
 protected:
  HostileTexts() {
    setup.retry = "{kind: fixed, delay: 10ms}";
    setup.more = "timeouts: {cooldown: 0ms, outage: 0ms, poll: 20ms}\n";
    setup.forms["contact.yaml"] =
        "form_id: contact\nname: A form\nactions:\n  - {action_order: 1, action_type: good, destination: \"" + gateway.url() +
        "\"}\n";
    gateway.by_default(Reply::http_error(503));
  }
  // As the tables' owner could: past every check of ours.
  void store(const std::string& table, const std::string& column) {
    sql().execute("SET session_replication_role = replica; UPDATE waybill." + table + " SET " + column + " = " + kHostileSql);
  }
  void expect_no_control(const std::vector<std::string>& arguments, bool shows) {
    std::string name;
    for (const auto& argument : arguments) name += argument + " ";
    for (const bool as_json : {false, true}) {
      auto all = arguments;
      if (as_json) all.emplace_back("--json");
      const auto result = installation().command(all);
      if (as_json && result.exit_code == 2) continue;  // it has no such output
      EXPECT_FALSE(has_control(result.out)) << name << result.out;
      EXPECT_FALSE(has_control(result.err)) << name << result.err;
      const bool shown = (result.out + result.err).find("[2J") != std::string::npos;
      EXPECT_TRUE(shown || !shows) << name << result.out << result.err;
    }
  }
};

// S6
TEST_F(HostileTexts, NoCommandPrintsControlBytes) {
  installation().add_plugin(bad_plugin("good"));
  EXPECT_EQ(post_intent(client(), sms_intent("i-1", "sms.attempts")).status, 200);
  EXPECT_EQ(wait_for_end(client(), "i-1").at("status"), "exhausted");
  ASSERT_EQ(client()
                .request("POST", "/v1/submissions",
                         R"({"submissionId":"f-1","formId":"contact","fields":{"name":"x"},"finalize":true})")
                .status,
            201);
  ASSERT_TRUE(eventually([&] { return client().get("/v1/submissions/f-1").json().at("status") == "failed"; }));
  ASSERT_EQ(client().request("POST", "/orgs", R"({"name":"other"})").status, 201);
  const auto letter = client().get("/v1/dead?reference=f-1").json().at("deadLetters").at(0).at("id").get<std::string>();
  ASSERT_EQ(client().request("PATCH", "/v1/dead/" + letter, json{{"fields", {{"name", kHostile}}}}.dump()).status, 200);
  sql().execute("DROP FUNCTION waybill.refuse() CASCADE");  // which keeps attempts as they were written
  for (const auto* command : {"error", "reason", "provider_ref"}) store("attempts", command);
  for (const auto* column : {"reason", "target"}) store("submissions", column);
  for (const auto* column : {"target", "reason", "client_ref", "replayed_by"}) store("dead_letters", column);
  store("dead_letter_edits", "actor");
  store("deliveries", "reason");
  sql().execute("SET session_replication_role = replica; UPDATE waybill.organisations SET name = " + kHostileSql +
                " WHERE name = 'other'");

  expect_no_control({"explain", "i-1"}, true);
  expect_no_control({"explain", "f-1"}, true);
  expect_no_control({"explain", kHostile}, true);
  expect_no_control({"dead", "list"}, true);
  expect_no_control({"dead", "show", letter}, true);
  expect_no_control({"dead", "replay", letter, "--dry-run"}, true);
  expect_no_control({"dead", "clone", letter, "--reference", kHostile}, false);
  expect_no_control({"org", "list"}, true);
  expect_no_control({"org", "show", kHostile}, true);
  expect_no_control({"token", "revoke", "nobody" + kHostile}, true);
  expect_no_control({"target", "resume", kHostile}, true);
  expect_no_control({"archive", "show", kHostile}, false);
  for (const auto& quiet : std::vector<std::vector<std::string>>{
           {"pipeline", "list"}, {"pipeline", "show", kHostile}, {"archive", "list"}, {"failures", "list"}, {kHostile}})
    expect_no_control(quiet, false);
  write_file(installation().plugin_folder() / (kHostile + ".so"), "no plugin");
  expect_no_control({"plugin", "list"}, true);
  expect_no_control({"check"}, true);
}

// S13
TEST_F(HostileTexts, CheckPrintsNoControlBytesOfAnyFile) {
  const auto of_file = [&](const std::string& more) {
    setup.more = more;
    EXPECT_FALSE(has_control(Installation(setup).command({"check"}).err)) << more;
    EXPECT_NE(Installation(setup).command({"check"}).err.find("[2J"), std::string::npos) << more;
  };
  of_file("\"colour\\x1b[2J\\x9b31m\": red\n");
  of_file("limits: {in_flight: \"\\x07\\x7f[2J\"}\n");
  of_file("secrets: {a: {file: \"/nowhere\\x1b[2J\"}}\n");
  setup.more.clear();
  installation().write_registry("{\"targets\": [{\"submissionTarget\": \"a\\u001b[2J\\u009b31m\", \"x\\u001b[2J\\u009b\": 1}]}");
  installation().write_form("bad.yaml", "form_id: \"\\x1b[2J\"\nname: \"\\x9b\"\nactions: []\n");
  expect_no_control({"check"}, true);
}

// S13
TEST_F(HostileTexts, CheckNamesFileAndLineOfASecret) {
  setup.more += "secrets:\n  partner: {env: NO_SUCH_VARIABLE_HERE}\n  two:\n    - {file: /nowhere/a}\n    - {file: /nowhere/b}\n";
  const auto file = installation().config().string();
  const auto text = read_file(file);
  const auto line_of = [&](const std::string& what) {
    return std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find(what)), '\n'));
  };
  const auto said = installation().command({"check"}).err;
  EXPECT_NE(said.find(file + ":" + line_of("NO_SUCH") + ": secrets.partner: environment variable NO_SUCH_VARIABLE_HERE"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(file + ":" + line_of("/nowhere/a") + ": secrets.two[0]: "), std::string::npos) << said;
  EXPECT_NE(said.find(file + ":" + line_of("/nowhere/b") + ": secrets.two[1]: "), std::string::npos) << said;
}

// S13
TEST_F(HostileTexts, CheckPrintsTheFirstMistakesAndHowManyMoreThereAre) {
  std::string targets;
  for (int i = 0; i < 10'000; ++i) targets += std::string(i == 0 ? "" : ",") + "\n{\"" + std::string(5'000, 'x') + "\": 1}";
  installation().write_registry("{\"targets\": [" + targets + "]}");
  const auto people = installation().command({"check"});
  EXPECT_EQ(people.exit_code, 1);
  EXPECT_EQ(std::count(people.err.begin(), people.err.end(), '\n'), 101);
  EXPECT_NE(people.err.find("more of such lines"), std::string::npos) << people.err.substr(people.err.size() - 200);
  EXPECT_LT(people.err.size(), 300'000u);
  const auto program = json::parse(installation().command({"check", "--json"}).out);
  EXPECT_EQ(program.at("problems").size(), 100u);
  EXPECT_GE(program.at("more"), 9'900);
  EXPECT_EQ(program.at("good"), false);
}

}  // namespace
}  // namespace waybill::testing
