// The host with the rights of the application role: the whole pipeline, and what it says when a right is missing.
#include <gtest/gtest.h>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

// docs/operations/roles.md, as far as its step 2: the owner and the host's login are there, the application role is not.
class Roles : public World {
 protected:
  Roles() {
    for (const char* role : {"waybill_owner", "waybill_admin", "waybill_host", "waybill_analyst"}) cluster().create_role(role);
    admin.execute("GRANT waybill_owner TO waybill_admin");
    admin.execute("CREATE SCHEMA waybill AUTHORIZATION waybill_owner");
    setup.database_url = as_role(superuser_url, "waybill_host");
    setup.owner_url = as_role(superuser_url, "waybill_admin");
  }
  void set_up() {
    ASSERT_EQ(installation().command({"migrate"}).exit_code, 0);
    const auto done = installation().command({"roles"}, as_superuser());
    ASSERT_EQ(done.exit_code, 0) << done.err;
    admin.execute("GRANT waybill_app TO waybill_host");
    admin.execute("GRANT waybill_reader TO waybill_analyst");
  }
  std::map<std::string, std::string> as_superuser() const { return {{"WAYBILL_DATABASE_OWNER_URL", superuser_url}}; }
  static void expect_failure(const CommandResult& result, const std::vector<std::string>& words) {
    EXPECT_EQ(result.exit_code, 1) << result.out;
    auto said = result.err;
    std::erase(said, '\\');  // quotes in a line of the log
    for (const auto& word : words) EXPECT_NE(said.find(word), std::string::npos) << word << " is not in: " << said;
  }

  std::string superuser_url = cluster().create_database();
  SqlClient admin{superuser_url};
};

// F14
TEST_F(Roles, AHostWithTheApplicationRoleGoesTheWholeRoad) {
  set_up();
  for (const auto& row :
       admin.rows("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'waybill.attempts'::regclass"))
    admin.execute("DROP TABLE " + *row[0]);
  gateway.script("retried", {Reply::reject("provider_failure"), Reply::accept()});
  client();
  ASSERT_TRUE(eventually(
      [&] { return admin.number("SELECT count(*) FROM pg_inherits WHERE inhparent = 'waybill.attempts'::regclass") == 3; }));
  post_intent(client(), sms_intent("retried", "sms.attempts"));
  EXPECT_EQ(wait_for_end(client(), "retried")["status"], "accepted");
  EXPECT_EQ(attempt_words(client(), "retried"), (Words{"rejected", "accepted"}));
  EXPECT_EQ(admin.number("SELECT count(*) FROM waybill.audit_log WHERE action = 'intent_accepted'"), 1);
  EXPECT_EQ(admin.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                         " AND application_name LIKE 'waybill-%' AND usename <> 'waybill_host'"),
            0);
  EXPECT_EQ(SqlClient(as_role(superuser_url, "waybill_analyst")).number("SELECT count(*) FROM waybill.attempts"), 2);
  EXPECT_EQ(host().terminate(), 0);
}

// F14
TEST_F(Roles, SuchHostsTakeOverFromEachOther) {
  set_up();
  client();
  const auto first_id = admin.number("SELECT max(host_id) FROM waybill.hosts");
  setup.owner_url.clear();  // there is nothing to migrate, so the second one needs no owner
  const Installation second_place(setup);
  Daemon second(second_place);
  gateway.script("orphan", {Reply::hang(), Reply::accept()});
  post_intent(client(), sms_intent("orphan", "sms.attempts"));
  ASSERT_TRUE(gateway.wait_for_count("orphan", 1));
  const bool first_has_it = admin.number("SELECT claimed_by FROM waybill.ready") == first_id;
  auto survivor = first_has_it ? second.client() : HttpClient(host().port());
  (first_has_it ? host() : second).kill_hard();
  EXPECT_EQ(wait_for_end(survivor, "orphan")["status"], "accepted");
  EXPECT_EQ(attempt_words(survivor, "orphan"), (Words{"unknown", "accepted"}));
}

