// docs/operations/disaster-recovery.md line by line: the log is archived, a backup is made, and a moment comes back.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "docs/snippets.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// An embedded PostgreSQL and a place for backups, in the folders' places of the page.
class PointInTime : public ::testing::Test {
 protected:
  PointInTime() {
    setup.embedded = home_.path() / "pg";
    setup.registry = registry_of({target("sms.attempts", "sms", gateway.url(), "max_attempts", 3, {"invalid_request"})});
    const auto user = database_user();
    if (user && ::chown(backup_.path().c_str(), user->first, user->second) != 0) throw std::runtime_error("chown failed");
  }
  ~PointInTime() override { lines("pg_ctl stop -w -m immediate -D /var/lib/waybill/pg/data"); }

  // What the page has in its block of this name, run as it stands but for the folders.
  CommandResult block(const std::string& mark, const std::string& moment = {}) {
    for (const auto& snippet : snippets_of(source_folder() / "docs/operations/disaster-recovery.md"))
      if (snippet.mark == mark) return lines(replaced(snippet.text, "2026-11-23 09:30:00+00", moment));
    ADD_FAILURE() << "the page has no block " << mark;
    return {};
  }
  CommandResult lines(std::string text) {
    text = replaced(replaced(std::move(text), "/var/lib/waybill/pg", setup.embedded.string()), "/backup/waybill", backup_.path());
    return run({.arguments = {"/bin/sh", "-ec", text},
                .environment = {{"PATH", postgres_programs().string() + ":/usr/bin:/bin"}},
                .folder = "/",
                .user = database_user()});
  }
  std::string database() const { return "postgresql://waybill@/postgres?host=" + setup.embedded.string(); }

  FakeGateway gateway;
  HostSetup setup;

 private:
  static std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
    return text;
  }

  TempFolder home_, backup_;
};

// D12 F15
TEST_F(PointInTime, ComesBackByTheLinesOfThePageWithAllThatWasAcknowledgedBefore) {
  const Installation place(setup);
  gateway.script("flight", {Reply::hang(), Reply::accept()});
  {
    Daemon host(place);
    EXPECT_EQ(host.terminate(), 0);
  }
  const auto archived = block("archive");
  ASSERT_EQ(archived.exit_code, 0) << archived.err;
  std::string moment;
  {
    Daemon host(place);
    auto client = host.client();
    post_intent(client, sms_intent("in-the-backup", "sms.attempts"), 30);
    const auto saved = block("backup");
    ASSERT_EQ(saved.exit_code, 0) << saved.err;
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(post_intent(client, sms_intent("kept-" + std::to_string(i), "sms.attempts"), 30).status, 200);
    EXPECT_EQ(post_intent(client, sms_intent("flight", "sms.attempts")).status, 200);
    ASSERT_TRUE(gateway.wait_for_count("flight", 1));
    SqlClient sql(database());
    moment = sql.text("SELECT clock_timestamp()::text");
    sql.execute("SELECT pg_switch_wal()");  // so that some of the log is in the archive, and the rest is not
    EXPECT_EQ(post_intent(client, sms_intent("the-mistake", "sms.attempts"), 30).status, 200);
    host.kill_hard();
  }
  lines("pg_ctl stop -w -m immediate -D /var/lib/waybill/pg/data || true");  // as a crash: the newest log is in no archive
  const auto restored = block("restore", moment);
  ASSERT_EQ(restored.exit_code, 0) << restored.out << restored.err << read_file(setup.embedded / "postgresql.log");
  EXPECT_TRUE(eventually([&] { return SqlClient(database()).text("SELECT pg_is_in_recovery()") == "f"; }))
      << read_file(setup.embedded / "postgresql.log");

  Daemon host(place);
  auto client = host.client();
  EXPECT_EQ(get_intent(client, "in-the-backup").at("status"), "accepted");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get_intent(client, "kept-" + std::to_string(i)).at("status"), "accepted");
  EXPECT_EQ(client.get("/v1/intents/the-mistake").status, 404) << "its client hands it in again";
  EXPECT_EQ(wait_for_end(client, "flight").at("status"), "accepted");
  EXPECT_EQ(attempt_words(client, "flight"), (std::vector<std::string>{"unknown", "accepted"}));
  EXPECT_EQ(gateway.count("kept-0"), 1u) << "what had ended is not sent again";
  EXPECT_EQ(post_intent(client, sms_intent("the-mistake", "sms.attempts"), 30).status, 200);
  EXPECT_EQ(host.terminate(), 0);
}

}  // namespace
}  // namespace waybill::testing
