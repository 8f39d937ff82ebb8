// Asking the database, one question after the other.
#include "cli/doctor_database.h"

#include <chrono>
#include <optional>

#include "cli/doctor_limits.h"
#include "cli/host_rules.h"
#include "cli/server_rules.h"
#include "cli/table_rules.h"
#include "cli/work_rules.h"
#include "store/operations/database_check.h"
#include "store/pg/migrations.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using Time = std::chrono::steady_clock::time_point;
using namespace doctor_limits;

using Codes = std::vector<const char*>;
const Codes kOfServer{"database version",     "database standby",     "database settings",   "database memory",
                      "database connections", "database time limits", "database wraparound", "database clock"};
const Codes kOfReplication{"database synchronous", "database replication", "database slots", "database snapshots"};
const Codes kOfHosts{"hosts", "host versions", "host clocks", "hosts' registries", "action types", "plugin isolation"};

DatabaseAddress with_short_limits(DatabaseAddress address) {
  auto& limits = address.timeouts;
  for (auto* limit : {&limits.intake, &limits.read, &limits.claim, &limits.settle, &limits.maintenance, &limits.liveness})
    *limit = std::min(*limit, kStatement);
  limits.lock = std::min(limits.lock, kLock);
  return address;
}

struct SchemaFault {
  std::string words;  // why this program cannot use the schema as it is; "": it can
  bool is_absent = false;
};
Result<SchemaFault> schema_fault(Connection& connection) {
  const auto state = schema_state(connection);
  const auto fit = state ? refuse_unfit(*state) : tl::unexpected(state.error());
  if (!fit && fit.error().kind != Error::Kind::invalid) return tl::unexpected(fit.error());
  return SchemaFault{fit ? "" : fit.error().what, state && state->database == 0};
}

class DatabaseDoctor {
 public:
  DatabaseDoctor(const Config& config, const InstalledFiles& files, const Database& database,
                 const std::function<bool()>& is_over)
      : config_(config), files_(files), address_(with_short_limits(database.address)), is_over_(is_over) {}

  DatabaseLook look() {
    ask_server();
    ask_replication();
    ask_schema();
    ask_tables();
    ask_hosts();
    ask_work();
    return {std::move(findings_), server_ && server_->is_local ? server_->data_directory : ""};
  }

 private:
  void tell(Finding finding) { findings_.push_back(std::move(finding)); }
  void tell(Findings findings) {
    findings_.insert(findings_.end(), std::make_move_iterator(findings.begin()), std::make_move_iterator(findings.end()));
  }
  void not_known(const Codes& codes, const std::string& why) {
    const bool is_right = why.find("[42501]") != std::string::npos;
    for (const auto* code : codes)
      tell({Level::unknown, code, why, is_right ? "docs/operations/doctor.md#rights" : "docs/operations/database-errors.md"});
  }

  // The session, opened anew after a loss. None: the database is gone, or there is no time left.
  Connection* session() {
    if (!gone_ && (is_over_() || std::chrono::steady_clock::now() >= end_)) gone_ = "not asked: the others took all the time";
    if (gone_) return nullptr;
    if (session_ && session_->is_open()) return &*session_;
    session_.reset();
    auto opened = Connection::open(address_, "doctor");
    if (!opened) {
      gone_ = "not asked: the database does not answer";
      tell({Level::problem, "database", opened.error().what,
            "start the server, end what holds its connections, or correct database.url "
            "(docs/operations/runbook.md#the-database-is-away)"});
      return nullptr;
    }
    session_ = std::move(*opened);
    return &*session_;
  }

  // Asks, and judges what is answered; else these are not known.
  template <class Ask, class Judge>
  void look_at(const Codes& codes, Ask ask, Judge judge) {
    auto* connection = session();
    if (connection == nullptr) return not_known(codes, *gone_);
    const auto answer = ask(*connection);
    if (!answer) return not_known(codes, answer.error().what);
    judge(*answer);
  }

  void ask_server() {
    const auto begun = std::chrono::system_clock::now();
    look_at(kOfServer, server_state, [&](const ServerState& server) {
      server_ = server;
      tell({Level::ok, "database", "it answers", ""});
      tell(judge_version(server));
      tell(judge_standby(server));
      tell(judge_settings(server));
      tell(judge_buffers(server, machine_memory()));
      tell(judge_connections(server));
      tell(judge_session_limits(server, config_.database.timeouts.maintenance));
      tell(judge_wraparound(server));
      const auto now =
          std::chrono::duration_cast<Micros>((begun + (std::chrono::system_clock::now() - begun) / 2).time_since_epoch());
      tell(judge_clock(std::chrono::duration_cast<Seconds>(now - Micros{server.now.micros})));
    });
    look_at({"database size"}, database_size, [&](std::int64_t bytes) {
      tell({Level::ok, "database size", size_text(bytes), ""});
    });
  }

