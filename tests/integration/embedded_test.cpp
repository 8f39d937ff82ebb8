// The private PostgreSQL: made, started, kept over a crash of the host, and stopped with it.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

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

// M12
TEST_F(Embedded, TheDatabaseIsMadeKeptOverACrashAndStoppedAtTheEnd) {
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
  EXPECT_EQ(server_of(data()), server);  // the server does not die with its host
  Daemon host(place);
  auto client = host.client();
  EXPECT_EQ(server_of(data()), server);  // and is used again
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
    host.kill_hard();
    ::kill(server, SIGKILL);
    EXPECT_TRUE(eventually([&] { return server_of(data()) == 0; }));
  }
  Daemon host(place);
  auto client = host.client();
  EXPECT_EQ(get_intent(client, "kept")["status"], "accepted");
  EXPECT_EQ(host.terminate(), 0);
}

}  // namespace
}  // namespace waybill::testing
