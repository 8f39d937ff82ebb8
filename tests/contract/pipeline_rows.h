// Rows of pipelines' submissions as the machine writes them, made by SQL.
#pragma once

#include <string>

#include "contract/store_world.h"

namespace waybill::testing {

class PipelineRows : public StoreWorld {
 protected:
  void SetUp() override {
    StoreWorld::SetUp();
    sql.execute("INSERT INTO pipeline_versions (pipeline, number, hash, definition) VALUES ('mail', 3, 'h', '{}')");
    other = {sql.number("INSERT INTO organisations (name) VALUES ('other') RETURNING org_id")};
  }

  // A submission in `state` with one step and one ended delivery. Returns its id.
  std::int64_t add(const std::string& client_ref, const std::string& reference, OrgId org = kDefaultOrg,
                   const std::string& provider_ref = "none", const std::string& state = "sent") {
    const auto of_org = std::to_string(org.value), of_route = std::to_string(route("mail.notify", org).value);
    const auto id = std::to_string(sql.number("SELECT nextval('object_ids') * 1024"));
    const auto delivery = std::to_string(sql.number("SELECT nextval('object_ids') * 1024"));
    sql.execute(
        "INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body) "
        "VALUES (0, " +
        id + ", " + of_org + ", 'pipeline', '" + client_ref + "', 'mail', 'mail', '" + state +
        "', '', now(), '{\"answer\": 42}')");
    sql.execute(
        "INSERT INTO pipeline_submissions (shard, submission_id, org_id, version_id, pipeline, state, step, next_action, routes, "
        "metadata, "
        "reference, created_at) VALUES (0, " +
        id + ", " + of_org + ", 1, 'mail', '" + state + "', 2, 2, '{" + of_route + "}', '{\"reference\": \"" + reference +
        "\"}', '" + reference + "', now())");
    sql.execute("INSERT INTO pipeline_steps VALUES (0, " + id + ", 1, " + of_org +
                ", 'mail', 'sending', now(), now(), '{1}', 1), (0, " + id + ", 2, " + of_org + ", 'mail', '" + state +
                "', now(), NULL, '{}', 2)");
    sql.execute(
        "INSERT INTO deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, attempt_count, "
        "provider_ref, result, ended_at) VALUES (0, " +
        delivery + ", " + of_org + ", " + id + ", 1, 'sms', " + of_route + ", 'accepted', 1, '" + provider_ref +
        "', '{\"id\": \"n-1\"}', now())");
    sql.execute("INSERT INTO edited_payloads VALUES (0, " + delivery + ", " + of_org + ", '{\"template\": \"T\"}')");
    sql.execute("INSERT INTO artifacts (shard, delivery_id, org_id, media_type, body) VALUES (0, " + delivery + ", " + of_org +
                ", 'text/plain', 'x')");
    sql.execute(
        "INSERT INTO attempts (shard, delivery_id, number, org_id, started_at, finished_at, outcome, code, answer) VALUES (0, " +
        delivery + ", 1, " + of_org + ", now(), now(), 'accepted', 201, '{\"id\": \"n-1\"}')");
    sql.execute(
        "INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, "
        "actor_type) VALUES (0, " +
        id + ", now(), " + of_org + ", 'transition', 'sending', '" + state + "', 'delivered', 'box:1', 'worker')");
    return std::stoll(id);
  }

  OrgId other;
};

}  // namespace waybill::testing
