// The trails of hosts that died, read by those that live.  E1
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "breadcrumbs/start_gate.h"

namespace waybill {
namespace {

namespace fs = std::filesystem;

class Breadcrumbs : public ::testing::Test {
 protected:
  Breadcrumbs() {
    std::string name = ::testing::TempDir() + "crumbsXXXXXX";
    base_ = mkdtemp(name.data());
  }
  ~Breadcrumbs() override { fs::remove_all(base_); }

  std::unique_ptr<BreadcrumbFolder> open(const std::string& installation = "db") {
    auto folder = BreadcrumbFolder::open({.base = base_ / "folder", .embedded = {}, .installation = installation});
    EXPECT_TRUE(folder) << folder.error().what;
    return folder ? std::move(*folder) : nullptr;
  }

  // A process that does this with its trail and dies of this.
  void die(const std::function<void(BreadcrumbFile&)>& with, BreadcrumbFile::Of whose = BreadcrumbFile::Of::host,
           int signal = SIGSEGV) {
    const auto folder = open();
    const pid_t child = fork();
    if (child == 0) {
      const auto file = folder->begin(whose);
      if (!file) _exit(1);
      (*file)->note_fatal_signals();
      with(**file);
      raise(signal);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) || WIFEXITED(status));
  }
  void die_outside() {
    die([](BreadcrumbFile&) {});
  }
  void die_in_create(const std::string& type) {
    die([&](BreadcrumbFile& file) { new Breadcrumb(enter(file, type, {})); });
  }
  static Breadcrumb enter(BreadcrumbFile& file, const std::string& type, Trail trail) {
    auto crumb = file.line(type, "plugin." + type);
    crumb.enter(trail);
    return crumb;
  }

  fs::path base_;
};

constexpr Trail kTrail{{4096}, 3, 1, 2};

TEST_F(Breadcrumbs, NameWhatADeadHostWasInsideOfAndNothingThatItHadLeft) {
  die([](BreadcrumbFile& file) {
    auto left = enter(file, "push", {{1024}, 1, 0, 0});
    left.leave();
    new Breadcrumb(enter(file, "sms", kTrail));
  });
  const auto deaths = open()->new_deaths();
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths[0].inside, (std::vector<Death::Inside>{{kTrail, "sms", "plugin.sms"}}));
  EXPECT_TRUE(deaths[0].is_news);
  EXPECT_TRUE(deaths[0].same_boot);
  EXPECT_EQ(kTrail.counted(), 1u);
}

TEST_F(Breadcrumbs, OfALivingHostAreNobodysBusinessAndAnOrderlyEndLeavesNone) {
  const auto folder = open();
  const auto file = folder->begin(BreadcrumbFile::Of::host);
  ASSERT_TRUE(file) << file.error().what;
  const auto crumb = enter(**file, "sms", kTrail);
  EXPECT_TRUE(open()->new_deaths().empty());
  (*file)->remove();
  EXPECT_TRUE(open()->new_deaths().empty());
}

TEST_F(Breadcrumbs, AreSeenByEveryHostOfTheMachineButNewsToOne) {
  const auto first = open(), second = open();
  die([](BreadcrumbFile& file) { new Breadcrumb(enter(file, "sms", kTrail)); });
  const auto one = first->new_deaths(), other = second->new_deaths();
  ASSERT_EQ(one.size(), 1u);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_TRUE(one[0].is_news);
  EXPECT_FALSE(other[0].is_news);
  EXPECT_EQ(other[0].inside, one[0].inside);
  EXPECT_TRUE(first->new_deaths().empty());
  EXPECT_TRUE(open("another database")->new_deaths().empty());
}

TEST_F(Breadcrumbs, ManyStrandsHaveALineEachAndGiveItBack) {
  const auto folder = open();
  const auto file = folder->begin(BreadcrumbFile::Of::host);
  ASSERT_TRUE(file);
  for (int round = 0; round < 3; ++round) {
    std::vector<Breadcrumb> all;
    for (std::size_t i = 0; i < kMaxBreadcrumbs + 2; ++i) all.push_back((*file)->line("sms", "plugin.sms"));
    all.back().enter(kTrail);  // one too many: it leaves no trail, and does no harm
    all.back().leave();
  }
}

