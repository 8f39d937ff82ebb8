// Makes two channels and a rule, hands in two events, and shows what the channels got.
#include "demo/notifications.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "demo/timeline.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr auto kOrg = "/orgs/default";

json made(HttpClient& client, const std::string& path, const json& body) {
  const auto answer = client.request("POST", kOrg + path, body.dump(), {{"Content-Type", "application/json"}});
  if (answer.status < 200 || answer.status > 299)
    std::cerr << "POST " << path << ": " << answer.status << " " << answer.body << "\n";
  return answer.json();
}

json delivery_to(HttpClient& client, const std::string& channel) {
  const auto items = client.get(std::string(kOrg) + "/deliveries?channel_id=" + channel).json().at("items");
  return items.empty() ? json() : client.get(std::string(kOrg) + "/deliveries/" + items.at(0).at("id").get<std::string>()).json();
}

bool show(const std::string& name, const json& delivery, std::size_t attempts, const std::string& tale) {
  const std::string status = delivery.value("status", "missing");
  const bool good = status == "succeeded" && delivery.at("attempts").size() == attempts && delivery.at("payload").size() == 2;
  print_title(good, "demo-event", name, status, tale);
  if (status == "missing") return good;
  const std::string created = delivery.at("created_at");
  for (const auto& attempt : delivery.at("attempts")) {
    std::string words = "attempt " + std::to_string(attempt.at("attemptNumber").get<int>()) + "  " +
                        attempt.at("outcomeStatus").get<std::string>();
    if (attempt.at("error").is_string()) words += "  " + attempt.at("error").get<std::string>();
    print_moment(created, attempt.at("startedAt"), words);
  }
  std::printf("       body %s\n", delivery.at("payload").dump().c_str());
  return good;
}

}  // namespace

bool show_notifications(HttpClient& client, FakeGateway& gateway, const std::string& run) {
  const auto add_channel = [&](const std::string& name) {
    return made(client, "/channels",
                {{"name", name + "-" + run}, {"type", "webhook"}, {"config", {{"url", gateway.url() + "/" + name}}}})
        .at("id")
        .get<std::string>();
  };
  const auto steady = add_channel("demo-ops"), shaky = add_channel("demo-soc");
  gateway.script("POST /demo-soc", {Reply::http_error(500), Reply::accept()});
  const auto rule = made(client, "/alert-rules", {{"name", "critical"}}).at("id").get<std::string>();
  for (const auto& channel : {steady, shaky}) {
    const auto bound = client.request("PUT", kOrg + ("/alert-rules/" + rule + "/channels/" + channel));
    if (bound.status != 204) std::cerr << "binding a channel: " << bound.status << " " << bound.body << "\n";
  }
  for (const auto* cve : {"CVE-2026-1", "CVE-2026-2"})
    made(client, "/alert-rules/" + rule + "/events", {{"eventId", std::string(cve)}, {"snapshot", {{"cve", cve}}}});
  json first, second;
  eventually([&] {
    first = delivery_to(client, steady);
    second = delivery_to(client, shaky);
    return first.value("status", "") == "succeeded" && second.value("status", "") == "succeeded";
  });
  const bool good = show("demo-ops", first, 1, "two events within a second are one delivery to each channel");
  return show("demo-soc", second, 2, "this channel's receiver is down at first") && good;
}

}  // namespace waybill::testing
