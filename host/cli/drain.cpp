// Hands in each waiting job of pg-boss once, and tells what is left.
#include "cli/drain.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/printing.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "store/pg_stores.h"
#include "store/pipelines/pgboss_check.h"
#include "store/pipelines/pgboss_store.h"

namespace waybill {
namespace {

constexpr char kOfPgBossItself[] = "__pgboss__";  // queues of its schedules and upkeep

using FaultOfJob = std::function<std::string(const PgBossJob&)>;  // why it must stay where it is; "": it may go

// What becomes of a queue.
struct QueueDrain {
  PgBossQueue queue;
  std::string target;  // "": none is known
  HandInJobs hand_in;
  FaultOfJob fault_of;
  std::uint64_t taken = 0;
  std::vector<std::string> refusals;

  bool leaves_some() const { return queue.later > 0 || !refusals.empty() || (target.empty() && queue.waiting > 0); }
};

Result<std::map<std::string, std::string>> read_maps(const std::vector<std::string>& maps) {
  std::map<std::string, std::string> all;
  for (const auto& text : maps) {
    const auto at = text.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
      return fail(Error::Kind::invalid, "--map: \"" + text + "\" is not QUEUE=TARGET");
    if (!all.emplace(text.substr(0, at), text.substr(at + 1)).second)
      return fail(Error::Kind::invalid, "--map: queue \"" + text.substr(0, at) + "\" is there twice");
  }
  return all;
}

// How jobs of a queue are handed in for what it is mapped to. The one place that knows what a name on the right of --map may be.
// What would lose a part of itself, or could only fail, is refused.
Result<std::pair<HandInJobs, FaultOfJob>> hand_in_for(const std::string& name, const LoadedInstallation& contents,
                                                      const DatabaseAddress& address, OrgId org, int shards) {
  const auto& registry = *contents.registry;
  const auto& types = *contents.catalogue;
  if (const auto pipeline = registry.find_pipeline(name)) {
    auto hand_in = hand_in_as_pipeline(address, org, pipeline, shards);
    TRY(hand_in);
    return std::pair<HandInJobs, FaultOfJob>(
        std::move(*hand_in), [pipeline, &types](const PgBossJob& job) { return fault_in_job(job.data, *pipeline, types); });
  }
  if (const auto* target = registry.find(name))
    return std::pair<HandInJobs, FaultOfJob>(
        hand_in_as_intents(org, *target, shards),
        [target = *target, &types](const PgBossJob& job) { return fault_in_job(job.data, target, types); });
  return fail(Error::Kind::not_found, "--map: the registry has neither a pipeline nor a target \"" + name + "\"");
}

Result<std::vector<QueueDrain>> plan(const std::vector<PgBossQueue>& queues, std::map<std::string, std::string> maps,
                                     const LoadedInstallation& contents, const DatabaseAddress& address, OrgId org, int shards) {
  const auto& registry = *contents.registry;
  std::vector<QueueDrain> all;
  for (const auto& queue : queues) {
    if (queue.name.starts_with(kOfPgBossItself)) continue;
    QueueDrain one{.queue = queue, .target = {}, .hand_in = {}, .fault_of = {}, .taken = 0, .refusals = {}};
    if (const auto mapped = maps.find(queue.name); mapped != maps.end())
      one.target = mapped->second;
    else if (registry.find(queue.name) != nullptr || registry.find_pipeline(queue.name))
      one.target = queue.name;
    if (!one.target.empty()) {
      auto hand_in = hand_in_for(one.target, contents, address, org, shards);
      TRY(hand_in);
      one.fault_of = std::move(hand_in->second);
      one.hand_in = hand_in_those_without(std::move(hand_in->first), one.fault_of);
    }
    all.push_back(std::move(one));
  }
  for (const auto& [queue, target] : maps)
    TRY(hand_in_for(target, contents, address, org, shards));  // a queue may be empty by now
  return all;
}

Result<void> drain_queue(PgBossStore& store, QueueDrain& one, std::size_t batch) {
  ProgressLine progress(one.queue.name + " -> " + one.target + ": handed in");
  for (;;) {
    progress.show(one.taken, std::max(one.queue.waiting, one.taken));
    auto step = store.take(one.queue.name, batch, one.hand_in);
    TRY(step);
    one.taken += step->taken;
    one.refusals.insert(one.refusals.end(), step->refusals.begin(), step->refusals.end());
    if (step->is_over) return {};
  }
}

// What drain_queue() would refuse.
Result<void> look_at_queue(PgBossStore& store, QueueDrain& one, std::size_t batch) {
  ProgressLine progress(one.queue.name + ": looked at");
  std::uint64_t seen = 0;
  for (std::string after;;) {
    progress.show(seen, std::max(one.queue.waiting, seen));
    const auto jobs = store.waiting(one.queue.name, after, batch);
    TRY(jobs);
    if (jobs->empty()) return {};
    after = jobs->back().id;
    seen += jobs->size();
    for (const auto& job : *jobs)
      if (const auto fault = one.fault_of(job); !fault.empty())
        one.refusals.push_back(one.queue.name + " " + job.id + ": " + fault);
  }
}

void print_drain(const GlobalOptions& options, const std::vector<QueueDrain>& all, bool dry_run) {
  Json list = Json::array();
  for (const auto& one : all) {
    const auto& queue = one.queue;
    if (options.json) {
      Json json{{"queue", queue.name},  {"target", nullptr},     {"waiting", queue.waiting},
                {"later", queue.later}, {"handedIn", one.taken}, {"refused", one.refusals}};
      if (!one.target.empty()) json["target"] = one.target;
      list.push_back(std::move(json));
      continue;
    }
    std::string line = queue.name + ": ";
    if (one.target.empty())
      line += std::to_string(queue.waiting) + " left alone: neither a pipeline nor a target of this name, and no --map " +
              queue.name + "=TARGET";
    else
      line += std::to_string(dry_run ? queue.waiting - std::min<std::uint64_t>(queue.waiting, one.refusals.size()) : one.taken) +
              (dry_run ? " would be handed in for " : " handed in for ") + one.target;
    if (queue.later > 0) line += "; " + std::to_string(queue.later) + " are for later and stay";
    print_line(line);
  }
  if (options.json) print_json({{"dryRun", dry_run}, {"queues", list}});
  if (!options.json && all.empty()) print_line("nothing is waiting");
  for (const auto& one : all)
    for (const auto& refusal : one.refusals) print_error("%s: %s\n", dry_run ? "would be refused" : "refused", refusal.c_str());
}

}  // namespace

int drain_pgboss(const GlobalOptions& options, const DrainOptions& drain) {
  auto maps = read_maps(drain.maps);
  if (!maps) return failed(maps.error().what);
  const auto config = configuration(options);
  if (!config) return 1;
  const auto contents = load_installation(*config, MissingPluginPolicy::tolerate);
  if (!contents.problems.empty()) {
    print(contents.problems);
    return 1;
  }
  Log log = quiet_log();
  const auto reading = open_reading(*config, drain.org, log);
  if (!reading) return failed(reading.error().what);
  const auto& address = reading->database.address;
  const auto store = open_pgboss(address, drain.from, drain.schema);
  if (!store) return failed(store.error().what);
  const auto queues = (*store)->queues();
  if (!queues) return failed(queues.error().what);
  auto all = plan(*queues, std::move(*maps), contents, address, reading->org, reading->shards);
  if (!all) return failed(all.error().what);
  for (auto& one : *all) {
    if (one.target.empty()) continue;
    if (drain.dry_run) {
      if (const auto looked = look_at_queue(**store, one, drain.batch); !looked)
        return failed(one.queue.name + ": " + looked.error().what);
      continue;
    }
    if (const auto done = drain_queue(**store, one, drain.batch); !done)
      return failed(one.queue.name + ": " + done.error().what + "; run the command again, it goes on where it stopped");
  }
  print_drain(options, *all, drain.dry_run);
  for (const auto& one : *all)
    if (one.leaves_some()) return kSomeWereLeft;
  return 0;
}

}  // namespace waybill
