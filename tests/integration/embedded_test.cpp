// The private PostgreSQL: made, started, kept over a crash of the host, and stopped with it.
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "support/world.h"

namespace waybill::testing {
namespace {

// Process id of the server that runs on this data folder; 0 if there is none.
pid_t server_of(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored))
    if (entry.path().filename() == "postmaster.pid") {
      const auto pid = static_cast<pid_t>(std::atoi(read_file(entry.path()).c_str()));
      return pid > 0 && ::kill(pid, 0) == 0 ? pid : 0;
    }
  return 0;
}

class Embedded : public ::testing::Test {
 protected:
  Embedded() {
    setup.embedded = data();
    setup.registry = registry_of({target("sms.attempts", "sms", gateway.url(), "max_attempts", 3, {"invalid_request"})});
    setup.more = "timeouts: {attempt: 5s}\n";
  }
  ~Embedded() override {
    if (const auto server = server_of(data())) {
      ::kill(server, SIGQUIT);
      eventually([&] { return server_of(data()) == 0; });
    }
  }
  std::filesystem::path data() const { return home.path() / "pg"; }

  TempFolder home;
  FakeGateway gateway;
  HostSetup setup;
};

// M12 D10
TEST_F(Embedded, TheDatabaseIsMadeEndsWithAKilledHostAndIsKept) {
  const Installation place(setup);
  gateway.script("flight", {Reply::hang(), Reply::accept()});
  pid_t server = 0;
  {
    Daemon host(place);
    auto client = host.client();
    EXPECT_EQ(post_intent(client, sms_intent("kept", "sms.attempts"), 30).status, 200);
    EXPECT_EQ(wait_for_end(client, "kept")["status"], "accepted");
    post_intent(client, sms_intent("flight", "sms.attempts"));
    ASSERT_TRUE(gateway.wait_for_count("flight", 1));
    server = server_of(data());
    EXPECT_GT(server, 0);
    host.kill_hard();
  }
  EXPECT_TRUE(eventually([&] { return ::kill(server, 0) != 0; })) << "the server ends with its last host, however that ends";
  Daemon host(place);
  auto client = host.client();
  EXPECT_EQ(get_intent(client, "kept")["status"], "accepted");
  EXPECT_EQ(wait_for_end(client, "flight")["status"], "accepted");
  EXPECT_EQ(gateway.count("kept"), 1u);
  EXPECT_EQ(host.terminate(), 0);
  EXPECT_TRUE(eventually([&] { return server_of(data()) == 0; }));
}

// M12
TEST_F(Embedded, TheDatabaseIsUsedAgainAfterACleanEnd) {
  const Installation place(setup);
  {
    Daemon host(place);
    auto client = host.client();
    post_intent(client, sms_intent("kept", "sms.attempts"), 30);
    EXPECT_EQ(host.terminate(), 0);
  }
  EXPECT_TRUE(eventually([&] { return server_of(data()) == 0; }));
  Daemon host(place);
  auto client = host.client();
  EXPECT_EQ(wait_for_end(client, "kept")["status"], "accepted");
  EXPECT_EQ(host.terminate(), 0);
}

// M12: after a crash of all, the data folder holds the lock file of a server that is gone
TEST_F(Embedded, ADatabaseThatCrashedRecovers) {
  const Installation place(setup);
  {
    Daemon host(place);
    auto client = host.client();
    post_intent(client, sms_intent("kept", "sms.attempts"), 30);
    wait_for_end(client, "kept");
    const auto server = server_of(data());
    ::kill(server, SIGKILL);
    host.kill_hard();
    EXPECT_TRUE(eventually([&] { return server_of(data()) == 0; }));
  }
  Daemon host(place);
  auto client = host.client();
  EXPECT_EQ(get_intent(client, "kept")["status"], "accepted");
  EXPECT_EQ(host.terminate(), 0);
}

