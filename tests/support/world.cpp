// The common fixture and the words that tests speak over HTTP.
#include "support/world.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

namespace waybill::testing {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string(value) == "1";
}

// A database of the newest schema: a copy of one that `waybill migrate` has made, which is quicker than to make it again.
std::string current_database() {
  static const std::string original = [] {
    const auto url = cluster().create_database();
    const TempFolder folder;
    write_file(folder.path() / "waybill.yaml", "database:\n  url: \"" + url + "\"\n");
    const auto made = run({.arguments = {waybill_program(), "migrate", "--config", folder.path() / "waybill.yaml"}});
    if (made.exit_code != 0) throw std::runtime_error("migrate failed: " + made.out + made.err);
    return url;
  }();
  return cluster().create_database(original);
}

}  // namespace

using nlohmann::json;

json intent(const std::string& id, const std::string& target, const json& payload) {
  return {{"intentId", id}, {"submissionTarget", target}, {"payload", payload}};
}

json sms_intent(const std::string& id, const std::string& target) {
  return intent(id, target, {{"to", "+4915112345678"}, {"message", "hello"}});
}

json push_intent(const std::string& id, const std::string& target) {
  return intent(id, target, {{"token", "device-1"}, {"title", "hello"}});
}

HttpResponse post_intent(HttpClient& client, const json& body, int wait_seconds) {
  const std::string query = wait_seconds > 0 ? "?waitSeconds=" + std::to_string(wait_seconds) : "";
  return client.request("POST", "/v1/intents" + query, body.dump());
}

std::string escaped(const std::string& text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.')
      out += c;
    else
      out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return out;
}

json get_intent(HttpClient& client, const std::string& id) {
  const auto response = client.get("/v1/intents/" + escaped(id));
  if (response.status != 200)
    throw std::runtime_error("GET intent " + id + ": " + std::to_string(response.status) + " " + response.body);
  return response.json();
}

json history_of(HttpClient& client, const std::string& id) {
  const auto response = client.get("/v1/intents/" + escaped(id) + "/history");
  if (response.status != 200)
    throw std::runtime_error("history of " + id + ": " + std::to_string(response.status) + " " + response.body);
  return response.json();
}

json wait_for_end(HttpClient& client, const std::string& id) {
  json last;
  if (!eventually([&] {
        last = get_intent(client, id);
        return last.at("status") != "pending";
      }))
    ADD_FAILURE() << "intent " << id << " is still pending";
  return last;
}

std::vector<std::string> attempt_words(HttpClient& client, const std::string& id, const char* field) {
  std::vector<std::string> words;
  const auto history = history_of(client, id);
  for (const auto& attempt : history.at("attempts")) words.push_back(word(attempt, field));
  return words;
}

std::string word(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

double seconds_of(const std::string& timestamp) {
  std::tm parts{};
  double seconds = 0;
  char zone = 0;
  if (std::sscanf(timestamp.c_str(), "%4d-%2d-%2dT%2d:%2d:%lf%c", &parts.tm_year, &parts.tm_mon, &parts.tm_mday, &parts.tm_hour,
                  &parts.tm_min, &seconds, &zone) != 7 ||
      zone != 'Z')
    throw std::runtime_error("not a UTC timestamp: " + timestamp);
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(::timegm(&parts)) + seconds;
}

double seconds_of(const json& object, const char* field) { return seconds_of(object.at(field).get<std::string>()); }

double metric(HttpClient& client, const std::string& name_and_labels, std::optional<double> if_absent) {
  const auto text = "\n" + client.get("/metrics").body;
  const auto at = text.find("\n" + name_and_labels + " ");
  if (at != std::string::npos) return std::atof(text.c_str() + at + name_and_labels.size() + 2);
  if (!if_absent) throw std::runtime_error("there is no metric " + name_and_labels);
  return *if_absent;
}

bool all_rounds() { return is_set("WAYBILL_TEST_ALL"); }
bool must_run() { return is_set("WAYBILL_TEST_MUST_RUN"); }

World::World() {
  setup.database_url = current_database();
  setup.registry = registry_of(standard_targets(gateway.url()));
}

std::vector<json> World::standard_targets(const std::string& url) const {
  const std::vector<std::string> sms{"invalid_request", "invalid_recipient", "invalid_message", "duplicate_reference"};
  const std::vector<std::string> push{"invalid_request", "unregistered_token"};
  const std::vector<std::string> hook{"gone"};
  return {target("sms.deadline", "sms", url, "deadline", 30, sms),
          target("sms.attempts", "sms", url, "max_attempts", 3, sms),
          target("sms.once", "sms", url, "one_shot", 0, sms),
          target("sms.patient", "sms", url, "deadline", 600, sms),
          target("sms.brief", "sms", url, "deadline", 2, sms),
          target("push.attempts", "push", url, "max_attempts", 3, push),
          target("hook.attempts", "webhook", url, "max_attempts", 3, hook),
          target("hook.once", "webhook", url, "one_shot", 0, hook)};
}

Installation& World::installation() {
  if (!installation_) installation_ = std::make_unique<Installation>(setup);
  return *installation_;
}

Daemon& World::host() {
  if (!host_) host_ = std::make_unique<Daemon>(installation());
  return *host_;
}

HttpClient& World::client() {
  if (!client_) client_ = std::make_unique<HttpClient>(host().port());
  return *client_;
}

HttpClient World::client_of(const std::string& org, const std::string& role) {
  const auto made = installation().command({"token", "create", "--org", org, "--role", role, org + "-" + role, "--json"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  HttpClient one(host().port());
  one.authorize(nlohmann::json::parse(made.out).at("token"));
  return one;
}

SqlClient& World::sql() {
  if (!sql_) sql_ = std::make_unique<SqlClient>(setup.database_url);
  return *sql_;
}

void World::give_up_host() {
  client_.reset();
  host_.reset();
}

void World::restart_host() {
  give_up_host();
  host();
}

}  // namespace waybill::testing
