// Asking the server and comparing.
#include "store/operations/database_check.h"

#include <algorithm>

#include "store/operations/database_check.sql.h"
#include "store/organisations/organisations.sql.h"
#include "store/pg/tenant_link.h"

namespace waybill {
namespace {

// In the simple protocol, which every pooler passes on.
constexpr auto kWho = "SELECT pg_backend_pid()";
constexpr int kLooks = 3;  // of either session: a pooler has another server session for it sooner or later

constexpr std::size_t kMaxNamed = 5;

Result<bool> is_shared(Connection& one, Connection& other) {
  std::string first;
  for (int look = 0; look < kLooks; ++look) {
    const auto a = one.script(kWho);
    TRY(a);
    const auto b = other.script(kWho);
    TRY(b);
    if (first.empty()) first = a->text(0, 0);
    if (a->text(0, 0) != first || b->text(0, 0) == first) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> check_server(const DatabaseAddress& address) {
  auto one = Connection::open(address, "check");
  TRY(one);
  auto other = Connection::open(address, "check");
  TRY(other);
  const auto shared = is_shared(*one, *other);
  TRY(shared);
  if (*shared)
    return fail(
        Error::Kind::invalid,
        "database.url leads to a pooler that shares server sessions between transactions: hosts need sessions of their own. "
        "Connect to the server itself, or through a pool with pool_mode = session");
  const auto durability = one->script(sql::durability.sql);
  TRY(durability);
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
  TRY(connection);
  const auto missing = connection->run(sql::missing_rights);
  TRY(missing);
  if (missing->empty()) return {};
  std::string named;
  for (std::size_t i = 0; i < std::min(missing->size(), kMaxNamed); ++i)
    named.append(i == 0 ? "" : ", ").append((*missing)[i].what());
  if (missing->size() > kMaxNamed) named += " and " + std::to_string(missing->size() - kMaxNamed) + " more";
  return fail(Error::Kind::invalid,
              "role \"" + std::string(missing->front().role()) + "\" lacks rights in schema \"" + address.schema +
                  "\": " + named +
                  ". Run `waybill roles`, and make this role a member of the application role (docs/operations/roles.md)");
}

Result<void> check_tenants(const DatabaseAddress& address) {
  Link link(address, "check");
  const auto shared = link.run(sql::is_shared);
  TRY(shared);
  return shared->front().is_shared() ? check_tenant_role(link) : Result<void>{};
}

Result<void> check_owner(const DatabaseAddress& address, const DatabaseAddress& owner) {
  if (owner.url == address.url) return {};
  auto one = Connection::open(address, "check");
  if (!one) return {};
  auto other = Connection::open(owner, "check");
  if (!other) return fail(other.error().kind, "database.owner_url: " + other.error().what);
  const auto a = one->run(sql::database_identity);
  TRY(a);
  const auto b = other->run(sql::database_identity);
  TRY(b);
  const auto ours = a->front(), owners = b->front();
  if (ours.id() == owners.id() && ours.started() == owners.started()) return {};
  return fail(Error::Kind::invalid, "database.owner_url leads to another database (\"" + std::string(owners.name()) +
                                        "\") than database.url (\"" + std::string(ours.name()) + "\")");
}

Result<std::vector<OldTransaction>> old_transactions(Connection& connection, Millis age) {
  const auto found = connection.run(sql::old_transactions, {std::to_string(age.count())});
  TRY(found);
  std::vector<OldTransaction> all;
  for (const auto row : *found) all.push_back({std::string(row.what()), row.seconds()});
  return all;
}

Result<ServerFacts> server_facts(const DatabaseAddress& address, Millis old) {
  auto connection = Connection::open(address, "check");
  TRY(connection);
  const auto server = connection->run(sql::server_facts);
  TRY(server);
  const auto known = server->front();
  ServerFacts facts{.role = std::string(known.role()),
                    .version = std::string(known.version()),
                    .connections = static_cast<int>(known.connections()),
                    .others = static_cast<int>(known.others()),
                    .limited_by = "max_connections",
                    .old_transactions = {}};
  for (const auto& [limit, what] : {std::pair(known.role_limit(), "the CONNECTION LIMIT of the role"),
                                    {known.database_limit(), "the CONNECTION LIMIT of the database"}})
    if (limit >= 0 && limit < facts.connections) {
      facts.connections = static_cast<int>(limit);
      facts.limited_by = what;
    }
  auto found = old_transactions(*connection, old);
  TRY(found);
  facts.old_transactions = std::move(*found);
  return facts;
}

}  // namespace waybill
