// A database with its roles set up as docs/operations/roles.md says, a session of each, and rows of two submissions.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/pg/migrations.h"
#include "store/pg/roles.h"
#include "store/pg_stores.h"
#include "support/postgres_cluster.h"
#include "support/sql_client.h"

namespace waybill::testing {

inline constexpr const char* kSuperuser = "postgres";
inline constexpr const char* kOwner = "waybill_owner";
inline constexpr const char* kAdmin = "waybill_admin";      // a member of the owner
inline constexpr const char* kHost = "waybill_host";        // a member of the application role
inline constexpr const char* kAnalyst = "waybill_analyst";  // a member of the read-only role
inline constexpr const char* kNobody = "waybill_nobody";    // a member of none

class RolesWorld : public ::testing::Test {
 protected:
  RolesWorld() {
    for (const char* role : {kOwner, kAdmin, kHost, kAnalyst, kNobody}) cluster().create_role(role);
    sql.execute("GRANT waybill_owner TO waybill_admin");
    sql.execute("CREATE SCHEMA waybill AUTHORIZATION waybill_owner");
    sql.execute("SET search_path TO waybill");
  }
  void SetUp() override {
    const auto applied = migrate(address(kAdmin));
    ASSERT_TRUE(applied) << applied.error().what;
    const auto done = set_up_roles(address(kSuperuser), {}, {});
    ASSERT_TRUE(done) << done.error().what;
    sql.execute("GRANT waybill_app TO waybill_host");
    sql.execute("GRANT waybill_reader TO waybill_analyst");
    write_submission(1024, "routed");
    write_submission(2048, "purged");
  }

  DatabaseAddress address(const std::string& role) const { return {role == kSuperuser ? url : as_role(url, role), "waybill"}; }

  SqlClient& as(const std::string& role) {
    auto& session = sessions_[role];
    if (!session) {
      session = std::make_unique<SqlClient>(address(role).url);
      session->execute("SET search_path TO waybill");
    }
    return *session;
  }

  // Why the role may not; "" if it was carried out.
  std::string refusal(const std::string& role, const std::string& statement) {
    try {
      as(role).execute(statement);
      return "";
    } catch (const std::exception& e) {
      return e.what();
    }
  }
  bool permission_denied(const std::string& role, const std::string& statement) {
    const auto why = refusal(role, statement);
    // From whoever may not use the schema, its tables are hidden.
    return why.find("permission denied") != std::string::npos || why.find("must be owner") != std::string::npos ||
           (role == kNobody && why.find("does not exist") != std::string::npos);
  }

  std::vector<std::string> list(const std::string& query) {
    std::vector<std::string> all;
    for (const auto& row : sql.rows(query)) all.push_back(row.at(0).value_or(""));
    return all;
  }

