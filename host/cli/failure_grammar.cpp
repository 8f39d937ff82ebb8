// The grammar of the commands on what has failed, and on what is not sent to.
#include "cli/grammar.h"
#include "store/operations/failed_store.h"

namespace waybill {

void add_failed_commands(CommandLine& line) {
  CLI::App* group = line.group("failed", "What failed for good: intents, forms, pipelines and channels in one list");
  CLI::App* list = line.command(
      group, "list", "List them with their last error, the newest first", [&] { return list_failed(line.options, line.failed); },
      true);
  list->add_option("--limit", line.failed.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
  CLI::App* resend = line.command(
      group, "resend", "Send them again under their own keys, no faster than dead.replay_rate",
      [&] { return resend_failed(line.options, line.failed); }, true);
  resend->add_option("id", line.failed.ids, "Ids of failed deliveries");
  resend->add_flag("--dry-run", line.failed.dry_run, "Only tell how many and which");
  resend->add_option("--rate", line.failed.rate, "How many a second, in place of dead.replay_rate")
      ->check(CLI::Range(std::size_t{1}, kMaxResendRate));
  resend->add_flag("--include-rejected", line.failed.include_rejected, "Also what its destination has rejected");
  resend->add_flag("--include-maybe-sent", line.failed.include_maybe_sent, "Also one_shots that may have been sent");
  resend->add_option("--actor", line.failed.actor, "Who acts, for the audit (default: your user name)");
  for (CLI::App* sub : {list, resend}) {
    sub->add_option("--org", line.failed.org, "Their organisation")->capture_default_str();
    sub->add_option("--reference", line.failed.reference, "Only of this submission");
    sub->add_option("--target", line.failed.target, "Only of this target, of sender:TYPE, or of channel:ID");
    sub->add_option("--kind", line.failed.kind, "Only of this kind")
        ->check(CLI::IsMember({"intent", "form", "pipeline", "notification"}));
    sub->add_option("--form", line.failed.form, "Only of this form");
    sub->add_option("--pipeline", line.failed.pipeline, "Only of this pipeline");
    sub->add_option("--channel", line.failed.channel, "Only of this channel");
    sub->add_option("--reason", line.failed.reason, "Only those that ended for this reason");
    sub->add_option("--status", line.failed.status, "Only those that ended so")->check(CLI::IsMember({"rejected", "exhausted"}));
    sub->add_option("--since", line.failed.since, "Only those that ended at this time or later (RFC 3339)");
    sub->add_option("--until", line.failed.until, "Only those that ended before this time");
  }
}

void add_dead_commands(CommandLine& line) {
  CLI::App* group = line.group("dead", "Dead letters: deliveries that ended without their receiver having taken them");
  const auto add = [&](const char* name, const char* what, int (*run)(const GlobalOptions&, const DeadOptions&)) {
    CLI::App* sub = line.command(
        group, name, what, [&line, run] { return run(line.options, line.dead); }, true);
    sub->add_option("--org", line.dead.org, "Their organisation")->capture_default_str();
    return sub;
  };
  const auto add_filters = [&](CLI::App* sub) {
    sub->add_option("id,--id", line.dead.ids, "Numbers of dead letters");
    sub->add_option("--reference", line.dead.reference, "Only of this submission");
    sub->add_option("--form", line.dead.form, "Only of this form, or of this target");
    sub->add_option("--reason", line.dead.reason, "Only those that ended for this reason");
    sub->add_option("--before", line.dead.before, "Only those that died before this time (RFC 3339)");
    sub->add_option("--after", line.dead.after, "Only those that died at this time or later");
  };
  const auto add_actor = [&](CLI::App* sub) {
    sub->add_option("--actor", line.dead.actor, "Who acts, for the audit (default: your user name)");
  };
  const auto add_id = [&](CLI::App* sub) { sub->add_option("id", line.dead.id, "Number of the dead letter")->required(); };
  CLI::App* list = add("list", "List them, the newest first", list_dead);
  add_filters(list);
  list->add_flag("--replayed", line.dead.replayed, "Also those that were replayed");
  list->add_option("--limit", line.dead.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
  add_id(add("show", "Show one with what it holds, its attempts and its edits", show_dead));
  CLI::App* edit = add("edit", "Change what will be sent, or where to; before and after are kept", edit_dead);
  add_id(edit);
  edit->add_option("--fields", line.dead.fields, "File with the new fields, a JSON object; - for standard input")
      ->type_name("FILE");
  edit->add_option("--destination", line.dead.destination, "The action's new destination");
  add_actor(edit);
  CLI::App* replay = add("replay", "Send them again, no faster than dead.replay_rate", replay_dead);
  add_filters(replay);
  replay->add_flag("--dry-run", line.dead.dry_run, "Only tell how many and which");
  replay->add_flag("--all", line.dead.all, "Every dead letter of the organisation");
  add_actor(replay);
  CLI::App* clone = add("clone", "Hand its submission in anew, under another reference", clone_dead);
  add_id(clone);
  clone->add_option("reference", line.dead.new_reference, "The new reference")->required();
  add_actor(clone);
}

void add_target_commands(CommandLine& line) {
  CLI::App* group = line.group("target", "Targets of this installation: stop sending to one, and resume it");
  CLI::App* pause = line.command(
      group, "pause", "Stop sending to a target until it is resumed; deadlines run on",
      [&] { return pause_target(line.options, line.target); }, true);
  pause->add_option("--reason", line.target.reason, "Why, for `waybill explain`, `waybill doctor` and the audit")->required();
  CLI::App* resume = line.command(
      group, "resume", "End a target's pause and its outage: what waits for it goes out again",
      [&] { return resume_target(line.options, line.target); }, true);
  for (CLI::App* sub : {pause, resume}) {
    sub->add_option("target", line.target.target,
                    "The target's name, sender:TYPE for the sender of forms, or channel:ID for a channel")
        ->required();
    sub->add_option("--org", line.target.org, "Its organisation")->capture_default_str();
    sub->add_option("--actor", line.target.actor, "Who acts, for the audit (default: your user name)");
  }
  line.command(
          group, "list", "List targets that are paused or in an outage, and how much waits for each",
          [&] { return list_stopped_targets(line.options, line.target); }, true)
      ->add_option("--limit", line.target.limit, "How many at most")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
}

}  // namespace waybill
