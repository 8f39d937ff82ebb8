// Jobs of pg-boss on PostgreSQL.
#include "store/pipelines/pgboss_store.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json_writer.h"
#include "store/intake/submit.h"
#include "store/pg/template_words.h"
#include "store/pipelines/pgboss.sql.h"
#include "store/pipelines/pipeline_rows.h"
#include "store/queue/routes.h"

namespace waybill {
namespace {

// A statement whose text is known at run time only. Its `columns` are those of OneRow; none: it answers nothing, and OneRow is
// Row.
template <class OneRow>
class Expanded {
 public:
  Expanded(const char* name, std::string_view text, std::span<const Column> columns,
           const std::map<std::string, std::string>& words)
      : name_(name), text_(with_words(text, words)), columns_(columns) {}
  Query<OneRow> query() const { return {{name_, text_.c_str(), columns_}}; }

 private:
  const char* name_;
  std::string text_;
  std::span<const Column> columns_;
};

class PgBossTables final : public PgBossStore {
 public:
  PgBossTables(const DatabaseAddress& address, const DatabaseAddress& from, bool is_apart,
               const std::map<std::string, std::string>& words)
      : link_(address, "drain"),
        source_(from, "drain"),
        is_apart_(is_apart),
        queues_("pgboss_queues", sql::pgboss_queues, sql::pgboss_queues_columns, words),
        jobs_("pgboss_jobs", sql::pgboss_jobs, sql::pgboss_jobs_columns, words),
        waiting_("pgboss_waiting", sql::pgboss_waiting, sql::pgboss_waiting_columns, words),
        done_("pgboss_done", sql::pgboss_done, {}, words) {}

  Result<std::vector<PgBossQueue>> queues() override {
    const auto rows = (is_apart_ ? source_ : link_).read(queues_.query());
    TRY(rows);
    std::vector<PgBossQueue> all;
    for (const auto row : *rows)
      all.push_back(
          {std::string(row.name()), static_cast<std::uint64_t>(row.waiting()), static_cast<std::uint64_t>(row.later())});
    return all;
  }

  Result<std::vector<PgBossJob>> waiting(const std::string& queue, const std::string& after, std::size_t most) override {
    const auto rows = (is_apart_ ? source_ : link_).read(waiting_.query(), {queue, std::to_string(most), after});
    TRY(rows);
    std::vector<PgBossJob> jobs;
    for (const auto row : *rows) jobs.push_back({std::string(row.id()), queue, std::string(row.data())});
    return jobs;
  }

  Result<Step> take(const std::string& queue, std::size_t most, const HandInJobs& hand_in) override {
    if (!is_apart_)
      return link_.transact([&](Connection& connection) { return take(connection, queue, most, hand_in, connection); });
    return source_.transact([&](Connection& connection) -> Result<Step> {
      return take(
          connection, queue, most,
          [&](Connection&, std::span<const PgBossJob> jobs) {
            return link_.transact([&](Connection& own) { return hand_in(own, jobs); });
          },
          connection);
    });
  }

 private:
  Result<Step> take(Connection& source, const std::string& queue, std::size_t most, const HandInJobs& hand_in,
                    Connection& target) {
    const auto rows = source.run(jobs_.query(), {queue, std::to_string(most + refused_.size())});
    TRY(rows);
    std::vector<PgBossJob> jobs;
    for (const auto row : *rows) {
      if (jobs.size() == most) break;
      std::string id(row.id());
      if (!refused_.contains(id)) jobs.push_back({std::move(id), queue, std::string(row.data())});
    }
    Step step{.taken = 0, .refusals = {}, .is_over = jobs.empty()};
    if (jobs.empty()) return step;
    const auto answers = hand_in(target, jobs);
    TRY(answers);
    ArrayText ids, outputs;
    std::vector<std::string> refused;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto& answer = answers->at(i);
      if (answer.submission.empty()) {
        refused.push_back(jobs[i].id);
        step.refusals.push_back(queue + " " + jobs[i].id + ": " + answer.refusal);
        continue;
      }
      ids.add(jobs[i].id);
      outputs.add("{\"waybill\":" + json_string(answer.submission) + "}");
      ++step.taken;
    }
    TRY(source.run(done_.query(), {queue, ids.take(), outputs.take()}));
    refused_.insert(refused.begin(), refused.end());
    return step;
  }

  Link link_, source_;
  const bool is_apart_;
  const Expanded<sql::pgboss_queues_row> queues_;
  const Expanded<sql::pgboss_jobs_row> jobs_;
  const Expanded<sql::pgboss_waiting_row> waiting_;
  const Expanded<AnyRow> done_;
  std::set<std::string> refused_;  // not tried again by this object
};

}  // namespace

