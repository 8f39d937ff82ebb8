// The intake's statement with generate_series in the place of its arrays.
#include "bench/backlog.h"

#include <algorithm>
#include <stdexcept>

#include "bench/host.h"
#include "bench/interrupt.h"

namespace waybill::bench {
namespace {

constexpr std::size_t kChunk = 50'000;

std::string insert(std::uint64_t first, std::size_t count, std::size_t body_bytes) {
  const std::string padding = std::to_string(body_bytes > 40 ? body_bytes - 40 : 0);
  return R"(
  WITH item AS MATERIALIZED (
    SELECT nextval('object_ids') * 1024 AS submission_id, nextval('object_ids') * 1024 AS delivery_id,
           'backlog-' || n AS client_ref,
           convert_to('{"number":' || lpad(n::text, 12) || ',"text":"' || repeat('x', )" +
         padding + R"() || '"}', 'UTF8') AS body
    FROM generate_series()" +
         std::to_string(first) + "::bigint, " + std::to_string(first + count - 1) + R"() n),
  route AS MATERIALIZED (SELECT route_id FROM contract_snapshots),
  made AS (
    INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at)
    SELECT 0, submission_id, 1, 'intent', client_ref, 'intent', ')" +
         kTarget + R"(', 'as_delivery', sha256(body), now() FROM item),
  body AS (INSERT INTO payloads (shard, submission_id, org_id, body) SELECT 0, submission_id, 1, body FROM item),
  delivery AS (
    INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status)
    SELECT 0, delivery_id, 1, submission_id, 1, 'webhook', route_id, 'due' FROM item, route)
  INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
  SELECT 0, delivery_id, 1, submission_id, 1, route_id, now(), 'due' FROM item, route)";
}

}  // namespace

Backlog::Backlog(const std::string& database_url) : sql_(database_url) { sql_.execute("SET search_path TO waybill"); }

void Backlog::hold_target() {
  sql_.execute(std::string("INSERT INTO target_rests VALUES (1, '") + kTarget + "', now() + interval '1 day', 'bench')");
}

void Backlog::release_target() { sql_.execute("DELETE FROM target_rests"); }

void Backlog::add(std::size_t count, std::size_t body_bytes) {
  for (std::size_t done = 0; done < count;) {
    check_interrupted();
    const auto chunk = std::min(kChunk, count - done);
    sql_.execute(insert(added_ + 1, chunk, body_bytes));
    added_ += chunk;
    done += chunk;
  }
  sql_.execute("VACUUM (ANALYZE)");  // what autovacuum would have done while a real backlog grew
  sql_.execute("CHECKPOINT");
}

bool Backlog::empty() { return sql_.number("SELECT count(*) FROM (SELECT FROM ready LIMIT 1) any_row") == 0; }

std::uint64_t Backlog::submissions() { return static_cast<std::uint64_t>(sql_.number("SELECT count(*) FROM submissions")); }

void Backlog::check_each_once(std::uint64_t expected) {
  const std::string want = std::to_string(expected);
  const auto expect = [&](const char* what, const std::string& query) {
    const auto seen = sql_.text("SELECT count(*) FROM " + query);
    if (seen != want)
      throw std::runtime_error(std::string("the record is wrong: ") + seen + " " + what + ", " + want + " expected");
  };
  expect("deliveries accepted at their first attempt",
         "deliveries WHERE status = 'accepted' AND attempt_count = 1 AND ended_at IS NOT NULL");
  expect("submissions accepted", "submission_states WHERE state = 'accepted' AND completed_at IS NOT NULL");
  expect("attempts", "attempts");
  expect("accepted deliveries with an attempt", "(SELECT DISTINCT delivery_id FROM attempts WHERE outcome = 'accepted') d");
  expect("audited ends", "audit_log WHERE to_state = 'accepted'");
}

}  // namespace waybill::bench
