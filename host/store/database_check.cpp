// Asking the server and comparing.
#include "store/database_check.h"

#include <algorithm>

namespace waybill {
namespace {

// In the simple protocol, which every pooler passes on.
constexpr auto kWho = "SELECT pg_backend_pid()";
// The first is what a session has that sets nothing itself: ours does, see Connection::open().
constexpr auto kDurability =
    "SELECT (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'), current_setting('fsync')";
constexpr int kLooks = 3;  // of either session: a pooler has another server session for it sooner or later

constexpr Statement kMissingRights{"missing_rights", R"(
  WITH wanted AS (
    SELECT to_regclass(quote_ident(table_name)) AS place, table_name, one AS what
    FROM access_rules, regexp_split_to_table(application, ',\s*(?![^(]*\))') AS one),
  missing AS (
    SELECT what || ' on ' || table_name AS what FROM wanted
    WHERE NOT CASE WHEN what LIKE '%(%' THEN (
            SELECT bool_and(has_column_privilege(place, trim(name), split_part(what, ' (', 1)))
            FROM regexp_split_to_table(substring(what FROM '\((.*)\)'), ',') AS name)
          ELSE has_table_privilege(place, what) END
    UNION ALL
    SELECT 'USAGE on sequence ' || relname FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace
      AND CASE WHEN relkind = 'S' THEN NOT has_sequence_privilege(oid, 'USAGE') ELSE false END)
  SELECT current_user, what FROM missing ORDER BY what)"};
constexpr std::size_t kMaxNamed = 5;

Result<bool> is_shared(Connection& one, Connection& other) {
  std::string first;
  for (int look = 0; look < kLooks; ++look) {
    const auto a = one.script(kWho);
    if (!a) return tl::unexpected(a.error());
    const auto b = other.script(kWho);
    if (!b) return tl::unexpected(b.error());
    if (first.empty()) first = a->text(0, 0);
    if (a->text(0, 0) != first || b->text(0, 0) == first) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> check_server(const DatabaseAddress& address) {
  auto one = Connection::open(address, "check");
  if (!one) return tl::unexpected(one.error());
  auto other = Connection::open(address, "check");
  if (!other) return tl::unexpected(other.error());
  const auto shared = is_shared(*one, *other);
  if (!shared) return tl::unexpected(shared.error());
  if (*shared)
    return fail(
        Error::Kind::invalid,
        "database.url leads to a pooler that shares server sessions between transactions: hosts need sessions of their own. "
        "Connect to the server itself, or through a pool with pool_mode = session");
  const auto durability = one->script(kDurability);
  if (!durability) return tl::unexpected(durability.error());
  std::vector<std::string> remarks;
  if (durability->text(0, 0) == "off")
    remarks.emplace_back(
        "synchronous_commit is off for this role, database or server; hosts commit with synchronous_commit = on all the same, as "
        "what is acknowledged must be durable. Set it to on for this role to be rid of this message");
  if (durability->text(0, 1) == "off")
    remarks.emplace_back("fsync is off: if the server's machine fails, what was acknowledged may be lost. Set it to on");
  return remarks;
}

Result<void> check_rights(const DatabaseAddress& address) {
  auto connection = Connection::open(address, "check");
  if (!connection) return tl::unexpected(connection.error());
  const auto missing = connection->run(kMissingRights);
  if (!missing) return tl::unexpected(missing.error());
  if (missing->size() == 0) return {};
  std::string named;
  for (std::size_t row = 0; row < std::min(missing->size(), kMaxNamed); ++row)
    named.append(row == 0 ? "" : ", ").append(missing->text(row, 1));
  if (missing->size() > kMaxNamed) named += " and " + std::to_string(missing->size() - kMaxNamed) + " more";
  return fail(Error::Kind::invalid,
              "role \"" + std::string(missing->text(0, 0)) + "\" lacks rights in schema \"" + address.schema + "\": " + named +
                  ". Run `waybill roles`, and make this role a member of the application role (docs/operations/roles.md)");
}

}  // namespace waybill
