// A rolling upgrade under load: the program of before, built from the repository's history, gives way to this one. It takes
// minutes to build, so it is done with WAYBILL_TEST_ALL=1 only; WAYBILL_OLD_COMMIT names a commit other than the last before the
// newest migration.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <thread>

#include "contract/schema_text.h"
#include "crash/place.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

struct OldVersion {
  std::string commit, program, plugins;
  bool may_run_beside = false;
};

// While this lives, hosts and installations are of the old version.
class InThePast {
 public:
  explicit InThePast(const OldVersion& old) {
    ::setenv("WAYBILL_PROGRAM", old.program.c_str(), 1);
    ::setenv("WAYBILL_PLUGIN_FOLDER", old.plugins.c_str(), 1);
  }
  ~InThePast() {
    ::unsetenv("WAYBILL_PROGRAM");
    ::unsetenv("WAYBILL_PLUGIN_FOLDER");
  }
};

class RollingUpgrade : public World {
 protected:
  // Why not; "" once it is there. `commit` "": the one before the newest migration came, or what WAYBILL_OLD_COMMIT names.
  std::string build(OldVersion& old, const std::string& commit) {
    if (!all_rounds()) return "the program of before takes minutes to build: set WAYBILL_TEST_ALL=1";
    TempFolder folder;
    const auto out = folder.path() / "out", err = folder.path() / "err";
    const char* chosen = std::getenv("WAYBILL_OLD_COMMIT");
    Process script({.arguments = {WAYBILL_SOURCE_FOLDER "/tests/support/old_version.sh", WAYBILL_SOURCE_FOLDER},
                    .environment = {{"WAYBILL_OLD_COMMIT", commit.empty() && chosen != nullptr ? chosen : commit}},
                    .out = out,
                    .err = err});
    const auto code = script.wait(std::chrono::minutes(25));
    if (code == 77) return read_file(err);
    EXPECT_EQ(code, 0) << read_file(err);
    std::istringstream lines(read_file(out));
    std::string word;
    std::getline(lines, old.commit) && std::getline(lines, old.program) && std::getline(lines, old.plugins) &&
        std::getline(lines, word);
    old.may_run_beside = word == "beside";
    return "";
  }

  // Tries each place once, as a balancer does.
  bool is_taken(std::size_t first, const std::string& body) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto port = places[(first + i) % places.size()].port.load();
      const auto response =
          port == 0 ? std::nullopt : HttpClient(port, std::chrono::seconds(60)).try_request("POST", "/v1/intents", body);
      if (response && response->status == 200) return true;
    }
    return false;
  }

  void load(int number, const std::atomic<bool>& enough) {
    for (int i = 0; !enough; ++i) {
      const auto id = "r" + std::to_string(number) + "-" + std::to_string(i);
      const auto body = sms_intent(id, i % 2 == 0 ? "sms.patient" : "sms.once").dump();
      const auto first = static_cast<std::size_t>(number + i);
      bool taken = is_taken(first, body);
      if (!taken && !enough) ++refused;
      if (!taken) taken = eventually([&] { return enough || is_taken(first, body); });
      EXPECT_TRUE(taken) << "nobody took " << id;
      if (!taken || enough) return;
      const std::lock_guard lock(mutex);
      acknowledged.push_back(id);
    }
  }
  std::size_t acknowledged_count() {
    const std::lock_guard lock(mutex);
    return acknowledged.size();
  }
  bool goes_on(std::size_t more) {
    const auto then = acknowledged_count();
    return eventually([&] { return acknowledged_count() > then + more; });
  }

  void start_old(Place& place, const OldVersion& old) {
    const InThePast past(old);
    place.start(setup, sql());
  }
  // By one of this version, in the same place; callers go to the other one meanwhile.
  void replace(Place& place) {
    EXPECT_EQ(place.daemon->terminate(), 0);
    place.port = 0;
    place.installation.reset();
    place.start(setup, sql());
  }
  void roll(const std::string& commit);

  std::array<Place, 2> places;
  std::atomic<int> refused{0};  // that no place took at the first time
  std::mutex mutex;
  std::vector<std::string> acknowledged;
};

void RollingUpgrade::roll(const std::string& commit) {
  OldVersion old;
  if (const auto why = build(old, commit); !why.empty()) {
    ASSERT_FALSE(all_rounds() && must_run()) << why;
    GTEST_SKIP() << why;
  }
  ASSERT_FALSE(HasFailure());
  std::printf("from %s, which is to be %s\n", old.commit.c_str(), old.may_run_beside ? "beside" : "refused");
  gateway.by_default(Reply::late(std::chrono::milliseconds(20)));
  use_empty_database();
  setup.plugins = {"sms"};
  setup.plugin_isolation = "";  // a version before does not know it
  setup.registry = registry_of({target("sms.patient", "sms", gateway.url(), "deadline", 600, {"invalid_request"}),
                                target("sms.once", "sms", gateway.url(), "one_shot", 0, {"invalid_request"})});
  for (auto& place : places) start_old(place, old);
  std::atomic<bool> enough{false};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back([&, i] { load(i, enough); });
  const AtEnd no_more([&] { enough = true; });
  ASSERT_TRUE(goes_on(100));

  const auto migrated = installation().command({"migrate"});
  EXPECT_EQ(migrated.exit_code, old.may_run_beside ? 0 : 1) << migrated.out << migrated.err;
  EXPECT_TRUE(goes_on(100)) << "the old hosts go on";
  if (old.may_run_beside) {
    replace(places[0]);
    EXPECT_TRUE(goes_on(100)) << "both beside each other";
    replace(places[1]);
    EXPECT_TRUE(goes_on(100)) << "the new hosts go on";
    EXPECT_EQ(refused, 0);
  } else {
    for (const auto& place : places)
      EXPECT_NE(migrated.err.find(":" + std::to_string(place.daemon->pid())), std::string::npos)
          << "it names the host: " << migrated.err;
    for (auto& place : places) {
      EXPECT_EQ(place.daemon->terminate(), 0);
      place.port = 0;
    }
    places[0].installation.reset();
    places[0].start(setup, sql());  // it migrates
    EXPECT_TRUE(goes_on(100)) << "the new host goes on";
  }
  enough = true;
  callers.clear();

  EXPECT_TRUE(
      eventually([&] { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; }));
  for (const auto& id : acknowledged) EXPECT_EQ(gateway.count(id), 1u) << id;
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submission_states WHERE state <> 'accepted'"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready"), 0);
  std::printf("%zu acknowledged, %d refused\n", acknowledged.size(), refused.load());

  auto other = setup;
  other.database_url = cluster().create_database();
  const auto made = Installation(other).command({"migrate"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  SqlClient anew(other.database_url);
  for (auto* client : {&anew, &sql()}) client->execute("SET search_path TO waybill");
  EXPECT_EQ(schema_text(sql()), schema_text(anew)) << "an installation that begins today has the same";
}

// E2 O1 O6
TEST_F(RollingUpgrade, FromTheVersionBeforeRefusesAndLosesNothingAndSendsNothingTwice) { roll(""); }

// O1 O6: from a host that knows no sockets of a service manager, and has the last schema of before 1.0
TEST_F(RollingUpgrade, FromBeforeOneRefusesAndLosesNothingAndSendsNothingTwice) {
  roll("3caa3a272a66817e35d2b99e3b19f9270fa3d628");
}

}  // namespace
}  // namespace waybill::testing
