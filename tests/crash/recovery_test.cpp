// Backups and standbys under load: a moment comes back with all that was acknowledged before it and without a one_shot that is
// sent twice; a synchronous standby takes over without a loss, and another with one that is measured. WAYBILL_TEST_ALL=1: more
// rounds.  O7
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "support/postgres_standby.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kTargets{"sms.once", "sms.attempts", "sms.patient"};

struct Acknowledged {
  std::string id, target;
  Clock::time_point at;
  double time;  // of this machine, which is the database's: seconds since 1970
};

double now_in_seconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// Four callers who hand in intents until they are acknowledged or told to stop.
class Load {
 public:
  explicit Load(std::function<std::uint16_t()> port) : port_(std::move(port)) {
    for (int i = 0; i < 4; ++i) callers_.emplace_back([this, i](const std::stop_token& stop) { call(i, stop); });
  }
  std::vector<Acknowledged> stop() {
    for (auto& caller : callers_) caller.request_stop();
    callers_.clear();
    return acknowledged();
  }
  std::vector<Acknowledged> acknowledged() const {
    const std::lock_guard lock(mutex_);
    return acknowledged_;
  }
  bool wait_for(std::size_t count) const {
    return eventually([&] { return acknowledged().size() >= count; });
  }

 private:
  void call(int caller, const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      const auto id = "r" + std::to_string(caller) + "-" + std::to_string(i);
      const std::string target = kTargets[static_cast<std::size_t>(i) % kTargets.size()];
      const auto body = sms_intent(id, target).dump();
      while (!stop.stop_requested()) {
        const auto response = HttpClient(port_(), std::chrono::seconds(5)).try_request("POST", "/v1/intents", body);
        if (!response || response->status != 200) continue;
        const std::lock_guard lock(mutex_);
        acknowledged_.push_back({id, target, Clock::now(), now_in_seconds()});
        break;
      }
    }
  }

  const std::function<std::uint16_t()> port_;
  mutable std::mutex mutex_;
  std::vector<Acknowledged> acknowledged_;
  std::vector<std::jthread> callers_;
};

class Recovery : public World {
 protected:
  Recovery() {
    setup.more = "timeouts: { attempt: 5s, poll: 20ms }\n";
    gateway.by_default(Reply::late(std::chrono::milliseconds(15)));
  }
  std::size_t load_size() const { return all_rounds() ? 3000 : 300; }

  static std::set<std::string> known_of(SqlClient& sql) {
    std::set<std::string> known;
    for (const auto& row : sql.rows("SELECT client_ref FROM waybill.submissions")) known.insert(*row[0]);
    return known;
  }
  bool all_have_ended(SqlClient& sql) const {
    return eventually(
        [&] { return sql.number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; },
        std::chrono::seconds(120));
  }
};

// ---- a moment ----