// D10: a second user of the folder keeps it when the first is killed, and a killed command leaves nothing behind
TEST_F(Embedded, TheServerStaysWhileAnybodyUsesIt) {
  const Installation place(setup), other(setup);
  auto first = std::make_unique<Daemon>(place);
  Daemon second(other);
  const auto server = server_of(data());
  first->kill_hard();
  first.reset();
  auto client = second.client();
  post_intent(client, sms_intent("kept", "sms.attempts"), 30);
  EXPECT_EQ(wait_for_end(client, "kept")["status"], "accepted");
  EXPECT_EQ(server_of(data()), server);
  EXPECT_EQ(second.terminate(), 0);
  EXPECT_TRUE(eventually([&] { return ::kill(server, 0) != 0; }));
}

// The owners of everything below a folder.
std::map<std::string, uid_t> owners(const std::filesystem::path& folder) {
  std::map<std::string, uid_t> all;
  const auto note = [&](const std::filesystem::path& path) {
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) == 0) all[path.string()] = facts.st_uid;
  };
  note(folder);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) note(entry.path());
  return all;
}

// What a service user needs to run a host in a folder of his own.
class ServiceUser : public Embedded {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      if (must_run()) FAIL() << "only root can be two users";
      GTEST_SKIP() << "only root can be two users";
    }
    ::chmod(home.path().c_str(), 0755);
    ASSERT_EQ(::mkdir(data().c_str(), 0700), 0);
    ASSERT_EQ(::chown(data().c_str(), user_, user_), 0);
  }
  CommandResult as(uid_t user, const Installation& place, const std::vector<std::string>& words) {
    std::vector<std::string> arguments{waybill_program().string()};
    arguments.insert(arguments.end(), words.begin(), words.end());
    arguments.insert(arguments.end(), {"--config", place.config().string()});
    return run({.arguments = arguments, .user = user == 0 ? std::nullopt : std::optional(std::pair<uid_t, gid_t>(user, user))});
  }
  static uid_t id_of(const char* name) { return ::getpwnam(name)->pw_uid; }
  const uid_t user_ = id_of("nobody"), other_ = id_of("daemon");  // every Debian has them
};

// D10: a command run as root used to give the folder to user postgres, and the service could not start again
TEST_F(ServiceUser, ACommandOfRootTakesNothingAway) {
  const Installation place(setup);
  ::chmod(place.folder().c_str(), 0755);
  const auto first = as(user_, place, {"migrate"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto before = owners(data());
  for (const auto& [path, owner] : before) EXPECT_EQ(owner, user_) << path;
  const auto root = as(0, place, {"token", "create", "shop"});
  EXPECT_EQ(root.exit_code, 0) << root.err;
  for (const auto& [path, owner] : owners(data())) EXPECT_EQ(owner, user_) << path;
  const auto again = as(user_, place, {"token", "list"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("shop"), std::string::npos) << again.out;
}

// D10: also where root is the first to come
TEST_F(ServiceUser, WhatRootMakesInTheFolderIsItsOwners) {
  const Installation place(setup);
  ::chmod(place.folder().c_str(), 0755);
  const auto root = as(0, place, {"migrate"});
  EXPECT_EQ(root.exit_code, 0) << root.err;
  for (const auto& [path, owner] : owners(data())) EXPECT_EQ(owner, user_) << path;
  const auto service = as(user_, place, {"token", "list"});
  EXPECT_EQ(service.exit_code, 0) << service.err;
}

// D10
TEST_F(ServiceUser, AnotherUserIsToldWhoseFolderItIs) {
  const Installation place(setup);
  ::chmod(place.folder().c_str(), 0755);
  ASSERT_EQ(as(user_, place, {"migrate"}).exit_code, 0);
  const auto other = as(other_, place, {"migrate"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("belongs to user nobody"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("sudo -u"), std::string::npos) << other.err;
  ASSERT_EQ(::chown(data().c_str(), 0, 0), 0);
  std::filesystem::remove_all(data() / "data");
  const auto of_root = as(0, place, {"migrate"});
  EXPECT_EQ(of_root.exit_code, 1);
  EXPECT_NE(of_root.err.find("belongs to root"), std::string::npos) << of_root.err;
  EXPECT_EQ(owners(data())[data().string()], 0u) << "refused, and not changed";
}

}  // namespace
}  // namespace waybill::testing