  // A submission in this state with one row of everything that shows it; a delivery that has ended, and one that has not.
  void write_submission(int id, const std::string& state, int org = 1) {
    const std::string s = std::to_string(id), d = std::to_string(id + 100), u = std::to_string(id + 200), ref = "'ref-" + s + "'",
                      o = std::to_string(org);
    sql.execute(
        "INSERT INTO waybill.pipeline_versions (pipeline, number, hash, definition) VALUES ('p', 1, '\\x00', '{}') ON CONFLICT "
        "DO NOTHING");
    for (const std::string& insert :
         {"submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body) VALUES "
          "(0, " +
              s + ", " + o + ", 'form', " + ref + ", 'form', 'contact', '" + state + "', '\\x00', now(), '{}')",
          "form_submissions (shard, submission_id, org_id, retention_expires_at) VALUES (0, " + s + ", " + o + ", now())",
          "attachments (org_id, attachment_id, shard, submission_id, position, name, content_type, size, object_uri) VALUES "
          "(" +
              o + ", " + ref + ", 0, " + s + ", 0, 'cv.pdf', 'application/pdf', 1, 'gs://b/o')",
          "deliveries (shard, id, org_id, submission_id, action_order, action_type, route_id, status, ended_at) VALUES (0, " + d +
              ", " + o + ", " + s + ", 1, 'sms', 1, 'exhausted', now())",
          "ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status) VALUES (0, " + u + ", " + o +
              ", " + s + ", 2, 1, now(), 'due')",
          "digest_failures VALUES (" + o + ", decode(lpad('" + s +
              "', 8, '0'), 'hex'), 1, 't', 'sms', 'failed', '', now(), '', '', 0, " + s + ", " + ref + ")",
          "archived_submissions VALUES (0, " + s + ", " + o + ", " + ref +
              ", 'p', 's', NULL, '{}', now(), NULL, now(), now(), '{}')",
          "pipeline_submissions (shard, submission_id, org_id, version_id, pipeline, state, step, routes, metadata, created_at) "
          "VALUES "
          "(0, " +
              s + ", " + o + ", (SELECT max(version_id) FROM pipeline_versions), 'p', 's', 1, '{1}', '{}', now())",
          "pipeline_steps (shard, submission_id, step, org_id, pipeline, state, entered_at, actions, first_action) VALUES (0, " +
              s + ", 1, " + o + ", 'p', 's', now(), '{}', 1)",
          "pipeline_repairs (shard, submission_id, step, org_id, from_state, to_state) VALUES (0, " + s + ", 1, " + o +
              ", 's', 's')",
          "pipeline_given (shard, submission_id, step, place, org_id, is_done) VALUES (0, " + s + ", 1, 1, " + o + ", true)",
          "artifacts (shard, delivery_id, org_id, media_type, body) VALUES (0, " + d + ", " + o + ", 'text/plain', 'x')",
          "artifacts (shard, delivery_id, org_id, media_type, body) VALUES (0, " + u + ", " + o + ", 'text/plain', 'x')",
          "edited_payloads VALUES (0, " + d + ", " + o + ", '{}'), (0, " + u + ", " + o + ", '{}')",
          "dead_letters (shard, id, org_id, submission_id, kind, client_ref, target, action_order, action_type, reason, died_at)"
          " VALUES (0, " +
              d + ", " + o + ", " + s + ", 'form', " + ref + ", 'contact', 1, 'sms', 'max_attempts', now())",
          "dead_letter_edits (shard, dead_letter_id, submission_id, org_id, actor, field, before, after) VALUES (0, " + d + ", " +
              s + ", " + o + ", 'ann', 'fields', '{}', '{}')",
          "attempts (shard, delivery_id, number, org_id, started_at, outcome) VALUES (0, " + d + ", 1, " + o +
              ", now(), 'error'), (0, " + d + ", 2, " + o + ", '2001-01-01', 'error'), (0, " + u + ", 1, " + o +
              ", now(), 'error')",  // this month's partition, and the default one
          "notifications (shard, delivery_id, org_id, channel_id, created_at, bytes, latest) VALUES (0, " + d + ", " + o +
              ", gen_random_uuid(), now(), 2, " + d + "), (0, " + u + ", " + o + ", gen_random_uuid(), now(), 2, " + u + ")",
          "notification_events (shard, delivery_id, event_no, org_id) VALUES (0, " + d + ", 1, " + o + "), (0, " + u + ", 1, " +
              o + ")",
          "audit_log (shard, submission_id, created_at, org_id, action, trigger, actor, actor_type) VALUES (0, " + s +
              ", now(), " + o + ", 'routed', 'accept', 'box:1', 'worker'), (0, " + s + ", '2001-01-01', " + o +
              ", 'received', 'submit', 'box:1', 'worker')"})
      sql.execute("INSERT INTO " + insert);
  }

  const std::string url = cluster().create_database();
  SqlClient sql{url};  // a superuser

 private:
  std::map<std::string, std::unique_ptr<SqlClient>> sessions_;
};

}  // namespace waybill::testing
