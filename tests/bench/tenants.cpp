// The statements of the API and of fan_out(), for many rows at once.
#include "bench/tenants.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/hex.h"
#include "base/uuid.h"
#include "bench/interrupt.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

constexpr std::size_t kOrganisationsAtOnce = 500, kChunk = 50'000;
constexpr auto kFirstUrl = "http://127.0.0.1:9/hook";

std::string url(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port) + "/hook"; }

std::string bytea(const std::string& bytes) { return "'\\x" + to_hex(bytes) + "'::bytea"; }

}  // namespace

Tenants::Tenants(const std::string& database_url, const Host& host) : sql_(database_url), vault_({Secret(kMasterKey)}) {
  const nlohmann::json channel{{"name", "first"}, {"type", "webhook"}, {"config", {{"url", kFirstUrl}}}};
  const auto answer = testing::HttpClient(host.port())
                          .request("POST", "/orgs/default/channels", channel.dump(), {{"Content-Type", "application/json"}});
  if (answer.status != 201)
    throw std::runtime_error("a channel was refused: " + std::to_string(answer.status) + " " + answer.body);
  first_ = nlohmann::json::parse(answer.body).at("id");
  sql_.execute("SET search_path TO waybill");
  sql_.execute(R"(
    CREATE TEMP TABLE bench_channels (
      grp text, place bigint, org_id integer, rule_id uuid, channel_id uuid, route_id integer, PRIMARY KEY (grp, place)))");
  sql_.execute("CREATE TEMP TABLE bench_notified (batch integer, delivery_id bigint, due_at timestamptz)");
}

void Tenants::seal(std::int64_t org, std::size_t first, std::size_t each,
                   const std::function<std::uint16_t(std::size_t)>& port_of) {
  constexpr std::int32_t kKey = 1;
  const auto key = vault_.make_data_key({org}, kKey);
  const std::string of = std::to_string(org);
  keys_ += (keys_.empty() ? "(" : ",(") + of + ",1,'" + key.master + "'," + bytea(key.sealed) + ")";
  for (std::size_t i = first; i < first + each; ++i) {
    const auto id = random_uuid();
    const auto sealed = vault_.seal({org}, kKey, key.sealed, {{org}, id, "secret"}, make_signing_secret());
    if (!sealed) throw std::runtime_error("a secret could not be sealed: " + sealed.error().what);
    channels_ += (channels_.empty() ? "(" : ",(") + std::to_string(i) + "," + of + ",'" + id + "'::uuid,'" + url(port_of(i)) +
                 "'," + bytea(*sealed) + ")";
  }
}

