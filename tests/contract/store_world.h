// A database of each test's own with the real stores on it, used with the rights of a host.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "store/operations/target_store.h"
#include "store/pg/migrations.h"
#include "store/pg/roles.h"
#include "store/pg_stores.h"
#include "support/postgres_cluster.h"
#include "support/sql_client.h"

namespace waybill::testing {

inline constexpr std::size_t kAnyBytes = std::size_t{1} << 40;

// A database of the newest schema with its roles: a copy of one that was made so, which is quicker than to do it again.
// Autovacuum is off: it would take locks that a test counts, and change the statistics that a test has set.
inline std::string migrated_database() {
  static const std::string original = [] {
    auto url = cluster().create_database();
    SqlClient(url).execute("ALTER SYSTEM SET autovacuum = off");
    SqlClient(url).execute("SELECT pg_reload_conf()");
    const DatabaseAddress owner{url, "waybill"};
    const auto applied = migrate(owner);
    if (!applied) throw std::runtime_error(applied.error().what);
    const auto roles = set_up_roles(owner, {}, {});
    if (!roles) throw std::runtime_error(roles.error().what);
    cluster().create_role("waybill_host");
    SqlClient(url).execute("GRANT waybill_app TO waybill_host");
    return url;
  }();
  return cluster().create_database(original);
}

// A person's open transaction that holds one delivery's row.
class RowLock {
 public:
  RowLock(const std::string& url, DeliveryId delivery) : sql_(url) {
    sql_.execute("BEGIN");
    sql_.execute("SELECT FROM waybill.ready WHERE delivery_id = " + std::to_string(delivery.value) + " FOR UPDATE");
  }
  void release() { sql_.execute("COMMIT"); }

 private:
  SqlClient sql_;
};

class StoreWorld : public ::testing::Test {
 protected:
  void SetUp() override { sql.execute("SET search_path TO waybill"); }

  // Before a store's first use: without a tenant role only the statements keep organisations apart, and a test sees whether they
  // do.
  void rely_on_statements() { sql.execute("UPDATE installation SET tenant_role = 'there is none'"); }

  // A row, and nobody behind it.
  void register_host(HostId host) {
    sql.execute("INSERT INTO hosts (host_id, name, knows) OVERRIDING SYSTEM VALUE VALUES (" + std::to_string(host.value) +
                ", 'box', 1000)");
  }

  static Contract contract_of(const std::string& target, Policy policy = Policy::max_attempts) {
    return {.target = target,
            .action_type = "sms",
            .url = "http://gateway.example.org/",
            .destination = R"({"url":"http://gateway.example.org/"})",
            .policy = policy,
            .max_attempts = policy == Policy::max_attempts ? 3u : 0u,
            .terminal_outcomes = {"invalid_request"}};
  }

  RouteId route(const std::string& target = "sms.primary", OrgId org = kDefaultOrg, Policy policy = Policy::max_attempts) {
    const auto made = intake->route(org, contract_of(target, policy));
    EXPECT_TRUE(made) << made.error().what;
    return made.value_or(RouteId{});
  }

  NewSubmission item(const std::string& client_ref, const std::string& payload = "{}", const std::string& target = "sms.primary",
                     OrgId org = kDefaultOrg) {
    return {.org = org,
            .kind = "intent",
            .pipeline = "intent",
            .state = "pending",
            .client_ref = client_ref,
            .target = target,
            .cooldown_key = target,
            .route = route(target, org),
            .payload = payload,
            .payload_hash = sha256(payload)};
  }

  std::vector<SubmitResult> submit(const std::vector<NewSubmission>& items, Shard shard = 0) {
    auto answers = intake->submit(shard, items, std::nullopt);
    EXPECT_TRUE(answers) << answers.error().what;
    return answers.value_or(std::vector<SubmitResult>{});
  }

  // `count` new submissions named prefix0, prefix1, ... with due times in that order, all in the past.
  void submit_many(std::size_t count, const std::string& prefix = "ref-", const std::string& target = "sms.primary",
                   OrgId org = kDefaultOrg) {
    std::vector<NewSubmission> items;
    for (std::size_t i = 0; i < count; ++i) items.push_back(item(prefix + std::to_string(i), "{}", target, org));
    submit(items);
  }

