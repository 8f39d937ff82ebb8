// The intake's statement with generate_series in the place of its arrays, and what a settlement would have made of it.
#include "bench/backlog.h"

#include <algorithm>
#include <stdexcept>

#include "bench/host.h"
#include "bench/interrupt.h"

namespace waybill::bench {
namespace {

constexpr std::size_t kChunk = 50'000;

constexpr auto kPending = R"(
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
  SELECT shard, id, 1, id, 1, route_id, now(), 'due' FROM item)";

// What is the same in all of them is taken from the rows of an intent that a host has settled.
constexpr auto kFinished = R"(,
  delivery AS (
    INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, attempt_count, ended_at)
    SELECT shard, id, 1, id, 1, action_type, route_id, 'accepted', 1, now() FROM item),
  attempt AS (
    INSERT INTO attempts (shard, delivery_id, number, org_id, started_at, finished_at, outcome, code)
    SELECT item.shard, item.id, 1, 1, now(), now(), a.outcome, a.code FROM item, (SELECT * FROM attempts LIMIT 1) a)
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type,
                         metadata)
  SELECT item.shard, item.id, now(), 1, item.id, l.action, l.from_state, l.to_state, l.trigger, l.actor, l.actor_type, l.metadata
  FROM item, (SELECT * FROM audit_log WHERE to_state = 'accepted' LIMIT 1) l)";

// New intents as `item`, and `rows` of them. One intent must be there: it has made the target's route.
std::string insert(std::uint64_t first, std::size_t count, std::size_t body_bytes, const char* rows) {
  const std::string padding = std::to_string(body_bytes > 40 ? body_bytes - 40 : 0);
  return R"(
  WITH item AS MATERIALIZED (
    SELECT shard, nextval('object_ids') * 1024 + shard AS id,
           'backlog-' || n AS client_ref, r.target, r.action_type, r.route_id,
           convert_to('{"number":' || lpad(n::text, 12) || ',"text":"' || repeat('x', )" +
         padding + R"() || '"}', 'UTF8') AS body
    FROM (SELECT n, (n % shards)::smallint AS shard FROM installation, generate_series()" +
         std::to_string(first) + "::bigint, " + std::to_string(first + count - 1) + R"() n) numbered,
         (SELECT target, action_type, route_id FROM submissions s JOIN (
            SELECT shard, submission_id, action_type, route_id FROM deliveries UNION ALL
            SELECT shard, submission_id, contract::jsonb ->> 'actionType', route_id FROM ready JOIN contract_snapshots USING (route_id)) d ON d.shard = s.shard AND d.submission_id = s.id
          LIMIT 1) r),
  made AS (
    INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
    SELECT shard, id, 1, 'intent', client_ref, 'intent', target, 'as_delivery', sha256(body), now(), body FROM item))" +
         rows;
}

}  // namespace

Backlog::Backlog(const std::string& database_url) : sql_(database_url) { sql_.execute("SET search_path TO waybill"); }

void Backlog::set_shards(int shards) { sql_.execute("UPDATE installation SET shards = " + std::to_string(shards)); }

void Backlog::hold_target() {
  sql_.execute(std::string("INSERT INTO target_outages VALUES (1, '") + kTarget +
               "', now() + interval '1 day', 'bench') "
               "ON CONFLICT (org_id, target) DO UPDATE SET until = excluded.until");
}

void Backlog::release_target() { sql_.execute("DELETE FROM target_outages"); }

// No number is used twice: each submission takes a number of this sequence.
std::uint64_t Backlog::next_number() { return static_cast<std::uint64_t>(sql_.number("SELECT last_value + 1 FROM object_ids")); }

void Backlog::insert_in_chunks(std::size_t count, std::size_t body_bytes, const char* rows) {
  const auto first = next_number();
  for (std::size_t done = 0; done < count; done += std::min(kChunk, count - done)) {
    check_interrupted();
    sql_.execute(insert(first + done, std::min(kChunk, count - done), body_bytes, rows));
  }
  tidy();
}

