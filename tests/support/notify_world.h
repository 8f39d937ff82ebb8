// An installation with a master key, and calls of the organisation `default` for its channels, rules, events and deliveries.
#pragma once

#include <string>
#include <vector>

#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {

class NotifyWorld : public World {
 protected:
  NotifyWorld() { use_key("first master key, of more than 32 bytes"); }

  void use_key(const std::string& key) const { write_file(keys_.path() / "master", key); }
  void configure(const std::string& notify) {
    setup.more = "secrets: { master: { file: \"" + (keys_.path() / "master").string() + "\" } }\nnotify: { key: master, " +
                 notify +
                 " }\n"
                 "egress: { allow: [\"127.0.0.1/32\"] }\n";
  }

  HttpResponse call(const char* method, const std::string& path, const nlohmann::json& body = nullptr) {
    return client().request(method, "/orgs/default" + path, body.is_null() ? "" : body.dump());
  }
  static nlohmann::json webhook(const std::string& name, const std::string& url) {
    return {{"name", name}, {"type", "webhook"}, {"config", {{"url", url}}}};
  }
  nlohmann::json add_channel(const std::string& name, const std::string& path = "/hook") {
    const auto response = call("POST", "/channels", webhook(name, gateway.url() + path));
    EXPECT_EQ(response.status, 201) << response.body;
    return response.json();
  }
  std::string add_rule(const std::string& status = "active") {
    const auto response = call("POST", "/alert-rules", {{"name", "critical"}, {"status", status}});
    EXPECT_EQ(response.status, 201) << response.body;
    return response.json().at("id");
  }
  void bind(const std::string& rule, const nlohmann::json& channel) {
    EXPECT_EQ(call("PUT", "/alert-rules/" + rule + "/channels/" + channel.at("id").get<std::string>()).status, 204);
  }
  HttpResponse add_event(const std::string& rule, const std::string& id, const nlohmann::json& snapshot, bool suppress = false) {
    return call("POST", "/alert-rules/" + rule + "/events",
                {{"eventId", id}, {"snapshot", snapshot}, {"suppressDelivery", suppress}});
  }
  nlohmann::json deliveries(const std::string& query = "") { return call("GET", "/deliveries" + query).json().at("items"); }
  nlohmann::json delivery(const std::string& id) { return call("GET", "/deliveries/" + id).json(); }
  // Waits until the only delivery, or the one with this id, has the status.
  bool wait_for_status(const std::string& id, const std::string& status) {
    return eventually([&] { return delivery(id).value("status", "") == status; });
  }
  // One of each of so many rules, for the same three channels.
  void add_events_for_three_channels(int rules) {
    const std::vector channels{add_channel("a", "/a"), add_channel("b", "/b"), add_channel("c", "/c")};
    for (int i = 0; i < rules; ++i) {
      const auto rule = add_rule();
      for (const auto& channel : channels) bind(rule, channel);
      add_event(rule, std::to_string(i), i);
    }
  }
  void end_windows() { sql().execute("UPDATE waybill.ready SET due_at = now() WHERE status = 'open'"); }

 private:
  TempFolder keys_;
};

}  // namespace waybill::testing