// A server whose log is archived, and another that is restored from a base backup and that archive.
class ToAMoment : public Recovery {
 protected:
  ToAMoment() {
    if (const auto user = database_user(); user && ::chown(backup_.path().c_str(), user->first, user->second) != 0)
      throw std::runtime_error("chown failed");
    shell("mkdir -p wal");
    auto settings = SqlClient(server.url("postgres"));
    settings.execute("ALTER SYSTEM SET archive_mode = on");
    settings.execute("ALTER SYSTEM SET archive_command = 'cp %p " + wal() + "/%f.new && mv " + wal() + "/%f.new " + wal() +
                     "/%f'");
    server.restart();
    setup.database_url = server.create_database();
  }
  std::string wal() const { return (backup_.path() / "wal").string(); }
  void shell(const std::string& line) const {
    const auto done = run({.arguments = {"/bin/sh", "-ec", line},
                           .environment = {{"PATH", postgres_programs().string() + ":/usr/bin:/bin"}},
                           .folder = backup_.path(),
                           .user = database_user()});
    if (done.exit_code != 0) throw std::runtime_error(line + ": " + done.out + done.err);
  }
  void back_up() const {
    shell("pg_basebackup -h " + server.folder().string() + " -U postgres -c fast -X stream --no-sync -D data");
  }
  // The server as it was at the moment, in its old place. `moment`: as PostgreSQL takes it.
  void restore(const std::string& moment) {
    server.stop(PostgresCluster::Stop::immediate);
    const auto data = (server.folder() / "data").string();
    shell("for f in " + data + "/pg_wal/0*; do test -f wal/${f##*/} || cp $f wal/; done");
    shell("mv " + data + " " + data + "-before && cp -a data " + data);
    shell("printf \"restore_command = 'cp " + wal() + "/%%f %%p'\\nrecovery_target_time = '" + moment +
          "'\\nrecovery_target_action = promote\\n\" >> " + data + "/postgresql.conf && touch " + data + "/recovery.signal");
    server.start();
    ASSERT_TRUE(eventually([&] {
      return SqlClient::can_connect(setup.database_url) &&
             SqlClient(setup.database_url).text("SELECT pg_is_in_recovery()") == "f";
    }));
  }

  PostgresCluster server;

 private:
  TempFolder backup_;
};

// O7 M12 M17
TEST_F(ToAMoment, AllThatWasAcknowledgedBeforeItEndsAndNoOneShotIsSentTwice) {
  host();
  Load load([port = host().port()] { return port; });
  ASSERT_TRUE(load.wait_for(load_size() / 3));
  back_up();
  const auto begun = load.acknowledged().size();
  ASSERT_TRUE(load.wait_for(begun + load_size()));
  SqlClient before(setup.database_url);
  const auto moment = before.text("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')");
  const auto moment_in_seconds = std::stod(before.text("SELECT extract(epoch FROM timestamptz '" + moment + "+00')"));
  const auto at_the_moment = load.acknowledged().size();
  ASSERT_TRUE(load.wait_for(at_the_moment + load_size()));
  give_up_host();
  const auto acknowledged = load.stop();
  const auto sent_before = gateway.counts();
  restore(moment + "+00");

  const auto fenced = installation().command({"restore-fence", "--since", moment.substr(0, 10) + "T" + moment.substr(11) + "Z"});
  ASSERT_EQ(fenced.exit_code, 0) << fenced.out << fenced.err;
  SqlClient sql(setup.database_url);
  const auto ended = sql.number("SELECT count(*) FROM waybill.submission_states WHERE reason = 'restored'");
  const auto known = known_of(sql);
  const Daemon again(installation());
  ASSERT_TRUE(all_have_ended(sql));
  std::size_t lost = 0, twice = 0;
  for (const auto& one : acknowledged) {
    if (one.time < moment_in_seconds) {
      EXPECT_TRUE(known.contains(one.id)) << one.id << " was acknowledged before the moment";
    }
    lost += !known.contains(one.id);
    const auto sends = gateway.count(one.id);
    const auto before_it = sent_before.find(one.id);
    twice += sends > (before_it == sent_before.end() ? 0 : before_it->second) && before_it != sent_before.end();
    if (one.target == "sms.once") {
      EXPECT_LE(sends, 1u) << one.id;
    }
  }
  EXPECT_GT(lost, 0u) << "something was acknowledged after the moment";
  EXPECT_EQ(sql.number("SELECT count(*) FROM waybill.submission_states WHERE state = 'exhausted' AND target <> 'sms.once'"), 0);
  std::printf(
      "%zu acknowledged, %zu of them after the moment; %lld one_shots ended as restored; %zu others sent again, under their "
      "keys\n",
      acknowledged.size(), lost, static_cast<long long>(ended), twice);
}

// ---- a standby ----

class Promotion : public Recovery {
 protected:
  Promotion() { setup.database_url = standby.either(primary_url); }

