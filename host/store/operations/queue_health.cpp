// Reading how work and hosts are.
#include "store/operations/queue_health.h"

#include "store/operations/monitor.sql.h"
#include "store/operations/monitor_store.h"
#include "store/operations/queue_health.sql.h"

namespace waybill {
namespace {

constexpr int kMaxTargets = 200;
constexpr std::size_t kMaxTargetsCounted = 10;  // of which we say how many wait
constexpr int kMaxContracts = 1000;             // looked at for each of these
constexpr int kMaxDeadLettersRead = 10'000;

}  // namespace

Result<std::vector<RegisteredHost>> registered_hosts(Connection& connection) {
  const auto rows = connection.run(sql::health_of_hosts);
  TRY(rows);
  std::vector<RegisteredHost> all;
  for (const auto row : *rows) {
    RegisteredHost host{.said = {std::string(row.name()), std::nullopt, std::string(row.facts())},
                        .lives = row.lives(),
                        .knows = static_cast<int>(value_or_zero(row.knows())),
                        .digest = text_or_empty(row.digest())};
    if (const auto ago = row.told_ago()) host.said.told_ago = Micros{*ago};
    all.push_back(std::move(host));
  }
  return all;
}

Result<std::vector<CoolingTarget>> cooling_targets(Connection& connection) {
  const auto rows = connection.run(sql::health_of_outages, {std::to_string(kMaxTargets)});
  TRY(rows);
  std::vector<CoolingTarget> all;
  for (const auto row : *rows) {
    CoolingTarget target{.org = std::string(row.org()),
                         .target = std::string(row.target()),
                         .reason = std::string(row.reason()),
                         .began_ago = Micros{row.began_ago()},
                         .ends_in = Micros{row.ends_in()}};
    if (all.size() < kMaxTargetsCounted) {
      const auto waiting = count_waiting(connection, target.org, target.target);
      TRY(waiting);
      target.waiting = *waiting;
    }
    all.push_back(std::move(target));
  }
  return all;
}

Result<std::int64_t> count_waiting(Connection& connection, const std::string& org, const std::string& target) {
  const auto waiting =
      connection.run(sql::waiting_for_target, {org, target, std::to_string(kMaxContracts), std::to_string(kMaxWaitingCounted)});
  TRY(waiting);
  return waiting->front().count();
}

Result<std::vector<PausedTarget>> paused_targets(Connection& connection) {
  const auto rows = connection.run(sql::health_of_pauses, {std::to_string(kMaxTargets)});
  TRY(rows);
  std::vector<PausedTarget> all;
  for (const auto row : *rows) {
    PausedTarget target{.org = std::string(row.org()),
                        .target = std::string(row.target()),
                        .reason = std::string(row.reason()),
                        .actor = std::string(row.actor()),
                        .began_ago = Micros{row.began_ago()}};
    if (all.size() < kMaxTargetsCounted) {
      const auto waiting = count_waiting(connection, target.org, target.target);
      TRY(waiting);
      target.waiting = *waiting;
    }
    all.push_back(std::move(target));
  }
  return all;
}

Result<std::vector<LoneFinding>> lone_findings(Connection& connection) {
  const auto rows = connection.run(sql::findings_of_hosts);
  TRY(rows);
  std::vector<LoneFinding> all;
  for (const auto row : *rows)
    all.push_back({.host = std::string(row.host()),
                   .target = std::string(row.target()),
                   .reason = std::string(row.reason()),
                   .is_cut_off = row.is_cut_off(),
                   .began_ago = Micros{row.began_ago()}});
  return all;
}

Result<WaitingWork> waiting_work(Connection& connection) {
  WaitingWork work;
  const auto oldest = connection.run(sql::oldest_by_type);
  TRY(oldest);
  for (const auto row : *oldest) work.oldest_due[text_or_empty(row.action_type())] = Micros{row.waited()};
  const auto dead = connection.run(sql::waiting_dead_letters, {std::to_string(kMaxStandingCounted)});
  TRY(dead);
  work.dead_letters = dead->front().count();
  const auto first = connection.run(sql::oldest_dead_letter, {std::to_string(kMaxDeadLettersRead)});
  TRY(first);
  if (const auto waited = first->front().waited()) work.oldest_dead_letter = Micros{*waited};
  return work;
}

Result<std::vector<OpenIncidents>> open_incidents(Connection& connection) {
  const auto rows = connection.run(sql::open_incidents);
  TRY(rows);
  std::vector<OpenIncidents> all;
  for (const auto row : *rows)
    all.push_back({std::string(row.kind()), row.incidents(), std::string(row.words()), Micros{row.last_ago()}});
  return all;
}

Result<std::vector<EndingToken>> ending_tokens(Connection& connection, Millis within) {
  const auto rows = connection.run(sql::ending_tokens, {std::to_string(within.count())});
  TRY(rows);
  std::vector<EndingToken> all;
  for (const auto row : *rows) all.push_back({std::string(row.org()), std::string(row.name()), Micros{row.ends_in()}});
  return all;
}

}  // namespace waybill