HandInJobs hand_in_those_without(HandInJobs hand_in, std::function<std::string(const PgBossJob&)> fault_of) {
  return [hand_in = std::move(hand_in), fault_of = std::move(fault_of)](
             Connection& connection, std::span<const PgBossJob> jobs) -> Result<std::vector<HandedIn>> {
    std::vector<HandedIn> all(jobs.size());
    std::vector<PgBossJob> good;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      all[i].refusal = fault_of(jobs[i]);
      if (!all[i].refusal.empty()) continue;
      good.push_back(jobs[i]);
      places.push_back(i);
    }
    if (good.empty()) return all;
    auto answers = hand_in(connection, good);
    TRY(answers);
    for (std::size_t n = 0; n < places.size(); ++n) all[places[n]] = std::move(answers->at(n));
    return all;
  };
}

HandInJobs hand_in_as_intents(OrgId org, const Contract& contract, int shards) {
  return [=](Connection& connection, std::span<const PgBossJob> jobs) -> Result<std::vector<HandedIn>> {
    const auto route = route_of(connection, org, contract);
    TRY(route);
    std::map<Shard, std::vector<std::size_t>> by_shard;
    for (std::size_t i = 0; i < jobs.size(); ++i) by_shard[shard_for(org, jobs[i].submission(), shards)].push_back(i);
    std::vector<HandedIn> all(jobs.size());
    for (const auto& [shard, places] : by_shard) {
      std::vector<NewSubmission> items;
      for (const auto i : places)
        items.push_back({.org = org,
                         .kind = "intent",
                         .pipeline = "intent",
                         .state = "pending",
                         .client_ref = jobs[i].submission(),
                         .target = contract.target,
                         .cooldown_key = contract.cooldown_key(),
                         .route = *route,
                         .payload = jobs[i].data,
                         .payload_hash = sha256(jobs[i].data)});
      const auto answers = submit_on(connection, shard, items);
      TRY(answers);
      for (std::size_t n = 0; n < places.size(); ++n) {
        auto& one = all[places[n]];
        if ((*answers)[n].how == SubmitResult::How::conflict)
          one.refusal = "intent " + items[n].client_ref + " is there already, with another target or payload";
        else
          one.submission = items[n].client_ref;
      }
    }
    return all;
  };
}

Result<HandInJobs> hand_in_as_pipeline(const DatabaseAddress& address, OrgId org,
                                       const std::shared_ptr<const PipelineDefinition>& pipeline, int shards) {
  const auto versions = std::make_shared<PipelineVersions>();
  Link link(address, "pipelines");
  const auto version = versions->store(link, pipeline);
  TRY(version);
  return HandInJobs(
      [=, version = *version](Connection& connection, std::span<const PgBossJob> jobs) -> Result<std::vector<HandedIn>> {
        PipelineRows rows(*versions, shards);
        std::vector<HandedIn> all;
        for (const auto& job : jobs) {
          Facts facts;
          facts.set("/payload", job.data);
          const auto metadata = facts.json_of(Term{.at = "/payload/metadata"});
          const PipelineBegin begun{.org = org,
                                    .client_ref = job.submission(),
                                    .payload = job.data.empty() ? "null" : job.data,
                                    .metadata = metadata.starts_with('{') ? metadata : "{}"};
          const auto made = rows.begin(connection, version, begun);
          TRY(made);
          all.push_back({job.submission(), {}});
          if (*made) continue;
          const auto same = rows.is_there(connection, version, begun);
          TRY(same);
          if (!*same) all.back() = {{}, "submission " + job.submission() + " is there already, and is another one"};
        }
        return all;
      });
}

Result<std::unique_ptr<PgBossStore>> open_pgboss(const DatabaseAddress& address, const std::string& from,
                                                 const std::string& schema) {
  DatabaseAddress source = address;
  if (!from.empty()) source.url = from;
  Link link(source, "drain");
  const Expanded<sql::pgboss_columns_row> columns("pgboss_columns", sql::pgboss_columns, sql::pgboss_columns_columns, {});
  const auto rows = link.read(columns.query(), {schema});
  TRY(rows);
  std::set<std::string> names;
  for (const auto row : *rows) names.emplace(row.column_name());
  std::map<std::string, std::string> words{{"{schema}", quoted_identifier(schema)}};
  for (const std::string name : {"start_after", "created_on", "completed_on"}) {
    std::string old = name;  // until version 9
    old.erase(std::remove(old.begin(), old.end(), '_'), old.end());
    if (!names.contains(name) && !names.contains(old))
      return fail(Error::Kind::not_found,
                  "schema \"" + schema + "\" has no table of jobs that this role sees and that pg-boss made");
    words["{" + name + "}"] = names.contains(name) ? name : old;
  }
  return std::make_unique<PgBossTables>(address, source, !from.empty(), words);
}

}  // namespace waybill
