// Hosts as operators see them, on PostgreSQL.
#include "store/operations/host_store.h"

#include "base/utf8.h"
#include "store/operations/hosts.sql.h"

namespace waybill {
namespace {

ListedHost read_host(const sql::listed_hosts_row& row) {
  ListedHost host{.name = std::string(row.name()),
                  .process = {},
                  .lives = row.lives(),
                  .knows = static_cast<int>(value_or_zero(row.knows())),
                  .last_version = text_or_empty(row.version()),
                  .digest = text_or_empty(row.digest()),
                  .started = row.started(),
                  .heard = row.heard(),
                  .succeeded = row.succeeded(),
                  .drain = {}};
  if (row.process()) {
    host.process = LivingHost{text_or_empty(row.process()), std::nullopt, text_or_empty(row.facts())};
    if (const auto ago = row.told_ago()) host.process->told_ago = Micros{*ago};
  }
  if (const auto since = row.drain_since())
    host.drain = HostDrain{*since, text_or_empty(row.drain_reason()), text_or_empty(row.drain_actor())};
  return host;
}

class PgHostStore final : public HostStore {
 public:
  explicit PgHostStore(const DatabaseAddress& address) : address_(address) {}

  Result<std::vector<ListedHost>> list() override {
    auto session = Connection::open(address_, "hosts");
    TRY(session);
    const auto rows = session->run(sql::listed_hosts, {std::to_string(kMaxHostsListed)});
    TRY(rows);
    std::vector<ListedHost> all;
    for (const auto row : *rows) all.push_back(read_host(row));
    return all;
  }

  Result<std::string> name_of(const std::string& called) override {
    TRY(check_text("host", called));
    auto session = Connection::open(address_, "hosts");
    TRY(session);
    const auto rows = session->run(sql::name_of_host, {called});
    TRY(rows);
    if (const auto name = rows->front().name()) return std::string(*name);
    return fail(Error::Kind::not_found,
                "no host is called \"" + called + "\", and none was heard under this name for 30 days (`waybill hosts list`)");
  }

  Result<HostDrain> drain(const std::string& name, const std::string& reason, const Operator& by) override {
    TRY(check_text("host", name));
    TRY(check_text("reason", reason));
    auto session = Connection::open(address_, "hosts");
    TRY(session);
    const auto clean = clean_text(reason, kMaxReason);
    const auto made = session->run(sql::drain_host, {name, clean, by.actor, by.trigger});
    TRY(made);
    if (!made->empty()) return HostDrain{made->front().since(), clean, by.actor};
    const auto there = session->run(sql::drain_of_host, {name});
    TRY(there);
    if (there->empty()) return fail(Error::Kind::conflict, "somebody else has just resumed host \"" + name + "\"");
    const auto row = there->front();
    return fail(Error::Kind::conflict, "host \"" + name + "\" is drained already, since " + format_rfc3339(row.since()) + " by " +
                                           std::string(row.actor()) + ": " + std::string(row.reason()));
  }

  Result<HostDrain> resume(const std::string& name, const Operator& by) override {
    TRY(check_text("host", name));
    auto session = Connection::open(address_, "hosts");
    TRY(session);
    const auto rows = session->run(sql::resume_host, {name, by.actor, by.trigger});
    TRY(rows);
    if (rows->empty()) return fail(Error::Kind::not_found, "host \"" + name + "\" is not drained");
    const auto row = rows->front();
    return HostDrain{row.since(), std::string(row.reason()), std::string(row.actor())};
  }

 private:
  const DatabaseAddress address_;
};

}  // namespace

std::unique_ptr<HostStore> make_host_store(const DatabaseAddress& address) { return std::make_unique<PgHostStore>(address); }

}  // namespace waybill
