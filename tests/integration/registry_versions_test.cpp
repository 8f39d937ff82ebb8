// Who changed the registry, when, from what to what, and back again: by command and over HTTP, on a real host.  O5
#include <gtest/gtest.h>

#include "support/eventually.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class RegistryVersions : public World {
 protected:
  RegistryVersions() { setup.registry = registry_with(60); }

  std::string registry_with(int seconds, bool also_new = false) {
    std::vector<json> targets{target("sms.a", "sms", gateway.url(), "deadline", seconds, {"invalid_request"})};
    if (also_new) targets.push_back(target("sms.new", "sms", gateway.url(), "max_attempts", 3, {"invalid_request"}));
    return registry_of(targets);
  }
  CommandResult registry(std::vector<std::string> words) {
    words.insert(words.begin(), "registry");
    return installation().command(words);
  }
  json log() { return json::parse(registry({"log", "--json"}).out)["items"]; }
  void wait_for_events(std::size_t count) {
    ASSERT_TRUE(eventually([&] { return log().size() == count; })) << log();
  }
  void change_to(const std::string& text) {
    installation().write_registry(text);
    const auto reloaded = installation().command({"reload"});
    ASSERT_EQ(reloaded.exit_code, 0) << reloaded.out << reloaded.err;
  }
  std::string on_disk() { return read_file(installation().registry_file()); }
};

// O5
TEST_F(RegistryVersions, TellWhoChangedWhatWhen) {
  host();
  wait_for_events(1);
  change_to(registry_with(90, true));
  const auto all = log();
  ASSERT_EQ(all.size(), 2u) << all;
  EXPECT_EQ(all[0]["trigger"], "reload");
  EXPECT_NE(all[0]["actor"].get<std::string>().find("@"), std::string::npos) << "user and machine of the command";
  EXPECT_EQ(all[0]["targets"], (json{{"added", 1}, {"changed", 1}, {"removed", 0}}));
  EXPECT_EQ(all[1]["trigger"], "start");
  EXPECT_EQ(all[1]["process"], all[1]["actor"]);
  const auto first = std::to_string(all[1]["version"].get<int>()), second = std::to_string(all[0]["version"].get<int>());
  const auto words = registry({"diff", first}).out;
  EXPECT_NE(words.find("targets.json: target sms.a: maxAcceptanceSeconds\n  - 60\n  + 90\n"), std::string::npos) << words;
  EXPECT_NE(words.find("target sms.new (added)"), std::string::npos) << words;
  const auto back = json::parse(registry({"diff", second, first, "--json"}).out);
  EXPECT_EQ(back["to"], all[1]["version"]);
  EXPECT_EQ(back["differences"].size(), 2u);
  EXPECT_EQ(registry({"show", second, "--file", "targets.json"}).out, on_disk());
  EXPECT_EQ(registry({"show", first, "--file", "targets.json"}).out, setup.registry);
  EXPECT_NE(registry({"log"}).out.find("start of "), std::string::npos);
  installation().command({"reload"});
  restart_host();
  EXPECT_EQ(log().size(), 2u) << "nothing has changed";
}

// O5
TEST_F(RegistryVersions, AnotherHostWithTheSameFilesAddsNothingAndAReloadThatIsRefusedNeither) {
  host();
  wait_for_events(1);
  const Installation place(setup);
  Daemon second(place);
  ASSERT_TRUE(second.wait_for_log("registry.known"));
  installation().write_registry("{\"targets\": [}");
  EXPECT_EQ(installation().command({"reload"}).exit_code, 1);
  change_to(registry_with(90));
  EXPECT_EQ(log().size(), 2u) << log();
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.registry_versions"), 2);
}

