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
  // Why not; "" once it is there.
  std::string build(OldVersion& old) {
    if (!all_rounds()) return "the program of before takes minutes to build: set WAYBILL_TEST_ALL=1";
    TempFolder folder;
    const auto out = folder.path() / "out", err = folder.path() / "err";
    const char* chosen = std::getenv("WAYBILL_OLD_COMMIT");
    Process script({.arguments = {WAYBILL_SOURCE_FOLDER "/tests/support/old_version.sh", WAYBILL_SOURCE_FOLDER},
                    .environment = {{"WAYBILL_OLD_COMMIT", chosen == nullptr ? "" : chosen}},
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

  void load(int number, const std::atomic<bool>& enough) {
    for (int i = 0; !enough; ++i) {
      const auto id = "r" + std::to_string(number) + "-" + std::to_string(i);
      const auto body = sms_intent(id, i % 2 == 0 ? "sms.patient" : "sms.once").dump();
      std::size_t at = static_cast<std::size_t>(number + i);
      const bool taken = eventually([&] {
        const auto port = places[++at % places.size()].port.load();
        const auto response =
            port == 0 ? std::nullopt : HttpClient(port, std::chrono::seconds(5)).try_request("POST", "/v1/intents", body);
        return enough || (response && response->status == 200);
      });
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

  std::array<Place, 2> places;
  std::mutex mutex;
  std::vector<std::string> acknowledged;
};

// E2
TEST_F(RollingUpgrade, FromTheVersionBeforeLosesNothingAndSendsNothingTwice) {
  OldVersion old;
  if (const auto why = build(old); !why.empty()) {
    ASSERT_FALSE(all_rounds() && must_run()) << why;
    GTEST_SKIP() << why;
  }
  ASSERT_FALSE(HasFailure());
  std::printf("from %s, which is to be %s\n", old.commit.c_str(), old.may_run_beside ? "beside" : "refused");
  gateway.by_default(Reply::late(std::chrono::milliseconds(20)));
  use_empty_database();
  setup.plugins = {"sms"};
  setup.plugin_isolation = "";  // the version before does not know it
  setup.registry = registry_of({target("sms.patient", "sms", gateway.url(), "deadline", 600, {"invalid_request"}),
                                target("sms.once", "sms", gateway.url(), "one_shot", 0, {"invalid_request"})});
  {
    const InThePast past(old);
    places[0].start(setup, sql());
  }
  std::atomic<bool> enough{false};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back([&, i] { load(i, enough); });
  const AtEnd no_more([&] { enough = true; });
  ASSERT_TRUE(goes_on(100));

  const auto migrated = installation().command({"migrate"});
  EXPECT_EQ(migrated.exit_code, old.may_run_beside ? 0 : 1) << migrated.out << migrated.err;
  if (!old.may_run_beside) {
    EXPECT_NE(migrated.err.find(":" + std::to_string(places[0].daemon->pid())), std::string::npos)
        << "it names the host: " << migrated.err;
  }
  EXPECT_TRUE(goes_on(100)) << "the old host goes on";
  if (old.may_run_beside) {
    places[1].start(setup, sql());
    EXPECT_TRUE(goes_on(100)) << "both beside each other";
  }
  EXPECT_EQ(places[0].daemon->terminate(), 0);
  places[0].port = 0;
  if (!old.may_run_beside) places[1].start(setup, sql());  // it migrates
  EXPECT_TRUE(goes_on(100)) << "the new host goes on";
  enough = true;
  callers.clear();

  EXPECT_TRUE(
      eventually([&] { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; }));
  for (const auto& id : acknowledged) EXPECT_EQ(gateway.count(id), 1u) << id;
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submission_states WHERE state <> 'accepted'"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready"), 0);
}

}  // namespace
}  // namespace waybill::testing
