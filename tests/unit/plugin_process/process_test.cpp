// Processes of plugins: started, greeted, asked, and how their ends are told.  I1 I2 I3
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "plugin_library/private_copy.h"
#include "plugin_process/greeting.h"
#include "plugin_process/ready_processes.h"
#include "support/bad_plugins.h"

namespace waybill::plugin_process {
namespace {

constexpr Millis kPatience{60'000};

struct Library {  // in memory: a process may read no file of this folder
  explicit Library(const std::string& plugin) : fd(private_copy_descriptor(testing::bad_plugin(plugin)).value_or(-1)) {}
  ~Library() { close(fd); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  const int fd;
};

ProcessSpec spec_of(const Library& library) {
  return {.program = WAYBILL_PLUGIN_HOST, .plugin = "plugin.so", .library = library.fd, .command = {}, .isolation = {}};
}
ProcessSpec spec_of_command(std::vector<std::string> command) {
  return {.program = WAYBILL_PLUGIN_HOST, .plugin = "plugin", .library = -1, .command = std::move(command), .isolation = {}};
}

TEST(PluginProcess, SaysWhatItsPluginIs) {
  const Library library("good");
  const auto ready = start_process(spec_of(library), kPatience);
  ASSERT_TRUE(ready) << ready.error().what;
  EXPECT_NE(ready->descriptor.find("\"id\":\"test.good\""), std::string::npos) << ready->descriptor;
}

TEST(PluginProcess, IsAskedForItsOpinionOfSettings) {
  const Library library("picky");
  auto ready = start_process(spec_of(library), kPatience);
  ASSERT_TRUE(ready) << ready.error().what;
  const auto opinion = ask_opinion(*ready, kSettings, "picky", "{}", kPatience);
  EXPECT_TRUE(opinion.has_value());
}

TEST(PluginProcess, ThatCrashesWhileItLoadsIsNamedBySignal) {
  const Library library("crashes_at_load");
  const auto ready = start_process(spec_of(library), kPatience);
  ASSERT_FALSE(ready);
  EXPECT_NE(ready.error().what.find("SIG"), std::string::npos) << ready.error().what;
}

TEST(PluginProcess, WithoutAnEntryIsRefusedWithARemedy) {
  const Library library("no_symbol");
  const auto ready = start_process(spec_of(library), kPatience);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().what.find("it does not export wb_plugin_v1\n"), 0u) << ready.error().what;
}

TEST(PluginProcess, OfACommandThatIsNotThereSaysSo) {
  const auto ready = start_process(spec_of_command({"/nowhere/at/all"}), kPatience);
  ASSERT_FALSE(ready);
  EXPECT_NE(ready.error().what.find("exit code 126"), std::string::npos) << ready.error().what;
  EXPECT_NE(ready.error().what.find("/nowhere/at/all cannot be started"), std::string::npos) << ready.error().what;
}

TEST(PluginProcess, ThatPrintsWithoutEndFillsNoLog) {
  // It ends soon, since it does not keep to the protocol; until then it prints.
  auto spec = spec_of_command({"/usr/bin/yes", "line"});
  spec.isolation.read = {"/usr/bin"};
  auto process = Process::start(spec);
  ASSERT_TRUE(process) << process.error().what;
  std::atomic<std::size_t> lines{0};
  std::promise<void> many;
  (*process)->listen({.answer = {},
                      .line =
                          [&](std::string_view) {
                            if (++lines == 100) many.set_value();
                          },
                      .ended = {}});
  ASSERT_EQ(many.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  (*process)->kill("enough");
  EXPECT_TRUE((*process)->wait_for_end(kPatience));
  (*process)->stop_listening();
  EXPECT_LE(lines, 200u) << "at most a hundred in ten seconds";
}

TEST(PluginProcess, ThatSendsNoMessageIsRefused) {
  const auto ready =
      start_process(spec_of_command({"/usr/bin/env", "sh", "-c", "printf 'GET / HTTP/1.1' >&3; exec sleep 60"}), kPatience);
  ASSERT_FALSE(ready);  // its sandbox does not let it run a shell; with one it would not keep to the protocol
}

TEST(ReadyProcesses, HaveTheNextOneReadyWhenOneIsTaken) {
  const Library library("good");
  ReadyProcesses processes(spec_of(library));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(processes.take(kPatience)) << i;
  EXPECT_EQ(processes.deaths(), 0u);
}

TEST(ReadyProcesses, OfAPluginThatNeverStartsSayWhy) {
  const Library library("crashes_at_load");
  ReadyProcesses processes(spec_of(library));
  std::string why;
  for (int i = 0; i < 600 && why.find("SIG") == std::string::npos; ++i) {
    const auto taken = processes.take(Millis{100});
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().kind, Error::Kind::unavailable);
    why = taken.error().what;
  }
  EXPECT_NE(why.find("its process does not start"), std::string::npos) << why;
  EXPECT_GE(processes.deaths(), 1u);
}

}  // namespace
}  // namespace waybill::plugin_process
