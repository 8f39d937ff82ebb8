// The notes on every command. The tests parse each example, and hold this table against the grammar and
// docs/operations/commands.md.
#include "cli/command_notes.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr std::string_view kFailed = "it failed; the message says why";
constexpr std::string_view kSomeRefused = "some were refused, or it failed";

constexpr CommandNotes kNotes[] = {
    {"serve", Needs::database, "it did not start, or had to stop; the log says why", "",
     "waybill serve\n"
     "waybill serve --config /etc/waybill/waybill.yaml"},
    {"check", Needs::configuration, "a problem was found; warnings alone are none", "",
     "waybill check\n"
     "waybill check --online  # also asks the database, relays and destinations"},
    {"doctor", Needs::configuration, "there is a problem, or the configuration cannot be read",
     "there are warnings, and no problem",
     "waybill doctor\n"
     "waybill doctor --verbose --json  # also what is fine\n"
     "waybill doctor --watch 60  # what changes, as it changes",
     "no problem and no warning, but something could not be asked"},
    {"migrate", Needs::database, kFailed, "with --plan: hosts stand in the way, which it names",
     "waybill migrate --plan  # what it would do\n"
     "waybill migrate\n"
     "waybill migrate --config /etc/waybill/waybill.yaml"},
    {"restore-fence", Needs::database, "hosts run, a submission is newer than the moment, or it failed; run it again, it goes on",
     "",
     "waybill restore-fence --since 2026-11-23T09:30:00Z --dry-run\n"
     "waybill restore-fence --since 2026-11-23T09:30:00Z"},
    {"roles", Needs::database, kFailed, "",
     "waybill roles\n"
     "waybill roles --app waybill_app --reader waybill_reader --tenant waybill_tenant"},
    {"keys rewrap", Needs::database, "it failed; what is done is done, run it again for the rest", "", "waybill keys rewrap"},
    {"keys give-up", Needs::database, kFailed, "",
     "waybill keys give-up  # lists what is lost, changes nothing\n"
     "waybill keys give-up --master 5f1c09a7b3d2e846"},
    {"reload", Needs::host, "a host did not take it up, or a file cannot be used", "", "waybill reload"},
    {"hosts list", Needs::database, kFailed, "", "waybill hosts list"},
    {"hosts drain", Needs::database, "there is no such host, it is drained already, or it failed", "",
     "waybill hosts drain mail-1 --reason \"new kernel\""},
    {"hosts resume", Needs::database, "there is no such host, it is not drained, or it failed", "",
     "waybill hosts resume mail-1"},
    {"registry log", Needs::database, kFailed, "", "waybill registry log"},
    {"registry show", Needs::database, "there is no such version or file, or it failed", "",
     "waybill registry show\n"
     "waybill registry show 3 --file targets.json"},
    {"registry diff", Needs::database, "there is no such version, or it failed", "",
     "waybill registry diff 3  # from version 3 to the one in force\n"
     "waybill registry diff 3 4"},
    {"registry rollback", Needs::database, "it was refused, or it failed", "",
     "waybill registry rollback 3 --dry-run\n"
     "waybill registry rollback 3"},
    {"explain", Needs::database, "there is no such submission, or it failed", "",
     "waybill explain order-4711\n"
     "waybill explain contact-1 --json\n"
     "waybill explain d_0123456789abcdef0123456789abcdef --org acme  # a delivery to a channel"},
    {"proof", Needs::database, "there is no such submission, or it failed", "",
     "waybill proof order-4711 --json\n"
     "waybill proof contact-1 --kind form"},
    {"queue", Needs::database, kFailed, "",
     "waybill queue\n"
     "waybill queue --target sms.realtime --json"},
    {"waiting list", Needs::database, kFailed, "", "waybill waiting list --target sms.realtime --older-than 1h"},
    {"waiting end", Needs::database, kSomeRefused, "",
     "waybill waiting end --target sms.realtime --older-than 2h --reason \"codes that are no use any more\" --dry-run\n"
     "waybill waiting end --target sms.realtime --older-than 2h --reason \"codes that are no use any more\""},
    {"waiting reroute", Needs::database, kSomeRefused, "",
     "waybill waiting reroute --target sms.realtime --to sms.backup --dry-run  # how many, and which stay\n"
     "waybill waiting reroute --target sms.realtime --to sms.backup"},
    {"waiting rate", Needs::database, "there is no such target, or it failed", "",
     "waybill waiting rate --target sms.realtime --per-second 5 --for 2h\n"
     "waybill waiting rate --target sms.realtime --clear\n"
     "waybill waiting rate  # lists the rates in force"},
    {"failed list", Needs::database, kFailed, "",
     "waybill failed list --target sms.realtime --since 2026-11-01T10:00:00Z --until 2026-11-01T11:00:00Z\n"
     "waybill failed list --kind intent --status rejected"},
    {"failed resend", Needs::database, kSomeRefused, "",
     "waybill failed resend --target sms.realtime --since 2026-11-01T10:00:00Z --dry-run  # how many, and which\n"
     "waybill failed resend --target sms.realtime --since 2026-11-01T10:00:00Z --rate 5"},
    {"dead list", Needs::database, kFailed, "",
     "waybill dead list\n"
     "waybill dead list --form contact --reason smtp_550 --after 2026-11-01T00:00:00Z"},
    {"dead show", Needs::database, "there is no such dead letter, or it failed", "", "waybill dead show 4711"},
    {"dead edit", Needs::database, "it was refused, or it failed", "",
     "waybill dead edit 4711 --destination team@example.org\n"
     "waybill dead edit 4711 --fields fields.json --actor ada"},
    {"dead replay", Needs::database, kSomeRefused, "",
     "waybill dead replay 4711\n"
     "waybill dead replay --reason worker_lost --dry-run  # how many, and which"},
    {"dead clone", Needs::database, "it was refused, or it failed", "", "waybill dead clone 4711 contact-1-again"},
    {"drain", Needs::database, "it failed; run again, it goes on where it stopped",
     "all that could be taken over was, and some jobs are left",
     "waybill drain --from-pgboss pgboss --dry-run\n"
     "waybill drain --from-pgboss pgboss --map verify=verification --map sms=sms.realtime"},
    {"archive list", Needs::database, kFailed, "", "waybill archive list --pipeline verification --state REJECTED"},
    {"archive show", Needs::database, "there is no such submission, or it failed", "", "waybill archive show submission-17"},
    {"failures check", Needs::database, "a list could not be read, or it failed", "",
     "waybill failures check\n"
     "waybill failures check notify.send"},
    {"failures list", Needs::database, kFailed, "",
     "waybill failures list\n"
     "waybill failures list --digest 17"},
    {"plugin list", Needs::configuration, "a file is refused, or it failed", "", "waybill plugin list"},
    {"plugin switch-on", Needs::configuration, "it is not switched off here, or it failed", "", "waybill plugin switch-on sms"},
    {"plugin new", Needs::nothing, kFailed, "",
     "waybill plugin new pager\n"
     "waybill plugin new pager --language python --dir plugins"},
    {"plugin check", Needs::nothing, "a rule is broken, or it failed", "",
     "waybill plugin check build/plugins/pager.so --samples check.json\n"
     "waybill plugin check --list  # the rules"},
    {"provider probe", Needs::configuration, "it cannot be reached, or it failed", "", "waybill provider probe orders.webhook"},
    {"provider status", Needs::database, "it did not arrive, or nobody could say", "", "waybill provider status order-4711"},
    {"provider failures", Needs::configuration, "the list is not complete, or it failed", "",
     "waybill provider failures notify.send --since 24h"},
    {"target pause", Needs::database, "there is no such target, it is paused already, or it failed", "",
     "waybill target pause sms.realtime --reason \"the gateway sends everything twice\""},
    {"target resume", Needs::database, "it is neither paused nor in an outage, or it failed", "",
     "waybill target resume sms.realtime\n"
     "waybill target resume sender:email_template  # the sender of forms"},
    {"target list", Needs::database, kFailed, "", "waybill target list"},
    {"pipeline list", Needs::configuration, kFailed, "", "waybill pipeline list"},
    {"pipeline rerun", Needs::database, kSomeRefused, "",
     "waybill pipeline rerun submission-17\n"
     "waybill pipeline rerun --pipeline verification --from TIER1_SCANNING --all --dry-run"},
    {"pipeline skip", Needs::database, kSomeRefused, "", "waybill pipeline skip submission-17 --result result.json"},
    {"pipeline end", Needs::database, kSomeRefused, "",
     "waybill pipeline end submission-17 --state REJECTED --comment \"asked for by mail\""},
    {"pipeline show", Needs::configuration, kFailed, "", "waybill pipeline show verification"},
    {"org list", Needs::database, kFailed, "", "waybill org list"},
    {"org create", Needs::database, "it is there already, or it failed", "", "waybill org create acme"},
    {"org show", Needs::database, "there is none of this name, or it failed", "", "waybill org show acme"},
    {"org weight", Needs::database, "there is none of this name, or it failed", "", "waybill org weight acme 3"},
    {"org disable", Needs::database, "there is none of this name, or it failed", "", "waybill org disable acme"},
    {"org enable", Needs::database, "there is none of this name, or it failed", "", "waybill org enable acme"},
    {"org export", Needs::database, "there is none of this name, or it failed: then the file has no last line with \"sha256\"",
     "", "waybill org export acme > acme.jsonl"},
    {"org verify", Needs::nothing, "it is not whole, or was changed, or it failed; the message names the line", "",
     "waybill org verify acme.jsonl"},
    {"org import", Needs::database,
     "the file is not whole, or cannot be had here, or it failed; nothing of it is imported then, and the message says why", "",
     "waybill org import acme.jsonl --dry-run\n"
     "waybill org import acme.jsonl --as acme-2"},
    {"org erase", Needs::database, "it is not disabled, or not for long enough, or it failed; run it again, it goes on", "",
     "waybill org erase acme --confirm acme --certificate acme-erased.json"},
    {"form preview", Needs::configuration, "it would be refused or fail, or the command failed", "",
     "echo '{\"name\":\"Ada\",\"email\":\"ada@example.net\",\"message\":\"Hello\"}' | waybill form preview contact --fields -"},
    {"form simulate", Needs::configuration, "it would be refused or fail, or the command failed", "",
     "waybill form simulate contact --fields fields.json --attachments attachments.json"},
    {"token create", Needs::database, "the name is taken, or it failed", "",
     "waybill token create shop\n"
     "waybill token create shop --target sms.realtime --path /v1/intents --expires 90d\n"
     "waybill token create oncall --role operator"},
    {"token list", Needs::database, kFailed, "",
     "waybill token list\n"
     "waybill token list --all-orgs --revoked --json"},
    {"token revoke", Needs::database, "there is no such live token, or it failed", "", "waybill token revoke shop"},
    {"completion", Needs::nothing, kFailed, "",
     "waybill completion bash > ~/.local/share/bash-completion/completions/waybill\n"
     "waybill completion zsh > ~/.zfunc/_waybill  # in a folder that fpath names\n"
     "waybill completion fish > ~/.config/fish/completions/waybill.fish"},
    {"manual", Needs::nothing, kFailed, "",
     "waybill manual /usr/local/share/man\n"
     "waybill manual ./man && man -M ./man waybill"},
};

