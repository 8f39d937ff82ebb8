// Why a delivery to a channel does not move, told to its organisation over HTTP and to the operator by `waybill explain`.  N11
#include <gtest/gtest.h>

#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class NotifyExplain : public World {
 protected:
  NotifyExplain() { use_key("first master key, of more than 32 bytes"); }

  void use_key(const std::string& key) const { write_file(keys_.path() / "master", key); }
  void configure(const std::string& notify) {
    setup.more = "secrets: { master: { file: \"" + (keys_.path() / "master").string() + "\" } }\nnotify: { key: master, " +
                 notify + " }\negress: { allow: [\"127.0.0.1/32\"] }\n";
    setup.retry += "\n  webhook: { kind: fixed, delay: 10m }";
  }
  HttpResponse call(const char* method, const std::string& path, const json& body = nullptr) {
    return client().request(method, "/orgs/default" + path, body.is_null() ? "" : body.dump());
  }
  // A rule that is bound to new channels of these names.
  std::string rule_with(const std::vector<std::string>& names) {
    const std::string rule = call("POST", "/alert-rules", {{"name", "critical"}}).json().at("id");
    for (const auto& name : names) {
      const auto made =
          call("POST", "/channels", {{"name", name}, {"type", "webhook"}, {"config", {{"url", gateway.url() + "/" + name}}}});
      EXPECT_EQ(made.status, 201) << made.body;
      channels_[name] = made.json().at("id");
      EXPECT_EQ(call("PUT", "/alert-rules/" + rule + "/channels/" + channels_[name]).status, 204);
    }
    return rule;
  }
  void add_event(const std::string& rule) {
    EXPECT_EQ(call("POST", "/alert-rules/" + rule + "/events", {{"eventId", std::to_string(++events_)}, {"snapshot", 1}}).status,
              202);
  }
  std::string delivery_to(const std::string& name) {
    return call("GET", "/deliveries?channel_id=" + channels_.at(name)).json().at("items").at(0).at("id");
  }
  void end_windows() { sql().execute("UPDATE waybill.ready SET due_at = now() WHERE status = 'open'"); }

  json told(const std::string& id) {
    const auto answer = call("GET", "/deliveries/" + id + "/explain");
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json();
  }
  bool wait_for_code(const std::string& id, const std::string& code) {
    return eventually([&] { return told(id).at("code") == code; });
  }
  // What the operator is told: the words, after a look that the code is the same.
  std::string told_operator(const std::string& id, const std::string& code) {
    const auto asked = installation().command({"explain", id, "--json"});
    EXPECT_EQ(asked.exit_code, 0) << asked.err;
    const auto answer = json::parse(asked.out);
    EXPECT_EQ(answer.at("code"), code) << answer;
    EXPECT_EQ(answer.at("id"), id);
    const std::string words = answer.at("why");
    EXPECT_NE(installation().command({"explain", id}).out.find("why      "), std::string::npos);
    return words;
  }

  std::map<std::string, std::string> channels_;
  int events_ = 0;

 private:
  TempFolder keys_;
};

// N4, N8
TEST_F(NotifyExplain, NamesTheWindowTheRetryAndTheEnd) {
  configure("debounce: 10m");
  add_event(rule_with({"ops"}));
  const auto id = delivery_to("ops");
  EXPECT_EQ(told(id).at("code"), "window_open");
  EXPECT_EQ(told(id).at("until"), call("GET", "/deliveries/" + id).json().at("send_after"));
  told_operator(id, "window_open");
  gateway.by_default(Reply::http_error(500));
  end_windows();
  ASSERT_TRUE(wait_for_code(id, "waiting_for_retry"));
  EXPECT_EQ(told(id).at("attempt_count"), 1);
  EXPECT_EQ(told(id).at("until"), call("GET", "/deliveries/" + id).json().at("send_after"));
  gateway.by_default(Reply::accept());
  sql().execute("UPDATE waybill.ready SET due_at = now()");
  ASSERT_TRUE(wait_for_code(id, "done"));
  EXPECT_NE(told(id).at("why").get<std::string>().find("by attempt 2"), std::string::npos) << told(id);
  told_operator(id, "done");
  for (const char* unknown : {"1", "x", "99999999999999999999"}) {
    EXPECT_EQ(call("GET", std::string("/deliveries/") + unknown + "/explain").status, 404) << unknown;
    EXPECT_EQ(installation().command({"explain", unknown}).exit_code, 1) << unknown;
  }
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  EXPECT_EQ(installation().command({"explain", id, "--org", "acme"}).exit_code, 1);
}

