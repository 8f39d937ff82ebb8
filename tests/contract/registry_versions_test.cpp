// Which registries were in force, in the database: each content once, each change of it with who did it.  O5
#include <latch>
#include <thread>

#include "contract/store_world.h"
#include "store/operations/registry_version_store.h"

namespace waybill::testing {
namespace {

class RegistryVersionContract : public StoreWorld {
 protected:
  std::optional<int> note(const std::string& digest, const std::string& actor = "ada", const std::string& trigger = "reload") {
    const auto noted = store->note(
        {{"targets.json", digest}}, digest, {"box:1", actor, trigger},
        [](const RegistryFiles& before, const RegistryFiles& after) {
          return TargetCounts{.added = static_cast<int>(after.size()), .changed = static_cast<int>(before.size()), .removed = 7};
        });
    EXPECT_TRUE(noted) << noted.error().what;
    return noted ? *noted : std::nullopt;
  }
  std::vector<RegistryEvent> events(std::int64_t before = 0, std::size_t most = 100) {
    const auto page = store->events(before, most);
    EXPECT_TRUE(page) << page.error().what;
    return page ? page->items : std::vector<RegistryEvent>{};
  }
  std::unique_ptr<RegistryVersionStore> store = make_registry_version_store(address);
};

// O5
TEST_F(RegistryVersionContract, AContentIsStoredOnceAndEachChangeIsNoted) {
  const auto first = note("a", "box:1", "start");
  ASSERT_TRUE(first);
  EXPECT_FALSE(note("a", "box:2", "start")) << "another host of the fleet has the same";
  const auto second = note("b");
  ASSERT_TRUE(second);
  EXPECT_EQ(note("a", "bob"), first) << "back to what was there";
  const auto all = events();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].version, *first);
  EXPECT_EQ(all[0].by.actor, "bob");
  EXPECT_EQ(all[1].version, *second);
  EXPECT_EQ(all[1].targets.changed, 1) << "compared with the version before";
  EXPECT_EQ(all[2].by.trigger, "start");
  EXPECT_EQ(all[2].targets.changed, 0) << "there was none before";
  EXPECT_EQ(sql.number("SELECT count(*) FROM registry_versions"), 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM registry_files"), 2);
  const auto page = store->events(0, 2);
  ASSERT_TRUE(page);
  EXPECT_EQ(events(page->next).size(), 1u);
}

// O5
TEST_F(RegistryVersionContract, AVersionIsReadAsItWasByteForByte) {
  const std::string bytes("\x00\xff\n'\\", 5);
  const auto noted = store->note({{"forms/ä.yaml", bytes}, {"targets.json", ""}}, "d", {"box:1", "ada", "reload"},
                                 [](const auto&, const auto&) { return TargetCounts{}; });
  ASSERT_TRUE(noted && *noted) << (noted ? "" : noted.error().what);
  const auto found = store->find(**noted);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->files.at("forms/ä.yaml"), bytes);
  EXPECT_EQ(found->files.at("targets.json"), "");
  const auto none = store->find(**noted + 1);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, Error::Kind::not_found);
}

// O5
TEST_F(RegistryVersionContract, HostsThatComeToItAtOnceNoteItOnce) {
  constexpr int kHosts = 4;
  std::latch ready(kHosts);
  std::atomic<int> noted = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kHosts; ++i)
      threads.emplace_back([&] {
        const auto own = make_registry_version_store(address);
        ready.arrive_and_wait();
        const auto done = own->note({{"targets.json", "x"}}, "x", {"box:1", "ada", "reload"},
                                    [](const auto&, const auto&) { return TargetCounts{}; });
        if (!done) ADD_FAILURE() << done.error().what;
        if (done && *done) ++noted;
      });
  }
  EXPECT_EQ(noted, 1);
  EXPECT_EQ(events().size(), 1u);
}

// O5
TEST_F(RegistryVersionContract, WhatIsKeptIsBounded) {
  const auto first = note("first");
  sql.execute("INSERT INTO registry_versions (digest) SELECT 'd' || i FROM generate_series(1, 250) AS i");
  sql.execute(
      "INSERT INTO registry_changes (version, host, actor, trigger, added, changed, removed) "
      "SELECT version, 'box:1', 'ada', 'reload', 0, 0, 0 FROM registry_versions WHERE digest <> 'first' ORDER BY version");
  ASSERT_TRUE(note("newest"));
  EXPECT_FALSE(store->find(*first));
  EXPECT_LE(sql.number("SELECT count(*) FROM registry_versions"), kKeptEvents + 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM registry_files"), 1) << "with their files";
  ASSERT_TRUE(note("d250")) << "one that is still there is not stored again";
}

}  // namespace
}  // namespace waybill::testing