void Backlog::add(std::size_t count, std::size_t body_bytes) { insert_in_chunks(count, body_bytes, kPending); }

void Backlog::add_finished(std::size_t count, std::size_t body_bytes) { insert_in_chunks(count, body_bytes, kFinished); }

void Backlog::age() {
  sql_.execute(R"(
    WITH rule AS (INSERT INTO alert_rules (org_id, name, status) VALUES (1, 'bench', 'active') RETURNING rule_id),
    old AS MATERIALIZED (
      UPDATE submissions SET created_at = now() - interval '30 days' + id / 1024 * interval '1 ms',
                             kind = CASE WHEN id / 1024 % 2 = 0 THEN 'notification' ELSE kind END
      RETURNING shard, id, kind, created_at, body),
    event AS (
      INSERT INTO alert_events (org_id, rule_id, event_id, snapshot, created_at, fanned_out_at)
      SELECT 1, rule_id, id::text, convert_from(body, 'UTF8'), created_at, created_at FROM old, rule WHERE kind = 'notification'
      RETURNING event_no, event_id),
    noted AS (
      INSERT INTO notifications (shard, delivery_id, org_id, rule_id, channel_id, created_at, bytes, latest)
      SELECT shard, id, 1, rule_id, gen_random_uuid(), created_at, octet_length(body), id FROM old, rule WHERE kind = 'notification')
    INSERT INTO notification_events (shard, delivery_id, event_no, org_id)
    SELECT shard, id, event_no, 1 FROM old JOIN event ON event_id = id::text)");
  tidy();
}

std::int64_t Backlog::newest() { return sql_.number("SELECT max(id) FROM submissions"); }

std::uint64_t Backlog::old() {
  return static_cast<std::uint64_t>(sql_.number("SELECT count(*) FROM submissions WHERE created_at < now() - interval '1 day'"));
}

