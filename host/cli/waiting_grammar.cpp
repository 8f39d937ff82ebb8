// The grammar of the commands on what waits, and on what was sent.
#include "cli/grammar.h"

namespace waybill {

void add_proof_command(CommandLine& line) {
  CLI::App* proof = line.command(
      &line.app, "proof", "Prove what was sent for a submission: all that is on record, in one document",
      [&] { return prove(line.options, line.proof); }, true);
  proof->add_option("id", line.proof.id, "The intentId, the submissionId, or with --kind notification a delivery's id")
      ->required();
  proof->add_option("--org", line.proof.org, "Its organisation")->capture_default_str();
  proof->add_option("--kind", line.proof.kind, "What it is (default: whatever has this id, but no notification)")
      ->check(CLI::IsMember({"intent", "form", "pipeline", "notification"}));
}

void add_queue_command(CommandLine& line) {
  CLI::App* queue = line.command(
      &line.app, "queue", "Tell how long the queue is, how fast it moves, and when it will be empty",
      [&] { return tell_queue(line.options, line.queue); }, true);
  queue->add_option("--org", line.queue.org, "Only of this organisation (default: of all)");
  queue->add_option("--target", line.queue.target, "Only for this target, for sender:TYPE, or for channel:ID");
  queue->add_option("--type", line.queue.action_type, "Only of this action type");
}

void add_waiting_commands(CommandLine& line) {
  CLI::App* group = line.group("waiting", "What waits to be sent: list it, end it, send it elsewhere, slow it down");
  auto& waiting = line.waiting;
  const auto add = [&](const char* name, const char* what, int (*run)(const GlobalOptions&, const WaitingOptions&)) {
    CLI::App* sub = line.command(
        group, name, what, [&line, run] { return run(line.options, line.waiting); }, true);
    sub->add_option("--org", waiting.org, "Its organisation")->capture_default_str();
    return sub;
  };
  CLI::App* list = add("list", "List what waits and no host holds, what may start first coming first", list_waiting);
  list->add_option("--limit", waiting.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
  CLI::App* end = add("end", "End what waits for a target, unsent: exhausted, for the reason ended_by_operator", end_what_waits);
  end->add_option("--reason", waiting.reason, "Why, for the audit")->required();
  CLI::App* reroute =
      add("reroute", "Send intents that wait for a target to another one of the same action type", reroute_what_waits);
  reroute->add_option("--to", waiting.to, "The target where they go")->required();
  CLI::App* rate =
      add("rate", "Give a target a rate for a while, in place of the registry's; without options, list such rates", rate_target);
  auto* per_second = rate->add_option("--per-second", waiting.per_second, "How many a second");
  auto* per_minute = rate->add_option("--per-minute", waiting.per_minute, "How many a minute");
  auto* clear = rate->add_flag("--clear", waiting.clear, "End it: the registry's rate is in force again");
  per_second->check(CLI::Range(1u, kMaxRateCount))->excludes(per_minute)->excludes(clear);
  per_minute->check(CLI::Range(1u, kMaxRateCount))->excludes(clear);
  rate->add_option("--for", waiting.lasts, "How long, such as 30m or 2h (default: until it is cleared)")->excludes(clear);
  for (CLI::App* sub : {list, end, reroute, rate}) {
    auto* target = sub->add_option("--target", waiting.target, "For this target, for sender:TYPE, or for channel:ID");
    if (sub == end || sub == reroute) target->required();
    if (sub != list) sub->add_option("--actor", waiting.actor, "Who acts, for the audit (default: your user name)");
  }
  for (CLI::App* sub : {list, end, reroute}) {
    sub->add_option("--kind", waiting.kind, "Only of this kind")
        ->check(CLI::IsMember({"intent", "form", "pipeline", "notification", "alert"}));
    sub->add_option("--older-than", waiting.older_than, "Only of submissions that are older, such as 30m, 2h or 3d");
    if (sub != list) sub->add_flag("--dry-run", waiting.dry_run, "Only tell how many, and which are refused");
  }
}

}  // namespace waybill