// N1, N6
TEST_F(NotifyExplain, NamesAChannelThatIsDisabledOrDeletedAndAMissingPlugin) {
  configure("debounce: 10m");
  const auto rule = rule_with({"ops"});
  add_event(rule);
  const auto id = delivery_to("ops");
  installation().remove_plugin("webhook");
  // T30: the host has it loaded, whatever lies in the folder of this machine; a host says so within its first second
  EXPECT_TRUE(eventually([&] {
    return json::parse(installation().command({"explain", id, "--json"}).out).at("code") == "window_open";
  }));
  told_operator(id, "window_open");
  EXPECT_EQ(told(id).at("code"), "window_open") << "this host has it loaded";
  EXPECT_EQ(host().terminate(), 0);
  EXPECT_NE(told_operator(id, "not_sent").find(installation().plugin_folder().string()), std::string::npos);
  restart_host();
  const auto without = ":" + std::to_string(host().pid()) + " has no plugin for action type webhook";
  installation().add_plugin(built_plugin("webhook"));
  EXPECT_TRUE(eventually([&] {
    return installation().command({"explain", id}).out.find(without) != std::string::npos;
  })) << installation().command({"explain", id}).out;
  told_operator(id, "not_sent");
  EXPECT_EQ(host().terminate(), 0);
  restart_host();
  sql().execute("UPDATE waybill.channels SET disabled_at = now(), disabled_reason = 'it is gone'");
  EXPECT_EQ(told(id).at("code"), "channel_disabled");
  EXPECT_NE(told(id).at("why").get<std::string>().find("(it is gone)"), std::string::npos);
  const std::string channel = "/channels/" + channels_.at("ops");
  EXPECT_EQ(call("PATCH", channel, {{"status", "active"}}).status, 200);
  EXPECT_EQ(told(id).at("code"), "window_open");
  EXPECT_EQ(call("PATCH", "/alert-rules/" + rule, {{"status", "disabled"}}).status, 200);
  EXPECT_EQ(call("DELETE", channel).status, 204);
  EXPECT_EQ(told(id).at("code"), "channel_deleted");
  end_windows();
  ASSERT_TRUE(wait_for_code(id, "done"));
  EXPECT_NE(told(id).at("why").get<std::string>().find("its channel was deleted"), std::string::npos);
}

// N9, N3: the host is named to the operator only.
TEST_F(NotifyExplain, NamesTheCapTheClaimAndADeadHost) {
  configure("debounce: 0s, per_org: 1");
  gateway.by_default(Reply::accept_when_released());
  add_event(rule_with({"first", "second"}));
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  const bool is_first = gateway.received().front().path == "/first";
  const auto claimed = delivery_to(is_first ? "first" : "second"), capped = delivery_to(is_first ? "second" : "first");
  ASSERT_TRUE(wait_for_code(capped, "capped"));
  EXPECT_EQ(told(claimed).at("code"), "claimed");
  const auto host_name = sql().text("SELECT name FROM waybill.hosts");
  EXPECT_NE(told_operator(claimed, "claimed").find(host_name), std::string::npos);
  EXPECT_NE(told(claimed).at("why").get<std::string>().find(" since "), std::string::npos);
  for (const auto& id : {claimed, capped}) EXPECT_EQ(told(id).dump().find(host_name), std::string::npos);
  told_operator(capped, "capped");
  host().kill_hard();
  ASSERT_TRUE(eventually([&] {
    return json::parse(installation().command({"explain", claimed, "--json"}).out).at("code") == "interrupted";
  }));
  EXPECT_NE(told_operator(claimed, "interrupted").find("no host is running"), std::string::npos);
  told_operator(capped, "no_host");
  gateway.release();
  restart_host();
  EXPECT_TRUE(wait_for_code(claimed, "done"));
  EXPECT_TRUE(wait_for_code(capped, "done"));
}

// N8
TEST_F(NotifyExplain, NamesTheCooldownOfItsChannel) {
  configure("debounce: 0s");
  gateway.by_default(Reply::too_many_requests(600));
  add_event(rule_with({"ops"}));
  const auto id = delivery_to("ops");
  ASSERT_TRUE(wait_for_code(id, "cooldown"));
  EXPECT_NE(told(id).at("why").get<std::string>().find("too_many_requests"), std::string::npos) << told(id);
  EXPECT_NE(told(id).at("until"), nullptr);
  told_operator(id, "cooldown");
}

// N1
TEST_F(NotifyExplain, NamesAMasterKeyThatIsNotThere) {
  configure("debounce: 10m");
  add_event(rule_with({"ops"}));
  const auto id = delivery_to("ops");
  host().terminate();
  use_key("another master key, of more than 32 bytes");
  give_up_host();
  Daemon locked(installation(), Daemon::Until::accepting);
  const auto answer = locked.client().get("/orgs/default/deliveries/" + id + "/explain");
  EXPECT_EQ(answer.json().at("code"), "secret_locked") << answer.body;
  EXPECT_EQ(answer.body.find("notify.key"), std::string::npos) << answer.body;
  EXPECT_NE(told_operator(id, "secret_locked").find("notify.key"), std::string::npos);
}

}  // namespace
}  // namespace waybill::testing
