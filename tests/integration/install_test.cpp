// `cmake --install`, and the installed program with the sample configuration, from a folder of its own.
#include <gtest/gtest.h>
#include <signal.h>

#include <regex>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class Installed : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto done = run({.arguments = {WAYBILL_CMAKE, "--install", WAYBILL_BUILD_FOLDER, "--prefix", prefix().string(),
                                         "--component", "runtime"}});
    ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
    fs::create_directory(place());
    fs::copy_file(prefix() / "share/waybill/waybill.yaml", place() / "waybill.yaml");
  }
  fs::path prefix() const { return folder.path() / "moved" / "prefix"; }
  fs::path place() const { return folder.path() / "place"; }
  Command waybill(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), (prefix() / "bin/waybill").string());
    // The sample's port may be taken on this machine.
    return {.arguments = std::move(arguments),
            .environment = {{"WAYBILL_LISTEN", "127.0.0.1:0"}, {"WAYBILL_PORT_FILE", (place() / "port").string()}},
            .folder = place(),
            .err = place() / "log"};
  }

  TempFolder folder;
};

// D12
TEST_F(Installed, TheSampleWorksAsItIs) {
  auto check = waybill({"check"});
  check.err.clear();
  const auto checked = run(check);
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.out.find("good: 8 plugin(s)"), std::string::npos) << checked.out;
  ASSERT_EQ(run(waybill({"migrate"})).exit_code, 0) << read_file(place() / "log");
  const auto token = run(waybill({"token", "create", "shop", "--json"}));
  ASSERT_EQ(token.exit_code, 0) << read_file(place() / "log");
  Process host(waybill({"serve"}));
  std::uint16_t port = 0;
  ASSERT_TRUE(eventually([&] {
    port = static_cast<std::uint16_t>(std::atoi(read_file(place() / "port").c_str()));
    return port != 0 || !host.running();
  }));
  ASSERT_TRUE(host.running()) << read_file(place() / "log");
  HttpClient client(port);
  client.authorize(json::parse(token.out).at("token").get<std::string>());
  const auto answer = client.request("POST", "/v1/intents",
                                     json{{"intentId", "first"},
                                          {"submissionTarget", "sms.otp"},
                                          {"payload", {{"to", "+15550100"}, {"message", "Your parcel is here"}}}}
                                         .dump());
  EXPECT_EQ(answer.status, 200) << answer.body;
  // Nobody listens where the sample's target leads: the plugin is entered, and what came of it is recorded.
  EXPECT_TRUE(eventually([&] {
    const auto state = client.get("/v1/intents/first");
    return state.status == 200 && state.json().at("status") != "pending";
  })) << read_file(place() / "log");
  host.signal(SIGTERM);
  EXPECT_EQ(host.wait(), 0) << read_file(place() / "log");
}

// D12
TEST_F(Installed, DocumentsComeAlong) {
  for (const char* file : {"operations/running.md", "operations/runbook.md", "operations/configuration.md",
                           "operations/commands.md", "commands/check.schema.json", "commands/error.schema.json", "openapi.yaml",
                           "http-api.md", "plugins/webhook/README.md", "plugins/email_raw/README.md"})
    EXPECT_TRUE(fs::is_regular_file(prefix() / "share/doc/waybill" / file)) << file;
}

// T31
TEST_F(Installed, LinksOfDocumentsLeadSomewhere) {
  static const std::regex kLink(R"(\]\(([^)\s#]+)(#[^)\s]*)?\))");
  std::size_t seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(prefix() / "share")) {
    if (entry.path().extension() != ".md") continue;
    const auto text = read_file(entry.path());
    for (auto at = std::sregex_iterator(text.begin(), text.end(), kLink); at != std::sregex_iterator(); ++at) {
      const std::string link = (*at)[1];
      if (link.find(':') != std::string::npos || link.find_first_of("&;") != std::string::npos ||
          link.find('.') == std::string::npos)
        continue;
      ++seen;
      EXPECT_TRUE(fs::exists(entry.path().parent_path() / link)) << fs::relative(entry.path(), prefix()) << ": " << link;
    }
  }
  EXPECT_GT(seen, 150u);
}

// O8
TEST_F(Installed, WithoutAConfigurationItNamesItsOwnSample) {
  fs::remove(place() / "waybill.yaml");
  auto check = waybill({"check"});
  check.err.clear();
  const auto checked = run(check);
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_NE(checked.err.find("cp " + (prefix() / "share/waybill/waybill.yaml").string() + " ."), std::string::npos)
      << checked.err;
}

// D12: what stands beside the configuration comes before what was installed
TEST_F(Installed, AFolderBesideTheConfigurationIsPreferred) {
  fs::create_directory(place() / "registry");
  write_file(place() / "registry/targets.json", "{\"targets\": []}\n");
  auto check = waybill({"check"});
  check.err.clear();
  const auto checked = run(check);
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_TRUE(checked.err.starts_with("registry/targets.json:")) << checked.err;
}

}  // namespace
}  // namespace waybill::testing