constexpr CommandHeading kHeadings[] = {
    {"Run it", " serve check doctor migrate restore-fence reload hosts registry roles keys "},
    {"See and mend what is under way",
     " explain proof queue waiting failed dead target failures provider pipeline archive drain "},
    {"Set it up", " org token form plugin "},
    {"This command line", " completion manual "},
};

}  // namespace

std::span<const CommandNotes> command_notes() { return kNotes; }

const CommandNotes* notes_of(std::string_view command) {
  const auto* const found =
      std::find_if(std::begin(kNotes), std::end(kNotes), [&](const CommandNotes& one) { return one.command == command; });
  return found == std::end(kNotes) ? nullptr : found;
}

std::span<const CommandHeading> command_headings() { return kHeadings; }

std::string_view words_of(Needs needs) {
  switch (needs) {
    case Needs::nothing:
      return "nothing";
    case Needs::configuration:
      return "a configuration";
    case Needs::database:
      return "a configuration and its database";
    case Needs::host:
      break;
  }
  return "a configuration, its database and a running host";
}

std::string examples_of(std::string_view group) {
  std::string text;
  for (const auto& notes : kNotes) {
    const bool is_of_it = group.empty() ? notes.command.find(' ') == std::string_view::npos
                                        : notes.command.starts_with(group) && notes.command.substr(group.size()).starts_with(' ');
    if (is_of_it) text.append(text.empty() ? "" : "\n").append(notes.examples.substr(0, notes.examples.find('\n')));
  }
  return text;
}

namespace {

std::string listed(std::string_view examples) {
  std::string text = "Examples:";
  for (std::size_t at = 0; at < examples.size();) {
    const auto end = std::min(examples.find('\n', at), examples.size());
    text.append("\n  ").append(examples.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string group_footer(std::string_view group) { return listed(examples_of(group)); }

std::string help_footer(const CommandNotes& notes) {
  std::string text = listed(notes.examples);
  text.append("\n\nExit codes:\n  0  ").append(kExitZero).append("\n  1  ").append(notes.one);
  text.append("\n  2  ").append(kExitTwo);
  if (!notes.three.empty()) text.append("\n  3  ").append(notes.three);
  if (!notes.four.empty()) text.append("\n  4  ").append(notes.four);
  return text.append("\n\nNeeds ").append(words_of(notes.needs)).append(notes.needs == Needs::nothing ? "." : " (-c, --config).");
}

}  // namespace waybill