TEST_F(Breadcrumbs, OfAnotherBootOrDamagedBlameNobody) {
  die([](BreadcrumbFile& file) { new Breadcrumb(enter(file, "sms", kTrail)); });
  const auto folder = open();
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::erase(boot, '-');
  for (const auto& entry : fs::directory_iterator(folder->path())) {
    if (entry.path().extension() != ".crumb") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    std::string bytes = text.str();
    const auto at = bytes.find(boot);
    ASSERT_NE(at, std::string::npos);
    bytes[at] = bytes[at] == 'a' ? 'b' : 'a';
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  std::ofstream(folder->path() / "1-1-1.crumb") << "not a trail";
  std::ofstream(folder->path() / "2-2-2.crumb") << "";
  const auto deaths = folder->new_deaths();
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_FALSE(deaths[0].same_boot);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(folder->is_careful());
}

// O2: a service that sees no more of /proc than processes is told by its unit which boot this is.
TEST_F(Breadcrumbs, OfTheBootThatTheUnitNamesAreOfThisBoot) {
  setenv("WAYBILL_BOOT_ID", "0123456789abcdef0123456789abcdef", 1);
  die([](BreadcrumbFile& file) { new Breadcrumb(enter(file, "sms", kTrail)); });
  const auto same = open()->new_deaths();
  setenv("WAYBILL_BOOT_ID", "f123456789abcdef0123456789abcdef", 1);
  const auto later = open()->new_deaths();
  unsetenv("WAYBILL_BOOT_ID");
  ASSERT_EQ(same.size(), 1u);
  EXPECT_TRUE(same[0].same_boot);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_FALSE(later[0].same_boot);
}

TEST_F(Breadcrumbs, AFolderOfSomebodyElseOrOpenToOthersIsRefused) {
  fs::create_directory(base_ / "open");
  ASSERT_EQ(::chmod((base_ / "open").c_str(), 0777), 0);
  EXPECT_FALSE(BreadcrumbFolder::open({.base = base_ / "open", .embedded = {}, .installation = "db"}));
  fs::create_directory_symlink("/tmp", base_ / "link");
  EXPECT_FALSE(BreadcrumbFolder::open({.base = base_ / "link", .embedded = {}, .installation = "db"}));
  std::ofstream(base_ / "file") << "";
  EXPECT_FALSE(BreadcrumbFolder::open({.base = base_ / "file", .embedded = {}, .installation = "db"}));
  const auto folder = open();
  struct stat status {};
  ASSERT_EQ(::stat(folder->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(Breadcrumbs, LieBesideAnEmbeddedDatabaseUnlessAPlaceIsNamed) {
  const auto folder = BreadcrumbFolder::open({.base = {}, .embedded = base_ / "pg", .installation = "db"});
  ASSERT_TRUE(folder) << folder.error().what;
  if (std::getenv("STATE_DIRECTORY") == nullptr) {
    EXPECT_EQ((*folder)->path().parent_path(), base_ / "pg.breadcrumbs");
  }
}

TEST_F(Breadcrumbs, ThreeDeathsThatNameNobodyMakeTheNextStartACarefulOne) {
  const auto folder = open();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(folder->is_careful()) << i;
    die_outside();
    EXPECT_EQ(folder->new_deaths().size(), 1u);
    EXPECT_FALSE(open()->new_deaths().empty()) << "seen by another, and counted once";
  }
  EXPECT_TRUE(folder->is_careful());
}

TEST_F(Breadcrumbs, TellACrashFromAKillFromOutside) {
  const auto signal_of = [&](const std::function<void(BreadcrumbFile&)>& with, int signal) {
    fs::remove_all(base_ / "folder");
    die(with, BreadcrumbFile::Of::host, signal);
    const auto deaths = open()->new_deaths();
    return deaths.size() == 1 ? deaths[0].signal : -99;
  };
  const auto nothing = [](BreadcrumbFile&) {};
  EXPECT_EQ(signal_of(nothing, SIGKILL), 0);
  EXPECT_EQ(signal_of(nothing, SIGSEGV), SIGSEGV);
  EXPECT_EQ(signal_of([](BreadcrumbFile&) { std::abort(); }, SIGKILL), SIGABRT);
  EXPECT_EQ(signal_of([](BreadcrumbFile&) { std::exit(0); }, SIGKILL), -1);
}

TEST_F(Breadcrumbs, KillsFromOutsideMakeNoStartCarefulAndSwitchNothingOff) {
  const auto folder = open();
  for (int i = 0; i < 4; ++i) die([](BreadcrumbFile& file) { file.on_trial("sms"); }, BreadcrumbFile::Of::host, SIGKILL);
  EXPECT_EQ(folder->new_deaths().size(), 4u);
  EXPECT_FALSE(folder->is_careful());
  EXPECT_TRUE(folder->off().empty());
}

TEST_F(Breadcrumbs, DeathsThatNameADeliveryOrAreTheQuarantinesDoNotMakeAStartCareful) {
  const auto folder = open();
  for (int i = 0; i < 4; ++i) {
    die([](BreadcrumbFile& file) { new Breadcrumb(enter(file, "sms", kTrail)); });
    die([](BreadcrumbFile&) {}, BreadcrumbFile::Of::quarantine);
  }
  EXPECT_EQ(folder->new_deaths().size(), 8u);
  EXPECT_FALSE(folder->is_careful());
}

TEST_F(Breadcrumbs, WhatIsOnTrialWhenAHostDiesIsSwitchedOffUntilItIsReplacedOrSwitchedOn) {
  const auto folder = open();
  const auto plugin = base_ / "sms.so";
  std::ofstream(plugin) << "old";
  EXPECT_FALSE(folder->is_off("sms", plugin));
  die([](BreadcrumbFile& file) { file.on_trial("sms"); });
  const auto deaths = folder->new_deaths();
  ASSERT_EQ(deaths.size(), 1u);
  EXPECT_EQ(deaths[0].switched_off, "sms");
  EXPECT_TRUE(folder->is_off("sms", plugin));
  EXPECT_EQ(folder->off(), std::vector<std::string>{"sms"});
  EXPECT_TRUE(folder->switch_on("sms"));
  EXPECT_FALSE(folder->switch_on("sms"));
  EXPECT_FALSE(folder->switch_on("../sms"));
  EXPECT_FALSE(folder->is_off("sms", plugin));
  die([](BreadcrumbFile& file) { file.on_trial("sms"); });
  folder->new_deaths();
  EXPECT_TRUE(folder->is_off("sms", plugin));
  // File systems tell changes apart by their clock's ticks.
  do {
    std::ofstream(base_ / "new.so") << "new";
    fs::rename(base_ / "new.so", plugin);
  } while (folder->is_off("sms", plugin));
}

TEST_F(Breadcrumbs, AnActionTypeThatKillsInItsCreateIsSwitchedOffAtTheThirdTime) {
  const auto folder = open();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(folder->off().empty()) << i;
    die_in_create("sms");
    ASSERT_EQ(folder->new_deaths().size(), 1u);
  }
  EXPECT_EQ(folder->off(), std::vector<std::string>{"sms"});
  EXPECT_FALSE(folder->is_careful());
}

// ---- the gate ----

TEST_F(Breadcrumbs, TheGateIsOpenToAllUnlessOneIsSwitchedOff) {
  const auto folder = open();
  StartGate gate(folder.get(), nullptr, [](const std::string&) { return fs::path(); });
  EXPECT_TRUE(gate.is_open("sms"));
  die([](BreadcrumbFile& file) { file.on_trial("sms"); });
  folder->new_deaths();
  EXPECT_FALSE(gate.look({}));
  EXPECT_FALSE(gate.is_open("sms"));
  EXPECT_TRUE(gate.is_open("push"));
  EXPECT_NE(gate.blocked_reason("sms").find("waybill plugin switch-on sms"), std::string::npos) << gate.blocked_reason("sms");
  EXPECT_EQ(gate.blocked_reason("push"), "");
  folder->switch_on("sms");
  EXPECT_TRUE(gate.look({})) << "something may run that could not before";
  EXPECT_TRUE(gate.is_open("sms"));
}

TEST_F(Breadcrumbs, AfterACarefulStartActionTypesBeginOneByOneEachNamedWhileItIsOnTrial) {
  const auto folder = open();
  const auto file = folder->begin(BreadcrumbFile::Of::host);
  ASSERT_TRUE(file);
  StartGate gate(folder.get(), *file, [](const std::string&) { return fs::path(); });
  Clock::Monotonic now{};
  gate.begin_one_by_one({"sms", "email", "sms", "push"}, now);
  const auto open_ones = [&] {
    std::string all;
    for (const char* type : {"email", "push", "sms", "unheard_of"})
      if (gate.is_open(type)) all += std::string(all.empty() ? "" : " ") + type;
    return all;
  };
  EXPECT_EQ(open_ones(), "email");
  EXPECT_NE(gate.blocked_reason("sms"), "");
  EXPECT_FALSE(gate.look(now + kTrial - std::chrono::milliseconds(1)));
  EXPECT_EQ(open_ones(), "email");
  EXPECT_TRUE(gate.look(now += kTrial));
  EXPECT_EQ(open_ones(), "email push");
  EXPECT_TRUE(gate.look(now += kTrial));
  EXPECT_EQ(open_ones(), "email push sms");
  EXPECT_TRUE(gate.look(now += kTrial));
  EXPECT_EQ(open_ones(), "email push sms unheard_of");
}

}  // namespace
}  // namespace waybill