void Backlog::copy_route(std::size_t count) {
  sql_.execute(std::string(R"(
    INSERT INTO contract_snapshots (org_id, hash, contract)
    SELECT org_id, sha256(convert_to(copy, 'UTF8')), copy
    FROM contract_snapshots, generate_series(1, )") +
               std::to_string(count) + R"() n,
         LATERAL (SELECT replace(contract, '"target":"bench"', '"target":"bench-' || n || '"') AS copy) c
    WHERE contract::json ->> 'target' = 'bench')");
}

void Backlog::add_for_later(std::size_t count, std::size_t body_bytes, std::chrono::milliseconds lead) {
  const auto first = next_number();
  const auto due = "timestamptz '" + sql_.text("SELECT now() + interval '" + std::to_string(lead.count()) + " ms'") + "'";
  const auto padding = std::to_string(body_bytes > 40 ? body_bytes - 40 : 0);
  sql_.execute(R"(
    CREATE TEMP TABLE bench_routes AS
    SELECT (row_number() OVER (ORDER BY route_id) - 1)::bigint AS place, route_id, contract::json ->> 'target' AS target
    FROM contract_snapshots WHERE contract::json ->> 'target' LIKE 'bench%')");
  sql_.execute("CREATE UNIQUE INDEX ON bench_routes (place)");
  sql_.execute("ANALYZE bench_routes");
  for (std::size_t done = 0; done < count; done += std::min(kChunk, count - done)) {
    check_interrupted();
    const auto from = std::to_string(first + done), to = std::to_string(first + done + std::min(kChunk, count - done) - 1);
    sql_.execute(R"(
      WITH item AS MATERIALIZED (
        SELECT 0::smallint AS shard, nextval('object_ids') * 1024 AS id, 'backlog-' || n AS client_ref, r.target, r.route_id,
               convert_to('{"number":' || lpad(n::text, 12) || ',"text":"' || repeat('x', )" +
                 padding + R"() || '"}', 'UTF8') AS body
        FROM generate_series()" +
                 from + "::bigint, " + to + R"() n JOIN bench_routes r ON r.place = n % (SELECT count(*) FROM bench_routes)),
      made AS (
        INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
        SELECT shard, id, 1, 'intent', client_ref, 'intent', target, 'as_delivery', sha256(body), now(), body FROM item)
      INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
      SELECT shard, id, 1, id, 1, route_id, )" +
                 due + ", 'due' FROM item");
  }
  sql_.execute("DROP TABLE bench_routes");
  tidy();
}

void Backlog::tidy() {
  sql_.execute("VACUUM (ANALYZE)");
  sql_.execute("CHECKPOINT");
}

bool Backlog::empty() { return sql_.number("SELECT count(*) FROM (SELECT FROM ready LIMIT 1) any_row") == 0; }

std::uint64_t Backlog::waiting() { return static_cast<std::uint64_t>(sql_.number("SELECT count(*) FROM ready")); }

std::uint64_t Backlog::submissions() { return static_cast<std::uint64_t>(sql_.number("SELECT count(*) FROM submissions")); }

std::uint64_t Backlog::accepted() {
  return static_cast<std::uint64_t>(sql_.number("SELECT count(*) FROM attempts WHERE outcome = 'accepted'"));
}

std::uint64_t Backlog::wal_bytes() {
  return static_cast<std::uint64_t>(sql_.number("SELECT pg_current_wal_insert_lsn() - '0/0'"));
}

std::uint64_t Backlog::sessions() {
  return static_cast<std::uint64_t>(sql_.number(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'waybill-%'"));
}

std::uint64_t Backlog::shards_used() {
  return static_cast<std::uint64_t>(sql_.number("SELECT count(DISTINCT shard) FROM deliveries"));
}

std::uint64_t Backlog::hosts_at_work() {
  return static_cast<std::uint64_t>(sql_.number("SELECT count(DISTINCT actor) FROM audit_log WHERE to_state = 'accepted'"));
}

void Backlog::check_all_accepted(std::uint64_t expected) {
  const auto seen = sql_.number("SELECT count(*) FROM submission_states WHERE state = 'accepted' AND completed_at IS NOT NULL");
  if (static_cast<std::uint64_t>(seen) != expected)
    throw std::runtime_error("the record is wrong: " + std::to_string(seen) + " submissions accepted, " +
                             std::to_string(expected) + " expected");
}

std::uint64_t Backlog::failed_attempts(bool counted) {
  return static_cast<std::uint64_t>(sql_.number(std::string("SELECT count(*) FROM attempts WHERE outcome <> 'accepted' AND ") +
                                                (counted ? "counts" : "NOT counts")));
}

void Backlog::check_each_once(std::uint64_t expected, std::int64_t after) {
  const std::string want = std::to_string(expected), behind = " > " + std::to_string(after);
  const auto expect = [&](const char* what, const std::string& query) {
    const auto seen = sql_.text("SELECT count(*) FROM " + query);
    if (seen != want)
      throw std::runtime_error(std::string("the record is wrong: ") + seen + " " + what + ", " + want + " expected");
  };
  expect("deliveries accepted at their first attempt",
         "deliveries WHERE status = 'accepted' AND attempt_count = 1 AND ended_at IS NOT NULL AND submission_id" + behind);
  expect("submissions accepted", "submission_states WHERE state = 'accepted' AND completed_at IS NOT NULL AND id" + behind);
  expect("attempts", "attempts WHERE delivery_id" + behind);
  expect("accepted deliveries with an attempt",
         "(SELECT DISTINCT delivery_id FROM attempts WHERE outcome = 'accepted' AND delivery_id" + behind + ") d");
  expect("audited ends", "audit_log WHERE to_state = 'accepted' AND submission_id" + behind);
}

}  // namespace waybill::bench