  void ask_replication() {
    look_at(kOfReplication, replication, [&](const Replication& state) {
      tell(judge_synchronous(server_.value_or(ServerState{}), state));
      tell(judge_standbys(state));
      tell(judge_slots(state));
      tell(judge_snapshots(state));
    });
    look_at({"database archive"}, archiving, [&](const Archiving& state) { tell(judge_archiving(state)); });
    const auto old = [](Connection& connection) { return old_transactions(connection, kOldTransaction); };
    look_at({"database transactions"}, old, [&](const std::vector<OldTransaction>& transactions) {
      auto found = judge_transactions(transactions);
      if (server_ && !server_->sees_all && found.front().level == Level::ok)
        found = {{Level::unknown, "database transactions", "this role does not see the transactions of other roles",
                  "grant it pg_monitor (docs/operations/doctor.md#rights)"}};
      tell(std::move(found));
    });
  }

  void ask_schema() {
    look_at({"database schema"}, schema_fault, [&](const SchemaFault& fault) {
      if (fault.words.empty())
        return tell({Level::ok, "database schema", "\"" + config_.database.schema + "\" is of this program's version", ""});
      tell({Level::problem, "database schema", fault.words, "docs/operations/upgrading.md"});
      if (fault.is_absent) gone_ = "not asked: there is no schema";
    });
    const Codes rights{"database rights"};
    if (session() == nullptr) return not_known(rights, *gone_);
    const auto allowed = check_rights(address_);
    if (!allowed && allowed.error().kind != Error::Kind::invalid) return not_known(rights, allowed.error().what);
    tell(judge_rights(allowed));
  }

  void ask_tables() {
    look_at({"table vacuum"}, tables_behind,
            [&](const std::vector<TableBehind>& tables) { tell(judge_vacuum(!server_ || server_->autovacuum, tables)); });
    look_at({"table bloat"}, queue_size, [&](const QueueSize& size) { tell(judge_queue_size(size)); });
    look_at(
        {"index validity", "index use"}, [](Connection& connection) { return odd_indexes(connection, kLargeIndex, kUnusedFor); },
        [&](const std::vector<OddIndex>& indexes) { tell(judge_indexes(indexes)); });
    look_at({"partitions"}, months_of_logs, [&](const std::vector<LogMonth>& months) { tell(judge_months(months)); });
  }

  void ask_hosts() {
    look_at(kOfHosts, registered_hosts, [&](const std::vector<RegisteredHost>& hosts) {
      tell(judge_hosts(hosts));
      tell(judge_host_versions(hosts));
      tell(judge_host_clocks(hosts));
      tell(judge_registries(digests_of(hosts), files_.registry_digest));
      tell(judge_host_types(hosts));
      tell(judge_host_isolation(hosts));
    });
    look_at({"host reach"}, lone_findings, [&](const std::vector<LoneFinding>& found) { tell(judge_lone_findings(found)); });
  }

  void ask_work() {
    look_at({"outages", "channels"}, cooling_targets,
            [&](const std::vector<CoolingTarget>& targets) { tell(judge_outages(targets, config_.timeouts.outage)); });
    look_at({"pauses"}, paused_targets, [&](const std::vector<PausedTarget>& targets) { tell(judge_pauses(targets)); });
    look_at({"rates"}, rates_in_force, [&](const std::vector<TargetRate>& rates) { tell(judge_rates(rates)); });
    look_at({"oldest due", "dead letters"}, waiting_work, [&](const WaitingWork& work) {
      tell(judge_due(work, config_.alerts.stuck));
      tell(judge_dead_letters(work));
    });
    look_at({"alerts"}, open_incidents, [&](const std::vector<OpenIncidents>& incidents) { tell(judge_incidents(incidents)); });
    look_at(
        {"tokens"}, [](Connection& connection) { return ending_tokens(connection, kTokenWarning); },
        [&](const std::vector<EndingToken>& tokens) { tell(judge_tokens(tokens)); });
    if (!files_.secrets)
      return tell({Level::unknown, "master keys", "the secrets cannot be read here: see `secrets`", "run it as the hosts' user"});
    look_at(
        {"master keys"},
        [&](Connection&) {
          Link link(address_, "doctor");
          return lost_data_keys(link, *vault_of(*files_.secrets, config_.notify.key));
        },
        [&](const std::vector<LostKey>& lost) { tell(judge_master_keys(lost)); });
  }

  const Config& config_;
  const InstalledFiles& files_;
  const DatabaseAddress address_;
  const std::function<bool()>& is_over_;
  const Time end_ = std::chrono::steady_clock::now() + kAllStatements;
  std::optional<Connection> session_;
  std::optional<std::string> gone_;  // why nothing more is asked
  std::optional<ServerState> server_;
  Findings findings_;
};

}  // namespace

DatabaseLook look_at_database(const Config& config, const InstalledFiles& files, const Database& database,
                              const std::function<bool()>& is_over) {
  return DatabaseDoctor(config, files, database, is_over).look();
}

}  // namespace waybill
