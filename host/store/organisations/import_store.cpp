// One transaction: staged, numbered, inserted, sealed, noted.
#include "store/organisations/import_store.h"

#include "domain/channel.h"
#include "store/organisations/import.sql.h"
#include "store/organisations/import_insertion.h"
#include "store/organisations/org_keys.h"
#include "store/organisations/org_keys.sql.h"
#include "store/organisations/organisations.sql.h"
#include "store/pg/tenant_link.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

class PgImportStore final : public ImportStore {
 public:
  PgImportStore(const DatabaseAddress& owner, std::shared_ptr<const Vault> vault)
      : link_(owner, "import"), vault_(std::move(vault)) {}

  Result<OrgImported> run(const ImportOrder& order, std::span<const LeftOut> left_out,
                          const std::function<Result<ImportedFile>(ImportRows&)>& read,
                          const std::function<void(std::int64_t)>& progress) override {
    TRY(check_tenant_role(link_));
    std::optional<OrgImported> rehearsed;
    auto done = link_.transact([&](Connection& connection) -> Result<OrgImported> {
      auto imported = import(connection, order, left_out, read, progress);
      if (!imported || !order.is_rehearsal) return imported;
      rehearsed = std::move(*imported);
      return fail(Error::Kind::conflict, "it was a rehearsal");  // rolls back
    });
    if (rehearsed) return std::move(*rehearsed);
    return done;
  }

 private:
  Result<OrgImported> import(Connection& connection, const ImportOrder& order, std::span<const LeftOut> left_out,
                             const std::function<Result<ImportedFile>(ImportRows&)>& read,
                             const std::function<void(std::int64_t)>& progress) {
    ImportStaging staging(connection, order, left_out);
    auto file = read(staging);
    TRY(file);
    TRY(staging.finish());
    OrgImported done{.org = staging.org(),
                     .name = staging.name(),
                     .from = staging.header(),
                     .file = std::move(*file),
                     .open = 0,
                     .channels = {},
                     .is_disabled = false};
    const bool has_channels = done.file.tables.contains("channels");
    if (has_channels && !vault_->has_key())
      return fail(Error::Kind::unavailable, "the file has channels, which get new secrets: notify.key must name a secret");
    ImportInsertion insertion(connection, staging, progress);
    const auto open = insertion.check_open_work();
    TRY(open);
    done.open = *open;
    TRY(insertion.give_ids());
    for (const auto& table : staging.tables()) {
      // The key stands before the channels that it seals, which come behind the organisation.
      if (table.name == "channels" && has_channels) TRY(newest_data_key(connection, done.org, *vault_));
      TRY(insertion.insert(table));
    }
    TRY(connection.run(sql::free_imported_claims, {std::to_string(done.org.value)}));
    if (has_channels) TRY(seal_channels(connection, done));
    auto noted_down = noted(connection, order, std::move(done));
    // Last: what a sequence has given does not come back when the transaction fails.
    if (noted_down && staging.keeps_number() && !order.is_rehearsal)
      TRY(connection.run(sql::keep_org_number, {std::to_string(noted_down->org.value)}));
    return noted_down;
  }

  Result<void> seal_channels(Connection& connection, OrgImported& done) const {
    const std::string org = std::to_string(done.org.value);
    const auto key = newest_data_key(connection, done.org, *vault_);
    TRY(key);
    const auto channels = connection.run(sql::channels_of_key, {org, std::to_string(key->id)});
    TRY(channels);
    for (const auto row : *channels) {
      const std::string channel(row.channel_id());
      const auto sealed = vault_->seal(done.org, key->id, key->sealed, {done.org, channel, kSecretField}, make_signing_secret());
      TRY(sealed);
      TRY(connection.run(sql::seal_imported_channel, {org, channel, bytea(*sealed)}));
      if (row.is_living()) done.channels.emplace_back(row.name());
    }
    return {};
  }

  static Result<OrgImported> noted(Connection& connection, const ImportOrder& order, OrgImported done) {
    const auto org = connection.run(sql::show_org, {done.name});
    TRY(org);
    if (org->empty()) return fail(Error::Kind::invalid, "the file has no row of the table organisations");
    done.is_disabled = org->front().disabled().has_value();
    TRY(connection.run(sql::note_import, {order.actor, std::to_string(done.org.value), done.name, done.from.name,
                                          std::to_string(done.from.org.value), done.from.exported_at, done.from.program,
                                          std::to_string(done.file.rows), done.file.digest}));
    return done;
  }

  Link link_;
  const std::shared_ptr<const Vault> vault_;
};

}  // namespace

std::unique_ptr<ImportStore> make_import_store(const DatabaseAddress& owner, std::shared_ptr<const Vault> vault) {
  return std::make_unique<PgImportStore>(owner, std::move(vault));
}

}  // namespace waybill