  ClaimResult claim(RouteId of, std::size_t count, ClaimToken token = {1}, HostId host = {1}, Shard shard = 0) {
    EXPECT_TRUE(queue->forget(shard, {token}));  // a token is one claim's; tests that use it again forget the earlier one
    auto claimed = queue->claim(shard, host, token, Millis(60'000), std::vector<RouteShare>{{of, count, {}, {}}}, {}, kAnyBytes);
    EXPECT_TRUE(claimed) << claimed.error().what;
    return claimed.value_or(ClaimResult{});
  }

  static Settlement ending(const ClaimedRow& row, ClaimToken token, Status status, const std::string& reason = {}) {
    const std::string word(to_string(status));
    return {.delivery = row.delivery,
            .submission = row.submission,
            .token = token,
            .status = status,
            .history = {.attempt_count = row.history.attempt_count + 1,
                        .lease_lost = row.history.lease_lost,
                        .maybe_sent = row.history.maybe_sent},
            .reason = reason,
            .ended = row.created + Seconds(2),
            .attempt = AttemptRecord{.number = row.history.attempt_count + 1,
                                     .started = row.created + Seconds(1),
                                     .finished = row.created + Seconds(2),
                                     .outcome = status == Status::exhausted ? "error" : word,
                                     .reason = status == Status::rejected ? reason : "",
                                     .error = status == Status::accepted ? "" : "what went wrong",
                                     .code = 200,
                                     .provider_ref = "gw-1"},
            .submission_state = word,
            .from_state = "pending",
            .action = "intent_" + word,
            .trigger = "accept",
            .actor = "box:1",
            .metadata = R"({"attempts":1})",
            .action_type = "sms"};
  }

  static Settlement retrying(const ClaimedRow& row, ClaimToken token, Timestamp due) {
    auto s = ending(row, token, Status::exhausted);
    s.status = Status::due;
    s.due = due;
    s.submission_state = s.from_state = s.action = s.metadata = "";
    s.trigger = "retry";
    return s;
  }

  std::vector<DeliveryId> settled(const std::vector<Settlement>& batch, Shard shard = 0) {
    auto held = settle->settle(shard, batch);
    EXPECT_TRUE(held) << held.error().what;
    return held.value_or(SettleResult{}).held;
  }

  // These targets rest, in an outage that began now.
  void rest(const std::vector<Cooldown>& cooldowns) {
    for (const auto& one : cooldowns)
      sql.execute("INSERT INTO target_outages (org_id, target, until, reason) VALUES (" + std::to_string(one.org.value) + ", '" +
                  one.target + "', at_micros(" + std::to_string(one.until.micros) + "), '" + one.reason + "')");
  }

  // True when the database refuses the statement with these words; another refusal fails the test.
  bool refused(const std::string& statement, std::string_view words) {
    const auto said = sql.refusal(statement);
    if (said.empty()) return false;
    EXPECT_NE(said.find(words), std::string::npos) << statement << "\nis refused for another reason: " << said;
    return true;
  }

  const std::string url = migrated_database();
  const DatabaseAddress owner{url, "waybill"};
  // The stores act as the application role: a statement that it lacks a right for fails here.
  const DatabaseAddress address{as_role(url, "waybill_host"), "waybill"};
  SqlClient sql{url};  // a superuser
  std::unique_ptr<IntakeStore> intake = make_intake_store(address);
  std::unique_ptr<QueueStore> queue = make_queue_store(address);
  std::unique_ptr<SettleStore> settle = make_settle_store(address);
  std::unique_ptr<RescueStore> rescue = make_rescue_store(address);
  std::unique_ptr<MaintenanceStore> maintenance = make_maintenance_store(address);
  std::unique_ptr<TargetStore> targets = make_target_store(address);
  std::unique_ptr<AlertStore> alerts = make_alert_store(address);
  std::unique_ptr<ReadStore> reader = make_read_store(address, 1);
  std::unique_ptr<TokenStore> tokens = make_token_store(address);
};

}  // namespace waybill::testing
