// The channels' endpoint, the events, and what the database says of the deliveries in the end.
#include "crash/chaos_channels.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/eventually.h"

namespace waybill::testing::chaos {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kBetweenEvents{40};

std::string path(const std::string& rest) { return "/orgs/default" + rest; }

}  // namespace

Channels::Channels(Ask ask, std::function<double()> now) : ask_(std::move(ask)), now_(std::move(now)) {}

std::uint16_t Channels::port() const {
  return static_cast<std::uint16_t>(std::stoi(gateway_.url().substr(gateway_.url().rfind(':') + 1)));
}

void Channels::insist(const char* method, const std::string& path, const std::string& body, int status) {
  std::optional<HttpResponse> answer;
  const bool done = eventually([&] {
    answer = ask_(method, path, body);
    return answer && answer->status == status;
  });
  if (!done) throw std::runtime_error(path + ": " + (answer ? std::to_string(answer->status) + " " + answer->body : "no answer"));
}

void Channels::start(std::uint16_t port) {
  HttpClient host(port);
  const auto make = [&](const std::string& below, const json& what) -> std::string {
    return host.request("POST", path(below), what.dump()).json().at("id");
  };
  rule_ = make("/alert-rules", {{"name", "chaos"}});
  for (const std::string name : kNames) {
    const json channel{{"name", name}, {"type", "webhook"}, {"config", {{"url", gateway_.url() + "/" + name}}}};
    ids_[name] = make("/channels", channel);
    const auto bound = host.request("PUT", path("/alert-rules/" + rule_ + "/channels/" + ids_[name]));
    if (bound.status != 204) throw std::runtime_error("a channel could not be bound: " + bound.body);
  }
  events_ = std::jthread([this](const std::stop_token& stop) {
    try {
      while (!stop.stop_requested()) {
        if (has_to_enable_.exchange(false)) insist("PATCH", path("/channels/" + ids_["moody"]), R"({"status":"active"})", 200);
        hand_in();
        eventually([&] { return stop.stop_requested(); }, kBetweenEvents);
      }
      if (has_to_enable_) insist("PATCH", path("/channels/" + ids_["moody"]), R"({"status":"active"})", 200);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "nobody took " << e.what();
    }
  });
}

void Channels::stop() {
  events_.request_stop();
  if (events_.joinable()) events_.join();
}

// Until it is acknowledged: a host may die over it, and have stored it all the same.
void Channels::hand_in() {
  const int event = next_++;
  const double at = now_();
  insist("POST", path("/alert-rules/" + rule_ + "/events"),
         json{{"eventId", "e" + std::to_string(event)}, {"snapshot", event}}.dump(), 202);
  const std::lock_guard lock(mutex_);
  handed_in_[event] = at;
}

void Channels::disable(SqlClient sql) {
  ++disabled_;
  sql.execute("UPDATE waybill.channels SET disabled_at = now(), disabled_reason = 'by the campaign' WHERE channel_id = '" +
              ids_.at("moody") + "'");
}

void Channels::enable() {
  if (--disabled_ == 0) has_to_enable_ = true;
}

bool Channels::was_delivered(int event) const {
  for (const auto& request : gateway_.received())
    if (request.path == "/steady")
      for (const int one : json::parse(request.body))
        if (one >= event) return true;
  return false;
}

std::vector<ChannelRecord> Channels::records(SqlClient& sql) const {
  std::vector<ChannelRecord> all;
  for (const std::string name : kNames) {
    ChannelRecord record{.name = name, .handed_in = {}, .sends = {}, .not_accepted = {}};
    {
      const std::lock_guard lock(mutex_);
      record.handed_in = handed_in_;
    }
    for (const auto& request : gateway_.received())
      if (request.path == "/" + name)
        record.sends.push_back({now_() - std::chrono::duration<double>(std::chrono::steady_clock::now() - request.at).count(),
                                request.reference, request.body, json::parse(request.body).get<std::set<int>>()});
    for (const auto& row : sql.rows("SELECT status, count(*) FROM (SELECT delivery_id, status::text FROM waybill.ready UNION ALL "
                                    "SELECT id, status::text FROM waybill.deliveries) d JOIN waybill.notifications n "
                                    "USING (delivery_id) WHERE n.channel_id = '" +
                                    ids_.at(name) + "' AND status <> 'accepted' GROUP BY status"))
      record.not_accepted[*row[0]] = std::stoi(*row[1]);
    all.push_back(std::move(record));
  }
  return all;
}

}  // namespace waybill::testing::chaos
