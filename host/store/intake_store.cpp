// Submissions on their way in: one statement, one commit, for a whole group.
#include <unordered_map>

#include "store/pg_stores.h"
#include "store/read_rows.h"
#include "store/routes.h"

namespace waybill {
namespace {

constexpr Statement kSubmit{"submit", R"(
  WITH item AS MATERIALIZED (
    SELECT *, nextval('object_ids') * 1024 + $1::smallint AS submission_id, nextval('object_ids') * 1024 + $1::smallint AS delivery_id
    FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[], $9::text[], $10::bytea[])
      AS t(org_id, kind, pipeline, client_ref, target, action_type, route_id, payload, payload_hash)),
  made AS (
    INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at)
    SELECT $1::smallint, submission_id, org_id, kind, client_ref, pipeline, target, 'as_delivery', payload_hash, now() FROM item
    ON CONFLICT DO NOTHING RETURNING id),
  fresh AS MATERIALIZED (SELECT item.* FROM item WHERE submission_id IN (SELECT id FROM made)),
  body AS (
    INSERT INTO payloads (shard, submission_id, org_id, body)
    SELECT $1::smallint, submission_id, org_id, convert_to(payload, 'UTF8') FROM fresh),
  delivery AS (
    INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status)
    SELECT $1::smallint, delivery_id, org_id, submission_id, 1, action_type, route_id, 'due' FROM fresh),
  queued AS (
    INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status)
    SELECT $1::smallint, delivery_id, org_id, submission_id, 1, route_id, now(), 'due' FROM fresh)
  SELECT submission_id, org_id, kind, client_ref, micros(now()) FROM fresh)"};

constexpr Statement kExisting{"existing", R"(
  SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
         s.kind, encode(s.payload_hash, 'hex')
  FROM unnest($2::int[], $3::text[], $4::text[]) AS t(org_id, kind, client_ref)
  JOIN submission_states s ON s.shard = $1 AND s.org_id = t.org_id AND s.kind = t.kind AND s.client_ref = t.client_ref)"};

std::string key_of(std::int64_t org, std::string_view kind, std::string_view client_ref) {
  std::string key = std::to_string(org);
  key.append(1, '\0').append(kind).append(1, '\0').append(client_ref);
  return key;
}

class PgIntakeStore final : public IntakeStore {
 public:
  explicit PgIntakeStore(const DatabaseAddress& address) : link_(address, "intake") {}

  Result<RouteId> route(OrgId org, const Contract& contract) override {
    return link_.use([&](Connection& connection) { return route_of(connection, org, contract); });
  }

  Result<std::vector<Submitted>> submit(Shard shard, std::span<const NewSubmission> items) override {
    auto fresh = insert(shard, items);
    if (!fresh) return tl::unexpected(fresh.error());
    std::vector<Submitted> answers(items.size());
    std::unordered_map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < items.size(); ++i)
      place.emplace(key_of(items[i].org.value, items[i].kind, items[i].client_ref), i);
    for (std::size_t row = 0; row < fresh->size(); ++row) {
      const auto at = place.find(key_of(fresh->number(row, 1), fresh->text(row, 2), fresh->text(row, 3)));
      const NewSubmission& item = items[at->second];
      answers[at->second] = {Submitted::How::created,
                             {.id = {fresh->number(row, 0)},
                              .org = item.org,
                              .client_ref = item.client_ref,
                              .target = item.target,
                              .state = item.state,
                              .created = fresh->time(row, 4)}};
      place.erase(at);
    }
    if (!place.empty())
      if (auto read = compare_with_existing(shard, items, place, answers); !read) return tl::unexpected(read.error());
    return answers;
  }

 private:
  Result<Rows> insert(Shard shard, std::span<const NewSubmission> items) {
    ArrayText org, kind, pipeline, client_ref, target, action_type, route, payload, hash;
    for (const auto& item : items) {
      org.add(item.org.value);
      kind.add(item.kind);
      pipeline.add(item.pipeline);
      client_ref.add(item.client_ref);
      target.add(item.target);
      action_type.add(item.action_type);
      route.add(item.route.value);
      payload.add(item.payload);
      hash.add(bytea(as_view(item.payload_hash)));
    }
    return link_.run(kSubmit, {std::to_string(shard), org.take(), kind.take(), pipeline.take(), client_ref.take(),
                               target.take(), action_type.take(), route.take(), payload.take(), hash.take()});
  }

  // What was not inserted is there already: the same submission again, or another one under its key.
  Result<void> compare_with_existing(Shard shard, std::span<const NewSubmission> items,
                                     const std::unordered_map<std::string, std::size_t>& place, std::vector<Submitted>& answers) {
    ArrayText org, kind, client_ref;
    for (const auto& [key, i] : place) {
      org.add(items[i].org.value);
      kind.add(items[i].kind);
      client_ref.add(items[i].client_ref);
    }
    auto rows = link_.run(kExisting, {std::to_string(shard), org.take(), kind.take(), client_ref.take()});
    if (!rows) return tl::unexpected(rows.error());
    if (rows->size() != place.size()) return fail(Error::Kind::unavailable, "a submission neither was inserted nor is there");
    for (std::size_t row = 0; row < rows->size(); ++row) {
      SubmissionView view = read_submission(*rows, row);
      const std::size_t i = place.at(key_of(view.org.value, rows->text(row, 8), view.client_ref));
      const bool same = view.target == items[i].target && rows->text(row, 9) == to_hex(as_view(items[i].payload_hash));
      answers[i] = {same ? Submitted::How::existing : Submitted::How::conflict, std::move(view)};
    }
    return {};
  }

  Link link_;
};

}  // namespace

std::unique_ptr<IntakeStore> make_intake_store(const DatabaseAddress& address) {
  return std::make_unique<PgIntakeStore>(address);
}

}  // namespace waybill
