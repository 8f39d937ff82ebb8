// From where on `waybill doctor` finds something, and how it tells it: the thresholds of docs/operations/doctor.md.  O4
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/doctor.h"
#include "cli/doctor_limits.h"
#include "cli/host_rules.h"
#include "cli/living_hosts.h"
#include "cli/machine_rules.h"
#include "cli/server_rules.h"
#include "cli/table_rules.h"
#include "cli/work_rules.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using namespace doctor_limits;

Level worst_of(const Findings& findings) {
  Level worst = Level::ok;
  for (const auto& finding : findings) worst = std::max(worst, finding.level);
  return worst;
}

ServerState good_server() {
  return {.role = "waybill",
          .version = "15.4",
          .version_number = 150'004,
          .shared_buffers = 4 * kGiB,
          .max_wal_size = kGiB,
          .connections = 100,
          .used = 20,
          .freeze_max_age = 200'000'000};
}

// O4
TEST(DoctorOfServers, NeedsPostgreSql15) {
  auto server = good_server();
  EXPECT_EQ(judge_version(server).level, Level::ok);
  server.version_number = 140'011;
  EXPECT_EQ(judge_version(server).level, Level::problem);
}

// O4
TEST(DoctorOfServers, NotesTheDefaultBuffersOfALargeMachine) {
  auto server = good_server();
  server.is_local = true;
  server.shared_buffers = kDefaultBuffers;
  EXPECT_EQ(judge_buffers(server, kLargeMachine - 1).level, Level::ok);
  EXPECT_EQ(judge_buffers(server, kLargeMachine).level, Level::note);
  server.is_local = false;
  EXPECT_EQ(judge_buffers(server, kLargeMachine).level, Level::ok) << "whose memory that is nobody knows";
}

// O4
TEST(DoctorOfServers, CountsConnections) {
  auto server = good_server();
  const auto level = [&](int used) {
    server.used = used;
    return judge_connections(server).level;
  };
  EXPECT_EQ(level(79), Level::ok);
  EXPECT_EQ(level(80), Level::warning);
  EXPECT_EQ(level(94), Level::warning);
  EXPECT_EQ(level(95), Level::problem);
  server.connections = 0;
  EXPECT_EQ(level(0), Level::problem);
}

