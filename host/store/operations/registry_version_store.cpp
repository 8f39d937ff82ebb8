// The history of registries on PostgreSQL.
#include "store/operations/registry_version_store.h"

#include "base/hex.h"
#include "store/operations/registry_versions.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

Result<RegistryFiles> files_of(Connection& connection, std::int64_t version) {
  const auto rows = connection.run(sql::registry_files_of, {std::to_string(version)});
  TRY(rows);
  RegistryFiles files;
  for (const auto row : *rows) files.emplace(std::string(row.path()), from_hex(row.content()));
  return files;
}

Result<void> store_version(Connection& connection, const RegistryFiles& files, const std::string& digest) {
  const auto made = connection.run(sql::store_registry, {digest});
  TRY(made);
  if (made->empty()) return {};
  const auto version = std::to_string(made->front().version());
  for (const auto& [path, content] : files) TRY(connection.run(sql::store_registry_file, {version, path, bytea(content)}));
  return {};
}

class PgRegistryVersionStore final : public RegistryVersionStore {
 public:
  explicit PgRegistryVersionStore(const DatabaseAddress& address) : address_(address) {}

  Result<std::optional<int>> note(const RegistryFiles& files, const std::string& digest, const RegistryOrigin& by,
                                  const Count& count) override {
    Link link(address_, "registry");
    return link.transact([&](Connection& connection) -> Result<std::optional<int>> {
      TRY(connection.run(sql::lock_registry_versions));
      const auto newest = connection.run(sql::newest_registry);
      TRY(newest);
      if (!newest->empty() && newest->front().digest() == digest) return std::optional<int>();
      const auto before = newest->empty() ? Result<RegistryFiles>() : files_of(connection, newest->front().version());
      TRY(before);
      TRY(store_version(connection, files, digest));
      const auto targets = count(*before, files);
      const auto noted = connection.run(
          sql::note_registry, {digest, by.host, by.actor, by.trigger, std::to_string(targets.added),
                               std::to_string(targets.changed), std::to_string(targets.removed), std::to_string(kKeptEvents)});
      TRY(noted);
      return std::optional(static_cast<int>(noted->front().version()));
    });
  }

  Result<RegistryEvents> events(std::int64_t before, std::size_t most) override {
    auto session = Connection::open(address_, "registry");
    TRY(session);
    const auto rows = session->run(sql::registry_changes, {std::to_string(before), std::to_string(most + 1)});
    TRY(rows);
    RegistryEvents page;
    for (const auto row : *rows) {
      if (page.items.size() == most) {
        page.next = page.items.back().id;
        break;
      }
      page.items.push_back(
          {.id = row.change_id(),
           .version = static_cast<int>(row.version()),
           .digest = std::string(row.digest()),
           .at = row.at(),
           .by = {std::string(row.host()), std::string(row.actor()), std::string(row.trigger())},
           .targets = {static_cast<int>(row.added()), static_cast<int>(row.changed()), static_cast<int>(row.removed())}});
    }
    return page;
  }

  Result<RegistryVersion> find(int version) override {
    auto session = Connection::open(address_, "registry");
    TRY(session);
    const auto rows = session->run(sql::registry_version, {std::to_string(version)});
    TRY(rows);
    if (rows->empty())
      return fail(Error::Kind::not_found, "there is no version " + std::to_string(version) +
                                              " of the registry (`waybill registry log`); the newest " +
                                              std::to_string(kKeptEvents) + " are kept");
    auto files = files_of(*session, version);
    TRY(files);
    const auto row = rows->front();
    return RegistryVersion{.version = version, .digest = std::string(row.digest()), .at = row.at(), .files = std::move(*files)};
  }

 private:
  const DatabaseAddress address_;
};

}  // namespace

std::unique_ptr<RegistryVersionStore> make_registry_version_store(const DatabaseAddress& address) {
  return std::make_unique<PgRegistryVersionStore>(address);
}

}  // namespace waybill