// O5
TEST_F(RegistryVersions, ARollbackPutsTheFilesInPlaceAndAReloadPutsThemInForce) {
  host();
  wait_for_events(1);
  const auto first = std::to_string(log()[0]["version"].get<int>());
  change_to(registry_with(90, true));
  const auto now = on_disk();
  const auto tried = registry({"rollback", first, "--dry-run"});
  EXPECT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_NE(tried.out.find("nothing was written"), std::string::npos) << tried.out;
  EXPECT_EQ(on_disk(), now);
  const auto done = json::parse(registry({"rollback", first, "--json"}).out);
  EXPECT_EQ(on_disk(), setup.registry);
  EXPECT_EQ(read_file(fs::path(done["backup"].get<std::string>()) / "targets.json"), now);
  ASSERT_EQ(log().size(), 2u) << "the host has not taken it up yet";
  EXPECT_EQ(installation().command({"reload"}).exit_code, 0);
  ASSERT_EQ(log().size(), 3u);
  EXPECT_EQ(log()[0]["version"], std::stoi(first));
  EXPECT_EQ(client().request("POST", "/v1/intents", sms_intent("x", "sms.new").dump()).status, 400);
  EXPECT_NE(registry({"rollback", first}).out.find("already"), std::string::npos);
}

// O5
TEST_F(RegistryVersions, ARollbackOverwritesNoEditUnlessItIsForcedAndNothingThatDoesNotPass) {
  host();
  wait_for_events(1);
  const auto first = std::to_string(log()[0]["version"].get<int>());
  change_to(registry_with(90));
  installation().write_registry(registry_with(120));
  const auto refused = registry({"rollback", first});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("somebody has edited them"), std::string::npos) << refused.err;
  EXPECT_EQ(on_disk(), registry_with(120));
  EXPECT_EQ(registry({"rollback", first, "--force"}).exit_code, 0);
  EXPECT_EQ(on_disk(), setup.registry);
  EXPECT_EQ(registry({"rollback", "99"}).exit_code, 1);
  installation().remove_plugin("sms");
  const auto second = std::to_string(log()[0]["version"].get<int>());
  const auto unfit = registry({"rollback", second, "--force"});
  EXPECT_EQ(unfit.exit_code, 1);
  EXPECT_NE(unfit.err.find("does not pass `waybill check`"), std::string::npos) << unfit.err;
  EXPECT_EQ(on_disk(), setup.registry);
  for (const auto& entry : fs::directory_iterator(installation().folder()))
    EXPECT_EQ(entry.path().string().find(".rollback-"), std::string::npos) << "left behind: " << entry.path();
}

class RegistryVersionsOverHttp : public RegistryVersions {
 protected:
  RegistryVersionsOverHttp() { setup.auth = "tokens"; }
};

// O5 S8
TEST_F(RegistryVersionsOverHttp, OperatorsReadThemAndTheirTokensAreTheActors) {
  host();
  wait_for_events(1);
  auto keeper = client_of("default", "operator"), owner = client_of("default", "owner");
  EXPECT_EQ(owner.get("/v1/registry/versions").status, 403);
  EXPECT_EQ(owner.get("/v1/registry/versions/1").status, 403);
  installation().write_registry(registry_with(90));
  ASSERT_EQ(keeper.request("POST", "/v1/admin/reload", "").status, 200);
  const auto page = keeper.get("/v1/registry/versions?limit=1").json();
  ASSERT_EQ(page["items"].size(), 1u);
  EXPECT_NE(page["items"][0]["actor"].get<std::string>().find("default-operator"), std::string::npos) << page;
  const auto rest = keeper.get("/v1/registry/versions?cursor=" + page["next"].get<std::string>()).json();
  EXPECT_EQ(rest["items"].size(), 1u);
  EXPECT_EQ(rest["next"], nullptr);
  const auto version = keeper.get("/v1/registry/versions/" + std::to_string(page["items"][0]["version"].get<int>()));
  ASSERT_EQ(version.status, 200) << version.body;
  EXPECT_EQ(version.json()["files"][0]["content"], registry_with(90));
  EXPECT_EQ(keeper.get("/v1/registry/versions/999").status, 404);
  for (const char* wrong : {"0", "-1", "x", "1x", "99999999999"})
    EXPECT_EQ(keeper.get(std::string("/v1/registry/versions/") + wrong).status, 400) << wrong;
  for (const char* wrong : {"limit=0", "cursor=x", "cursor=", "cursor=-1", "more=1"})
    EXPECT_EQ(keeper.get(std::string("/v1/registry/versions?") + wrong).status, 400) << wrong;
}

}  // namespace
}  // namespace waybill::testing