  struct Result {
    std::size_t acknowledged = 0, lost = 0;
    double window = 0;  // seconds in which what was acknowledged last was lost
    double away = 0;    // seconds between the last acknowledgement before and the first one after
  };
  // Under load the primary is gone at once, and the standby is promoted. `meanwhile` is what happens before.
  Result promote_under_load(const std::function<void(const Load&)>& meanwhile = {}) {
    host();
    Load load([port = host().port()] { return port; });
    EXPECT_TRUE(load.wait_for(load_size()));
    if (meanwhile) meanwhile(load);
    primary.stop(PostgresCluster::Stop::immediate);
    const auto gone = Clock::now();
    const auto before = load.acknowledged();
    standby.promote();
    EXPECT_TRUE(load.wait_for(before.size() + load_size()));
    const auto all = load.stop();
    SqlClient sql(standby.url_of(primary_url));
    EXPECT_TRUE(all_have_ended(sql));
    const auto known = known_of(sql);
    Result result{.acknowledged = all.size()};
    Clock::time_point last{}, first = Clock::time_point::max();
    for (const auto& one : all) {
      (one.at <= gone ? last : first) = one.at <= gone ? std::max(last, one.at) : std::min(first, one.at);
      if (known.contains(one.id)) continue;
      ++result.lost;
      EXPECT_LE(one.at, gone + std::chrono::seconds(1)) << one.id << " was acknowledged by the promoted standby";
      result.window = std::max(result.window, std::chrono::duration<double>(gone - one.at).count());
    }
    result.away = std::chrono::duration<double>(first - last).count();
    return result;
  }

  PostgresCluster primary;
  const std::string primary_url = primary.create_database();
  PostgresStandby standby{primary};
};

// O7 M12
TEST_F(Promotion, OfASynchronousStandbyLosesNothingThatWasAcknowledged) {
  SqlClient sql(primary_url);
  sql.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
  sql.execute("SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1; }));
  const auto result = promote_under_load();
  EXPECT_EQ(result.lost, 0u);
  std::printf("synchronous: %zu acknowledged, %zu lost; nothing was acknowledged for %.1f s\n", result.acknowledged, result.lost,
              result.away);
}

// O7: one that streams until the end, and one that has heard nothing for a while
TEST_F(Promotion, OfAnAsynchronousStandbyLosesWhatItHasNotHeardAndNoMore) {
  std::vector<Acknowledged> heard;
  const auto result = promote_under_load([&](const Load& load) {
    heard = load.acknowledged();
    const auto place = SqlClient(primary_url).text("SELECT pg_current_wal_lsn()");
    SqlClient there(standby.url_of(primary_url));
    EXPECT_TRUE(eventually([&] { return there.text("SELECT pg_last_wal_replay_lsn() >= '" + place + "'") == "t"; }));
    standby.stop_receiving();
    EXPECT_TRUE(load.wait_for(load.acknowledged().size() + load_size()));
  });
  EXPECT_GT(result.lost, 0u);
  SqlClient sql(standby.url_of(primary_url));
  const auto known = known_of(sql);
  for (const auto& one : heard) EXPECT_TRUE(known.contains(one.id)) << one.id;
  std::printf("asynchronous, cut off: %zu acknowledged, %zu lost, of the last %.3f s; nothing was acknowledged for %.1f s\n",
              result.acknowledged, result.lost, result.window, result.away);
}

// O7
TEST_F(Promotion, OfAnAsynchronousStandbyThatStreamsLosesTheLastMomentsAtMost) {
  const auto result = promote_under_load();
  std::printf("asynchronous, streaming: %zu acknowledged, %zu lost, of the last %.3f s; nothing was acknowledged for %.1f s\n",
              result.acknowledged, result.lost, result.window, result.away);
  EXPECT_LT(result.lost, load_size()) << "a standby that streams is behind by moments";
}

}  // namespace
}  // namespace waybill::testing