// F14
TEST_F(Roles, TheCommandsNeedNoMoreThanTheHost) {
  set_up();
  setup.auth = "tokens";
  for (const std::vector<std::string>& command :
       {Words{"token", "create", "--name", "shop"}, Words{"token", "revoke", "shop"}, Words{"migrate"}, Words{"check"}}) {
    const auto result = installation().command(command, {{"WAYBILL_DATABASE_OWNER_URL", setup.database_url}});
    EXPECT_EQ(result.exit_code, 0) << command[0] << ": " << result.err;
  }
  post_intent(client(), sms_intent("one", "sms.attempts"));
  wait_for_end(client(), "one");
  const auto told = installation().command({"explain", "one"});
  EXPECT_EQ(told.exit_code, 0) << told.err;
}

// F14
TEST_F(Roles, AHostThatMayNotMigrateSaysSoAndWhatToDo) {
  const std::map<std::string, std::string> alone{{"WAYBILL_DATABASE_OWNER_URL", setup.database_url}};
  expect_failure(installation().command({"serve"}, alone),
                 {"schema \"waybill\" is not there", "waybill migrate", "database.owner_url"});
  expect_failure(installation().command({"migrate"}, alone), {"may not make it", "database.owner_url"});
  set_up();
  admin.execute("DELETE FROM waybill.schema_migrations WHERE version = (SELECT max(version) FROM waybill.schema_migrations)");
  expect_failure(installation().command({"serve"}, alone), {"role \"waybill_host\" may not change it", "waybill migrate"});
  expect_failure(installation().command({"serve"}, {{"WAYBILL_DATABASE_MIGRATE", "false"}}), {"run `waybill migrate`"});
}

// D11
TEST_F(Roles, AnOwnerOfAnotherDatabaseMigratesNothing) {
  const auto url = cluster().create_database();
  SqlClient other(url);
  const auto elsewhere = as_role(url, "waybill_admin");
  for (const char* command : {"migrate", "serve"})
    expect_failure(installation().command({command}, {{"WAYBILL_DATABASE_OWNER_URL", elsewhere}}),
                   {"database.owner_url leads to another database"});
  EXPECT_EQ(other.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'waybill'"), 0);
}

// F14
TEST_F(Roles, AHostThatWasNotGivenItsRoleSaysSo) {
  expect_failure(installation().command({"serve"}), {"database.url", "waybill roles"});
}

// F14
TEST_F(Roles, TheCommandSaysWhatItDidAndWhatIsLeftToDo) {
  expect_failure(installation().command({"roles"}), {"run `waybill migrate` first"});
  ASSERT_EQ(installation().command({"migrate"}).exit_code, 0);
  const auto own = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"roles", "--app", "mail_app", "--reader", "mail_reader", "--tenant", "mail_tenant"});
    return more;
  };
  expect_failure(installation().command(own({})),
                 {"role \"waybill_admin\" may not create roles",
                  "CREATE ROLE \"mail_app\" NOLOGIN; CREATE ROLE \"mail_reader\" NOLOGIN; "
                  "CREATE ROLE \"mail_tenant\" NOLOGIN; GRANT \"mail_tenant\" TO \"mail_app\", \"waybill_owner\";"});
  const auto made = json::parse(installation().command(own({"--json"}), as_superuser()).out);
  EXPECT_EQ(made, (json{{"owner", "waybill_owner"},
                        {"application", "mail_app"},
                        {"reader", "mail_reader"},
                        {"tenant", "mail_tenant"},
                        {"created", {"mail_app", "mail_reader", "mail_tenant"}}}));
  const auto again = installation().command({"roles"});  // as set up before, and by a member of the owner
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("GRANT \"mail_app\" TO"), std::string::npos) << again.out;
  EXPECT_EQ(admin.number("SELECT count(*) FROM pg_roles WHERE rolname IN ('mail_app', 'mail_reader') AND NOT rolcanlogin"), 2);
}

}  // namespace
}  // namespace waybill::testing
