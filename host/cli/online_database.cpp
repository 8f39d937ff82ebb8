// What a host will find at its database.
#include <filesystem>

#include "app/stores.h"
#include "cli/doctor_limits.h"
#include "cli/host_rules.h"
#include "cli/online_check.h"
#include "cli/server_rules.h"
#include "maintenance/failure_schedule.h"
#include "store/operations/database_check.h"
#include "store/pg/migrations.h"

namespace waybill {
namespace {

using Level = Finding::Level;

class DatabaseCheck {
 public:
  DatabaseCheck(const Config& config, const Database& database) : config_(config), database_(database) {}

  Findings run() {
    const auto remarks = check_server(database_.address);
    if (!remarks) {
      tell(Level::problem, "database", remarks.error().what,
           remarks.error().kind == Error::Kind::unavailable
               ? "start the server, or correct database.url (docs/operations/database.md)"
               : "docs/operations/database-errors.md#poolers");
      return std::move(findings_);
    }
    const auto facts = server_facts(database_.address, doctor_limits::kOldTransaction);
    if (!facts) {
      tell(Level::problem, "database", facts.error().what, "docs/operations/database-errors.md");
      return std::move(findings_);
    }
    tell(Level::ok, "database", "PostgreSQL " + facts->version + ", as role \"" + facts->role + "\"");
    for (const auto& remark : *remarks)
      tell(Level::warning, "database settings", remark, "docs/operations/database-errors.md#durability");
    check_room(*facts);
    for (auto& finding : judge_transactions(facts->old_transactions)) findings_.push_back(std::move(finding));
    if (const auto same = check_owner(database_.address, database_.owner); !same)
      tell(Level::problem, "database owner", same.error().what, "correct database.owner_url (docs/operations/roles.md)");
    if (check_schema_version()) {
      check_roles();
      check_hosts();
    }
    if (check_schema(database_)) check_registries();
    return std::move(findings_);
  }

 private:
  void tell(Level level, std::string what, std::string message, std::string remedy = {}) {
    findings_.push_back({level, std::move(what), std::move(message), std::move(remedy)});
  }

  void check_room(const ServerFacts& facts) {
    const int need = kMaxHostSessions + kSessionsBeside;
    const int others = facts.limited_by == "max_connections" ? facts.others : 0;
    const auto room = std::to_string(facts.connections) + " connections for this role (" + facts.limited_by + "), " +
                      std::to_string(others) + " of them held by others; a host has up to " + std::to_string(kMaxHostSessions) +
                      ", its quarantine and commands " + std::to_string(kSessionsBeside);
    if (facts.connections - others >= need) return tell(Level::ok, "database connections", room);
    tell(Level::warning, "database connections", room,
         "raise " + facts.limited_by + ": " + std::to_string(kMaxHostSessions) + " x hosts + 25 (docs/operations/sizing.md)");
  }

  // True if there is a schema that this program can read.
  bool check_schema_version() {
    const auto state = schema_state(database_.address);
    if (!state) {
      tell(Level::problem, "database schema", state.error().what, "docs/operations/upgrading.md");
      return false;
    }
    const auto versions = "\"" + config_.database.schema + "\" is of version " + std::to_string(state->database) +
                          ", this program's is " + std::to_string(state->program);
    if (state->is_too_new()) {
      tell(Level::problem, "database schema", versions, "run a newer program (docs/operations/upgrading.md)");
    } else if (state->is_too_old()) {
      if (may_migrate())
        tell(config_.database.migrate ? Level::warning : Level::problem, "database schema", versions,
             config_.database.migrate ? "nothing: `waybill serve` migrates; or run `waybill migrate` before"
                                      : "run `waybill migrate`");
    } else {
      tell(Level::ok, "database schema", versions);
    }
    return !state->is_too_new() && state->database > 0;
  }

  bool may_migrate() {
    auto connection = Connection::open(database_.owner, "check");
    const auto owner = connection ? schema_owner(*connection, config_.database.schema) : tl::unexpected(connection.error());
    if (!owner) {
      tell(Level::problem, "database owner", owner.error().what, "correct database.owner_url (docs/operations/roles.md)");
      return false;
    }
    if (owner->may_act) return true;
    tell(Level::problem, "database owner",
         "role \"" + owner->session + "\" may not change the schema: it is neither its owner \"" + owner->name +
             "\" nor a member of it",
         "name the owner in database.owner_url, or run `waybill migrate` as the owner (docs/operations/roles.md)");
    return false;
  }

  void check_roles() {
    findings_.push_back(judge_rights(check_rights(database_.address)));
    if (const auto separate = check_tenants(database_.address); !separate)
      tell(Level::warning, "database roles", separate.error().what, "docs/operations/organisations.md");
  }

  // Hosts that were started with another schedule than this configuration has.
  void check_hosts() {
    const auto hosts = make_failure_check_store(database_.address, failure_check_lease(config_))->schedules();
    if (!hosts) return;  // a schema of before
    const FailureSchedule here(config_.failure_check.schedule, config_.failure_check.time_zone);
    bool agree = true;
    for (const auto& [host, schedule] : *hosts) {
      if (schedule == here.text()) continue;
      agree = false;
      auto what = "host " + host;
      what.append(" has the schedule \"").append(schedule).append("\", this configuration \"").append(here.text());
      tell(Level::warning, "failure checks", what.append("\": that of the newest host holds"),
           "give all hosts the same failure_check.schedule and time_zone, and restart them");
    }
    if (agree && !hosts->empty()) tell(Level::ok, "failure checks", "all hosts have the schedule \"" + here.text() + "\"");
  }

  // Which registry each host runs by, beside the one on disk.
  void check_registries() {
    const auto hosts = make_form_store(database_.address, 1, {})->registries();
    if (!hosts) return tell(Level::problem, "hosts' registries", hosts.error().what, "docs/operations/database-errors.md");
    HostDigests digests;
    for (const auto& host : *hosts) digests.emplace_back(host.name, host.report ? host.report->digest : "");
    findings_.push_back(judge_registries(digests, digest_on_disk(config_)));
  }

  const Config& config_;
  const Database& database_;
  Findings findings_;
};

}  // namespace

Findings check_database_online(const Config& config, Log& log) {
  if (config.database.url.empty() && !EmbeddedPostgres::is_in(config.database.embedded))
    return {{Level::ok, "database", "embedded in " + config.database.embedded.string() + ": `waybill serve` makes it", ""}};
  const auto database = open_database(config, log);
  if (!database)
    return {{Level::problem, "database", database.error().what, "docs/operations/running.md#what-an-installation-consists-of"}};
  return DatabaseCheck(config, *database).run();
}

}  // namespace waybill