void Tenants::add(const std::string& group, std::size_t organisations, std::size_t each,
                  const std::function<std::uint16_t(std::size_t)>& port_of) {
  for (std::size_t done = 0; done < organisations; done += std::min(kOrganisationsAtOnce, organisations - done)) {
    check_interrupted();
    const auto last = std::min(done + kOrganisationsAtOnce, organisations);
    const auto made = sql_.rows("INSERT INTO organisations (name) SELECT '" + group + "-' || n FROM generate_series(" +
                                std::to_string(done + 1) + ", " + std::to_string(last) + ") n RETURNING org_id");
    keys_.clear();
    channels_.clear();
    for (std::size_t i = 0; i < made.size(); ++i) seal(std::stoll(made[i].at(0).value()), (done + i) * each, each, port_of);
    sql_.execute("INSERT INTO org_keys (org_id, key_id, master, sealed) VALUES " + keys_);
    const std::string first = "'" + first_ + "'";
    sql_.execute("WITH one(place, org_id, channel_id, url, secret) AS MATERIALIZED (VALUES " + channels_ + R"(),
      first AS MATERIALIZED (SELECT c.config, s.contract FROM channels c JOIN contract_snapshots s USING (route_id)
                             WHERE c.channel_id = )" +
                 first + R"(),
      route AS (
        INSERT INTO contract_snapshots (org_id, hash, contract)
        SELECT org_id, sha256(convert_to(copy, 'UTF8')), copy
        FROM one, first, LATERAL (SELECT replace(contract, )" +
                 first + R"(, channel_id::text) AS copy) c
        RETURNING route_id, (contract::json ->> 'channel')::uuid AS channel_id),
      rule AS (
        INSERT INTO alert_rules (org_id, name, status) SELECT DISTINCT org_id, 'bench', 'active' FROM one RETURNING org_id, rule_id),
      channel AS (
        INSERT INTO channels (org_id, channel_id, shard, route_id, name, type, config, key_id, secret)
        SELECT org_id, channel_id, 0, route_id, 'channel-' || place, 'webhook', replace(config, ')" +
                 kFirstUrl + R"(', url), 1, secret
        FROM one JOIN route USING (channel_id), first),
      bound AS (
        INSERT INTO rule_channels (org_id, rule_id, channel_id) SELECT org_id, rule_id, channel_id FROM one JOIN rule USING (org_id))
      INSERT INTO bench_channels SELECT ')" +
                 group + R"(', place, org_id, rule_id, channel_id, route_id
      FROM one JOIN route USING (channel_id) JOIN rule USING (org_id))");
  }
  sql_.execute("ANALYZE bench_channels");
}

int Tenants::notify(const Due& due, std::size_t body_bytes) {
  const int batch = ++batches_;
  const std::string group = "'" + due.group + "'", padding = std::to_string(body_bytes > 20 ? body_bytes - 20 : 1);
  const auto from =
      "timestamptz '" + sql_.text("SELECT clock_timestamp() + interval '" + std::to_string(due.lead.count()) + " ms'") + "'";
  const auto channels = sql_.text("SELECT count(*) FROM bench_channels WHERE grp = " + group);
  const auto each = sql_.text("SELECT count(*) FROM bench_channels WHERE grp = " + group +
                              " AND org_id = (SELECT org_id FROM bench_channels WHERE grp = " + group + " LIMIT 1)");
  for (std::size_t done = 0; done < due.count; done += std::min(kChunk, due.count - done)) {
    check_interrupted();
    const auto first = std::to_string(done), last = std::to_string(std::min(done + kChunk, due.count) - 1);
    sql_.execute(R"(
      WITH item AS MATERIALIZED (
        SELECT org_id, rule_id, channel_id, route_id, nextval('object_ids') * 1024 AS id,
               'e-)" +
                 std::to_string(batch) + "-" + first + "-' || n / " + each + R"( AS event_id,
               )" +
                 from + " + n * interval '" + std::to_string(due.gap.count()) + R"( microseconds' AS due_at
        FROM generate_series()" +
                 first + "::bigint, " + last + R"() n
        JOIN bench_channels c ON c.grp = )" +
                 group + " AND c.place = n * " + std::to_string(due.stride) + " % " + channels + R"(),
      event AS (
        INSERT INTO alert_events (org_id, rule_id, event_id, snapshot, fanned_out_at)
        SELECT DISTINCT org_id, rule_id, event_id, '{"text":"' || repeat('x', )" +
                 padding + R"() || '"}', now() FROM item
        RETURNING org_id, event_id, event_no, octet_length(snapshot) + 2 AS bytes),
      made AS (
        INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at)
        SELECT 0, id, org_id, 'notification', gen_random_uuid()::text, 'intent', 'channel:' || channel_id, 'as_delivery', '', now()
        FROM item),
      noted AS (
        INSERT INTO notifications (shard, delivery_id, org_id, rule_id, channel_id, created_at, bytes, latest)
        SELECT 0, id, org_id, rule_id, channel_id, now(), bytes, id FROM item JOIN event USING (org_id, event_id)),
      joined AS (
        INSERT INTO notification_events (shard, delivery_id, event_no, org_id)
        SELECT 0, id, event_no, org_id FROM item JOIN event USING (org_id, event_id)),
      queued AS (
        INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
        SELECT 0, id, org_id, id, 1, route_id, due_at, 'open' FROM item)
      INSERT INTO bench_notified SELECT )" +
                 std::to_string(batch) + ", id, due_at FROM item");
  }
  return batch;
}

std::uint64_t Tenants::waiting(int batch) {
  return static_cast<std::uint64_t>(sql_.number(
      "SELECT count(*) FROM bench_notified JOIN ready USING (delivery_id) WHERE shard = 0 AND batch = " + std::to_string(batch)));
}

std::vector<double> Tenants::waits(int batch) {
  std::vector<double> all;
  for (const auto& row : sql_.rows(R"(
         SELECT extract(epoch FROM a.finished_at - n.due_at) * 1000
         FROM bench_notified n JOIN attempts a ON a.shard = 0 AND a.delivery_id = n.delivery_id AND a.outcome = 'accepted'
         WHERE n.batch = )" + std::to_string(batch)))
    all.push_back(std::stod(row.at(0).value()));
  return all;
}

void Tenants::check_each_once(std::uint64_t expected) {
  const auto expect = [&](const char* what, const char* query) {
    if (const auto seen = sql_.number(query); static_cast<std::uint64_t>(seen) != expected)
      throw std::runtime_error(std::string("the record is wrong: ") + std::to_string(seen) + " " + what + ", " +
                               std::to_string(expected) + " expected");
  };
  expect("notifications accepted at their first attempt",
         "SELECT count(*) FROM deliveries WHERE status = 'accepted' AND attempt_count = 1");
  expect("deliveries that have ended", "SELECT count(*) FROM deliveries");
  expect("attempts", "SELECT count(*) FROM attempts");
}

}  // namespace waybill::bench
