// What nearly every test needs at once: a fresh database of the newest schema, a gateway, and a host with a registry that points
// to it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/hex.h"
#include "base/public_ids.h"
#include "support/daemon.h"
#include "support/fake_gateway.h"
#include "support/postgres_cluster.h"
#include "support/sql_client.h"

namespace waybill::testing {

// ---- intents over HTTP ----
nlohmann::json intent(const std::string& id, const std::string& target, const nlohmann::json& payload);
nlohmann::json sms_intent(const std::string& id, const std::string& target);
nlohmann::json push_intent(const std::string& id, const std::string& target);
HttpResponse post_intent(HttpClient& client, const nlohmann::json& body, int wait_seconds = 0);
std::string escaped(const std::string& text);  // percent-encoded, for a path or a form
nlohmann::json get_intent(HttpClient& client, const std::string& id);
nlohmann::json history_of(HttpClient& client, const std::string& id);
// Waits until the intent is no longer pending, and returns its last state.
nlohmann::json wait_for_end(HttpClient& client, const std::string& id);
// The words of one field over all attempts, "" for absent or null: {"error", "accepted"}.
std::vector<std::string> attempt_words(HttpClient& client, const std::string& id, const char* field = "outcomeStatus");
// The text of a field; "" when it is absent or no text.
std::string word(const nlohmann::json& object, const char* field);
// Seconds since 1970 of a timestamp as the host writes it; throws if it is not RFC 3339 in UTC.
double seconds_of(const std::string& timestamp);
double seconds_of(const nlohmann::json& object, const char* field);

// The value of the metric with this name and these labels. Without such a line: `if_absent`, and without that it throws, so that
// a misspelt name never passes for 0.
double metric(HttpClient& client, const std::string& name_and_labels, std::optional<double> if_absent = std::nullopt);

// True with WAYBILL_TEST_ALL=1 in the environment: more rounds, more load.
bool all_rounds();
// True with WAYBILL_TEST_MUST_RUN=1 in the environment, as in CI: a test that this machine cannot run fails instead of skipping.
bool must_run();

// One host, started with the first use of `client()` or `host()`. Targets of the standard registry:
//   sms.deadline (30 s)  sms.attempts (3)  sms.once  sms.patient (deadline 600 s)  sms.brief (deadline 2 s)
//   push.attempts (3)  hook.attempts (3)  hook.once
class World : public ::testing::Test {
 protected:
  World();

  void use_empty_database() { setup.database_url = cluster().create_database(); }
  std::vector<nlohmann::json> standard_targets(const std::string& url) const;
  Installation& installation();
  Daemon& host();
  HttpClient& client();
  HttpClient client_of(const std::string& org, const std::string& role);  // with a token of its own, where auth is tokens
  SqlClient& sql();
  PublicIds public_ids() { return PublicIds(Secret(from_hex(sql().text("SELECT encode(key, 'hex') FROM waybill.id_keys")))); }
  // The delivery that the API shows so, as statements name it.
  std::string number_of(const std::string& id) { return std::to_string(public_ids().read(id).value()); }
  void restart_host();  // after the old one has been ended by the test, or killing it hard
  void give_up_host();  // forgets the host and its client, killing it hard

  FakeGateway gateway;
  HostSetup setup;  // to be changed before the host is first used

 private:
  std::unique_ptr<Installation> installation_;
  std::unique_ptr<Daemon> host_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<SqlClient> sql_;
};

}  // namespace waybill::testing
