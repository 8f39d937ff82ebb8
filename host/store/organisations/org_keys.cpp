// Data keys on PostgreSQL.
#include "store/organisations/org_keys.h"

#include "domain/channel.h"
#include "store/organisations/org_keys.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {

Result<DataKey> newest_data_key(Connection& connection, OrgId org, const Vault& vault) {
  if (!vault.has_key()) return fail(Error::Kind::unavailable, "channels need a master key, and notify.key names none");
  const std::string of = std::to_string(org.value);
  for (const bool make : {false, true}) {
    const DataKey first;
    if (make) {
      const auto fresh = vault.make_data_key(org, first.id);
      TRY(connection.run(sql::add_org_key, {of, std::to_string(first.id), fresh.master, bytea(fresh.sealed)}));
    }
    const auto newest = connection.run(sql::newest_org_key, {of});
    TRY(newest);
    if (newest->empty()) continue;
    return DataKey{static_cast<std::int32_t>(newest->front().key_id()), from_hex(newest->front().sealed())};
  }
  return fail(Error::Kind::bug, "a data key that was just stored is not there");
}

Result<DataKey> data_key(Connection& connection, OrgId org, std::int32_t id) {
  const auto key = connection.run(sql::org_key, {std::to_string(org.value), std::to_string(id)});
  TRY(key);
  return DataKey{id, from_hex(key->front().sealed())};
}

Result<std::vector<std::string>> used_master_keys(Link& link) {
  const auto rows = link.read(sql::master_keys);
  TRY(rows);
  std::vector<std::string> all;
  for (const auto row : *rows) all.emplace_back(row.master());
  return all;
}

Result<std::vector<LostKey>> lost_data_keys(Link& link, const Vault& vault) {
  ArrayText known;
  for (const auto& name : vault.names()) known.add(name);
  const auto rows = link.read(sql::lost_keys, {known.take()});
  TRY(rows);
  std::vector<LostKey> all;
  for (const auto row : *rows)
    all.push_back({.org = {row.org_id()},
                   .org_name = std::string(row.name()),
                   .id = static_cast<std::int32_t>(row.key_id()),
                   .master = std::string(row.master()),
                   .channels = static_cast<std::size_t>(row.channels())});
  return all;
}

Result<std::size_t> give_up_data_key(Link& link, const Vault& vault, const LostKey& lost, const std::string& actor) {
  const std::string org = std::to_string(lost.org.value), id = std::to_string(lost.id);
  const auto fresh = vault.make_data_key(lost.org, lost.id);
  return link.transact([&](Connection& connection) -> Result<std::size_t> {
    const auto replaced = connection.run(sql::replace_lost_key, {org, id, fresh.master, bytea(fresh.sealed), lost.master});
    TRY(replaced);
    if (replaced->empty()) return std::size_t{0};
    const auto channels = connection.run(sql::channels_of_key, {org, id});
    TRY(channels);
    std::size_t living = 0;
    for (const auto row : *channels) {
      const std::string channel(row.channel_id());
      const auto sealed = vault.seal(lost.org, lost.id, fresh.sealed, {lost.org, channel, kSecretField}, make_signing_secret());
      TRY(sealed);
      TRY(connection.run(sql::give_up_secret, {org, channel, bytea(*sealed)}));
      if (!row.is_living()) continue;
      TRY(connection.run(sql::audit_given_up, {org, actor, channel, std::string(row.name()), lost.master}));
      ++living;
    }
    return living;
  });
}

Result<std::size_t> rewrap_data_keys(Link& link, const Vault& vault, std::size_t most) {
  const auto rows = link.run(sql::keys_to_rewrap, {vault.newest(), std::to_string(most)});
  TRY(rows);
  for (const auto row : *rows) {
    const OrgId org{row.org_id()};
    const auto id = static_cast<std::int32_t>(row.key_id());
    const std::string before = from_hex(row.sealed());
    const auto fresh = vault.rewrap(org, id, before);
    TRY(fresh);
    TRY(link.run(sql::rewrap_key,
                 {std::to_string(org.value), std::to_string(id), fresh->master, bytea(fresh->sealed), bytea(before)}));
  }
  return rows->size();
}

}  // namespace waybill