// O4
TEST(DoctorOfServers, SeesTimeLimitsThatCutHosts) {
  auto server = good_server();
  server.idle_session = kShortIdleSession;
  server.transaction = Millis{120'000};
  EXPECT_EQ(judge_session_limits(server, Millis{120'000}).level, Level::ok);
  server.transaction = Millis{119'999};
  EXPECT_EQ(judge_session_limits(server, Millis{120'000}).level, Level::warning);
  server.transaction = Millis{0};
  server.idle_session = kShortIdleSession - Millis{1};
  EXPECT_EQ(judge_session_limits(server, Millis{120'000}).level, Level::warning);
}

// O4
TEST(DoctorOfServers, SeesWraparoundComing) {
  auto server = good_server();
  const auto level = [&](std::int64_t transactions, std::int64_t multixacts) {
    server.transaction_age = transactions;
    server.multixact_age = multixacts;
    return judge_wraparound(server).level;
  };
  EXPECT_EQ(level(499'999'999, 0), Level::ok);
  EXPECT_EQ(level(500'000'000, 0), Level::warning);
  EXPECT_EQ(level(0, 500'000'000), Level::warning);
  EXPECT_EQ(level(1'500'000'000, 0), Level::problem);
  server.freeze_max_age = 600'000'000;
  EXPECT_EQ(level(1'199'999'999, 0), Level::ok) << "the server does not begin before";
  server.freeze_max_age = 2'000'000'000;
  EXPECT_EQ(level(1'500'000'000, 0), Level::problem);
}

// O4
TEST(DoctorOfServers, ComparesClocks) {
  EXPECT_EQ(judge_clock(Seconds{5}).level, Level::ok);
  EXPECT_EQ(judge_clock(Seconds{-6}).level, Level::warning);
  EXPECT_EQ(judge_clock(Seconds{60}).level, Level::problem);
  EXPECT_NE(judge_clock(Seconds{-70}).message.find("70 s behind"), std::string::npos);
}

// O4
TEST(DoctorOfReplication, KnowsHowManyStandbysCommitsWaitFor) {
  EXPECT_EQ(standbys_needed(""), 0);
  EXPECT_EQ(standbys_needed("*"), 1);
  EXPECT_EQ(standbys_needed("one, two"), 1);
  EXPECT_EQ(standbys_needed("2 (one, two, three)"), 2);
  EXPECT_EQ(standbys_needed("FIRST 3 (*)"), 3);
  EXPECT_EQ(standbys_needed("ANY 2 (s1, s2, s3)"), 2);
  EXPECT_EQ(standbys_needed("s12 (x)"), 12) << "no form of the server's, and no crash";
  EXPECT_EQ(standbys_needed("(x)"), 1);
}

Replication with(std::vector<Standby> standbys, const std::string& names = "ANY 2 (*)") {
  return {.synchronous_names = names, .waiting = 3, .standbys = std::move(standbys), .slots = {}};
}
Standby standby(const std::string& sync_state, std::int64_t behind = 0) {
  return {.name = "s", .state = "streaming", .sync_state = sync_state, .bytes_behind = behind, .behind = Seconds{0}};
}

// O4
TEST(DoctorOfReplication, FindsCommitsThatHang) {
  auto server = good_server();
  EXPECT_EQ(judge_synchronous(server, with({}, "")).level, Level::ok);
  const auto alone = judge_synchronous(server, with({standby("quorum"), standby("async")}));
  EXPECT_EQ(alone.level, Level::problem);
  EXPECT_NE(alone.message.find("3 session(s) wait now"), std::string::npos);
  EXPECT_EQ(judge_synchronous(server, with({standby("quorum"), standby("sync")})).level, Level::ok);
  Standby hidden{.name = "s", .state = {}, .sync_state = {}, .bytes_behind = {}, .behind = {}};
  EXPECT_EQ(judge_synchronous(server, with({hidden})).level, Level::unknown);
  server.synchronous_commit = "local";
  EXPECT_EQ(judge_synchronous(server, with({})).level, Level::ok) << "hosts do not wait";
}

// O4
TEST(DoctorOfReplication, FindsStandbysThatAreBehind) {
  EXPECT_EQ(worst_of(judge_standbys(with({standby("async", kBytesBehind)}))), Level::ok);
  EXPECT_EQ(worst_of(judge_standbys(with({standby("async", kBytesBehind + 1)}))), Level::warning);
  auto late = standby("async");
  late.behind = kTimeBehind + Seconds{1};
  EXPECT_EQ(worst_of(judge_standbys(with({late}))), Level::warning);
  auto odd = standby("async");
  odd.state = "catchup";
  EXPECT_EQ(worst_of(judge_standbys(with({odd}))), Level::warning);
  odd.state = "backup";
  EXPECT_EQ(worst_of(judge_standbys(with({odd}))), Level::ok);
  odd.state.reset();
  EXPECT_EQ(worst_of(judge_standbys(with({odd}))), Level::unknown);
  auto old = standby("async");
  old.snapshot_age = kSnapshotAge + 1;
  EXPECT_EQ(worst_of(judge_snapshots(with({old}))), Level::warning);
}

// O4
TEST(DoctorOfReplication, FindsSlotsThatKeepTheLog) {
  const auto level = [](bool is_active, const char* state, std::int64_t bytes) {
    return worst_of(
        judge_slots({.synchronous_names = "",
                     .waiting = 0,
                     .standbys = {},
                     .slots = {{.name = "s", .is_active = is_active, .state = state, .bytes_kept = bytes, .snapshot_age = 0}}}));
  };
  EXPECT_EQ(level(true, "reserved", kGiB), Level::ok);
  EXPECT_EQ(level(true, "extended", kSlotProblem + 1), Level::problem);
  EXPECT_EQ(level(false, "reserved", 0), Level::warning);
  EXPECT_EQ(level(false, "extended", kSlotProblem + 1), Level::problem);
  EXPECT_EQ(level(true, "unreserved", 0), Level::problem);
  EXPECT_EQ(level(false, "lost", 0), Level::problem);
}

// O4
TEST(DoctorOfReplication, TellsAnArchiveThatFailsFromOneThatDid) {
  const auto level = [](std::optional<Micros> archived, std::optional<Micros> failed) {
    return judge_archiving({.is_on = true, .archived_ago = archived, .failed_ago = failed, .failed_file = "0001"}).level;
  };
  EXPECT_EQ(judge_archiving({}).level, Level::ok) << "it is off";
  EXPECT_EQ(level({}, {}), Level::ok);
  EXPECT_EQ(level(Seconds{10}, Seconds{20}), Level::ok);
  EXPECT_EQ(level(Seconds{20}, Seconds{10}), Level::warning);
  EXPECT_EQ(level(kArchiveProblem, Seconds{10}), Level::problem);
  EXPECT_EQ(level({}, Seconds{10}), Level::problem);
}

// O4
TEST(DoctorOfServers, TellsOldTransactions) {
  EXPECT_EQ(worst_of(judge_transactions({})), Level::ok);
  const auto found = judge_transactions({{"prepared transaction x", 700}});
  EXPECT_EQ(worst_of(found), Level::warning);
  EXPECT_NE(found.front().message.find("prepared transaction x has been open for 700 s"), std::string::npos);
}

// O4
TEST(DoctorOfTables, KnowsWhenVacuumIsBehind) {
  const auto level = [](std::int64_t dead, std::int64_t awaited, Micros ago) {
    return worst_of(judge_vacuum(true, {{.name = "ready", .dead = dead, .awaited = awaited, .since_vacuum = ago}}));
  };
  EXPECT_EQ(level(kDeadRows, 5'000, kVacuumAgo + Seconds{1}), Level::ok);
  EXPECT_EQ(level(kDeadRows + 1, 5'000, kVacuumAgo + Seconds{1}), Level::warning);
  EXPECT_EQ(level(kDeadRows + 1, 5'000, kVacuumAgo), Level::ok) << "it was there a moment ago";
  EXPECT_EQ(level(100'000, 20'000, kVacuumAgo * 2), Level::ok) << "not yet five times what it waits for";
  EXPECT_EQ(level(100'001, 20'000, kVacuumAgo * 2), Level::warning);
  EXPECT_EQ(worst_of(judge_vacuum(false, {})), Level::problem);
}

// O4
TEST(DoctorOfTables, KnowsABloatedQueueFromALongOne) {
  EXPECT_EQ(judge_queue_size({kBloatBytes - 1, 0}).level, Level::ok);
  EXPECT_EQ(judge_queue_size({kBloatBytes, 0}).level, Level::warning);
  EXPECT_EQ(judge_queue_size({kBloatBytes, 1'000'000}).level, Level::ok);
  EXPECT_EQ(judge_queue_size({10 * kGiB, 1'000'000}).level, Level::warning);
}

// O4
TEST(DoctorOfTables, NotesUnusedIndexesAndWarnsOfInvalidOnes) {
  EXPECT_EQ(worst_of(judge_indexes({})), Level::ok);
  EXPECT_EQ(worst_of(judge_indexes({{"i", "t", true, kLargeIndex}})), Level::note);
  EXPECT_EQ(worst_of(judge_indexes({{"i", "t", false, 0}})), Level::warning);
}

// O4
TEST(DoctorOfDisks, CallsForRoomByShareAndBySize) {
  const auto level = [](std::int64_t free, std::int64_t size, std::int64_t files_free = 100, std::int64_t files = 100) {
    return judge_disk({.folder = "/", .holds = "x", .free = free, .size = size, .files_free = files_free, .files = files}).level;
  };
  EXPECT_EQ(level(10 * kGiB, 1000 * kGiB), Level::ok) << "one percent of a large disk";
  EXPECT_EQ(level(kGiB, 4 * kGiB), Level::ok) << "a small one that is hardly used";
  EXPECT_EQ(level(9 * kGiB, 100 * kGiB), Level::warning);
  EXPECT_EQ(level(2 * kGiB - 1, 100 * kGiB), Level::problem);
  EXPECT_EQ(level(0, 100 * kGiB), Level::problem);
  EXPECT_EQ(level(50 * kGiB, 100 * kGiB, 4, 100), Level::warning);
  EXPECT_EQ(level(50 * kGiB, 100 * kGiB, 0, 100), Level::problem);
  EXPECT_EQ(level(50 * kGiB, 100 * kGiB, 0, 0), Level::ok) << "a file system without a limit of files";
}

// O4
TEST(DoctorOfCertificates, CountsTheDaysToTheFirstEndOfAChainAndTheLastOfAuthorities) {
  const Timestamp kNow{1'000'000'000'000'000};
  const auto in = [&](int days) { return CertificateEnd{"CN=x", kNow + std::chrono::hours(24 * days)}; };
  const auto level = [&](std::vector<CertificateEnd> ends, bool is_authorities = false) {
    return judge_certificate({"tls.certificate", "f", is_authorities}, ends, kNow).level;
  };
  EXPECT_EQ(level({in(22)}), Level::ok);
  EXPECT_EQ(level({in(21)}), Level::warning);
  EXPECT_EQ(level({in(3)}), Level::problem);
  EXPECT_EQ(level({in(-1)}), Level::problem);
  EXPECT_EQ(level({in(90), in(2)}), Level::problem) << "an authority of the chain ends first";
  EXPECT_EQ(level({in(90), in(-2)}, true), Level::ok) << "one authority is enough";
  EXPECT_EQ(judge_certificate({"tls.certificate", "f"}, fail(Error::Kind::invalid, "cannot be read"), kNow).level,
            Level::problem);
}

// O4
TEST(DoctorOfWork, KnowsWhenWorkIsLate) {
  WaitingWork work;
  const auto level = [&](Micros waited) {
    work.oldest_due = {{"sms", waited}};
    return worst_of(judge_due(work, Millis{900'000}));
  };
  EXPECT_EQ(worst_of(judge_due(work, Millis{900'000})), Level::ok);
  EXPECT_EQ(level(kDueWarning - Micros{1}), Level::ok);
  EXPECT_EQ(level(kDueWarning), Level::warning);
  EXPECT_EQ(level(Millis{900'000}), Level::problem);
}

// O4
TEST(DoctorOfWork, CallsAnOutageAProblemOnceAttemptsCount) {
  const auto level = [](Micros ago) {
    return worst_of(judge_outages({{.org = "default", .target = "t", .reason = "r", .began_ago = ago, .ends_in = Seconds{1}}},
                                  std::chrono::hours(24)));
  };
  EXPECT_EQ(level(Seconds{1}), Level::warning);
  EXPECT_EQ(level(std::chrono::hours(24)), Level::problem);
}

// O4 O5
TEST(DoctorOfWork, TellsOfRatesThatOperatorsGaveAndFindsNoFaultInThem) {
  EXPECT_EQ(worst_of(judge_rates({})), Level::ok);
  const auto found = judge_rates({{{"acme", "sms.a"}, {{5, Seconds(1)}, {}, {}, "ada"}},
                                  {{"default", "sms.b"}, {{1, std::chrono::minutes(1)}, {}, Timestamp{}, "bob"}}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(worst_of(found), Level::note) << "it is somebody's word";
  EXPECT_EQ(found[0].subject, "acme:sms.a");
  for (const auto* words : {"5/s", "ada", "without an end", "`waybill waiting rate --target sms.a --org acme --clear`"})
    EXPECT_NE(found[0].message.find(words), std::string::npos) << found[0].message;
  EXPECT_NE(found[1].message.find(", until 1970-01-01T00:00:00"), std::string::npos) << found[1].message;
}

RegisteredHost host(const std::string& name, const std::string& facts, bool lives = true,
                    std::optional<Micros> told_ago = Seconds{1}) {
  return {.said = {name, told_ago, facts}, .lives = lives, .knows = 55, .digest = "d"};
}

// O4
TEST(DoctorOfHosts, TakesWhatIsNotSaidForNothing) {
  for (const auto* odd : {"", "{}", "[]", "nonsense", R"({"plugins": 3, "off": [], "version": 1, "clockAheadSeconds": "x"})"}) {
    const std::vector hosts{host("a:1", odd)};
    for (const auto& judge : {&judge_hosts, &judge_host_versions, &judge_host_types, &judge_host_isolation, &judge_host_clocks})
      EXPECT_EQ(worst_of((*judge)(hosts)), Level::ok) << odd;
  }
}

// O4
TEST(DoctorOfHosts, TellsDeadSilentAndMissingOnesApart) {
  EXPECT_EQ(worst_of(judge_hosts({})), Level::problem);
  EXPECT_EQ(worst_of(judge_hosts({host("a:1", "{}")})), Level::ok);
  EXPECT_EQ(worst_of(judge_hosts({host("a:1", "{}"), host("b:1", "{}", false)})), Level::warning);
  EXPECT_EQ(worst_of(judge_hosts({host("a:1", "{}", false)})), Level::problem);
  EXPECT_EQ(worst_of(judge_hosts({host("a:1", "{}", true, kHostSilent)})), Level::ok);
  EXPECT_EQ(worst_of(judge_hosts({host("a:1", "{}", true, kHostSilent + Micros{1})})), Level::problem);
  EXPECT_EQ(worst_of(judge_hosts({host("a:1", "{}", true, std::nullopt)})), Level::ok) << "of a version that says nothing";
}

// O5
TEST(DoctorOfHosts, WarnsOfOneThatIsDrainedAndSaysHowItResumes) {
  const auto found =
      judge_hosts({host("a:1", R"({"name": "mail-1", "drain": "at noon by ada: new kernel"})"), host("b:1", "{}")});
  EXPECT_EQ(worst_of(found), Level::warning);
  EXPECT_NE(found.front().message.find("by ada: new kernel"), std::string::npos) << found.front().message;
  EXPECT_NE(found.front().remedy.find("waybill hosts resume mail-1"), std::string::npos) << found.front().remedy;
}

// O4
TEST(DoctorOfHosts, CallsATypeThatNobodyHasAProblem) {
  const auto off = R"({"plugins": {"sms": {"plugin": "sms 1"}}, "off": {"sms": "it hung"}})";
  const auto on = R"({"plugins": {"sms": {"plugin": "sms 1"}}, "off": {}})";
  EXPECT_EQ(worst_of(judge_host_types({host("a:1", off)})), Level::problem);
  EXPECT_EQ(worst_of(judge_host_types({host("a:1", off), host("b:1", on)})), Level::warning);
  EXPECT_EQ(worst_of(judge_host_types({host("b:1", on)})), Level::ok);
}

// O4
TEST(DoctorsReport, HasTheWorstFirstAndOneLineForTheRest) {
  const Findings findings{{Level::ok, "a", "good", ""},
                          {Level::warning, "b", "odd", "do b"},
                          {Level::unknown, "c", "no answer", "do c"},
                          {Level::unknown, "d", "no answer", "do c"},
                          {Level::note, "e", "by the way", ""},
                          {Level::problem, "f", "bad", "do f", "one"}};
  EXPECT_EQ(report_text(findings, false),
            "problems\n  f one: bad\n    -> do f\n\n"
            "warnings\n  b: odd\n    -> do b\n\n"
            "not known\n  c, d: no answer\n    -> do c\n\n"
            "2 checks without a finding, 1 note(s): see --verbose\n");
  EXPECT_NE(report_text(findings, true).find("notes\n  e: by the way\n\nfine\n  a: good\n"), std::string::npos);
}

// O4
TEST(DoctorsReport, HasAnExitCodeForMonitoring) {
  Findings findings{{Level::ok, "a", "", ""}, {Level::note, "b", "", ""}};
  EXPECT_EQ(exit_code_of(findings), 0);
  findings.push_back({Level::unknown, "c", "", ""});
  EXPECT_EQ(exit_code_of(findings), 4);
  findings.push_back({Level::warning, "d", "", ""});
  EXPECT_EQ(exit_code_of(findings), 3);
  findings.push_back({Level::problem, "e", "", ""});
  EXPECT_EQ(exit_code_of(findings), 1);
}

// O4
TEST(DoctorsReport, TellsOnlyWhatChanged) {
  const Finding warning{Level::warning, "a", "3 wait", "do a"}, more{Level::warning, "a", "4 wait", "do a"};
  const Finding worse{Level::problem, "a", "many wait", "do a"}, good{Level::ok, "a", "none waits", ""};
  EXPECT_EQ(changes_text({warning}, {more}), "") << "numbers alone are no news";
  EXPECT_NE(changes_text({warning}, {worse}).find(" new problem\n  a: many wait\n"), std::string::npos);
  EXPECT_NE(changes_text({worse}, {good}).find(" gone: problem a\n"), std::string::npos);
  EXPECT_EQ(changes_text({good}, {good}), "");
}

// O4
TEST(DoctorsReport, SaysAgesAndSizesInWords) {
  EXPECT_EQ(age_text(Seconds{119}), "119 s");
  EXPECT_EQ(age_text(Seconds{120}), "2 min");
  EXPECT_EQ(age_text(Seconds{7'200}), "2 h");
  EXPECT_EQ(age_text(Seconds{2 * 86'400}), "2 d");
  EXPECT_EQ(size_text(2'048), "2 KiB");
  EXPECT_EQ(size_text(310 * kMiB), "310 MiB");
  EXPECT_EQ(size_text(kGiB * 5 / 2), "2.5 GiB");
}

}  // namespace
}  // namespace waybill
