// The grammar of the commands on hosts and on what they run by.
#include "cli/grammar.h"

namespace waybill {

void add_hosts_commands(CommandLine& line) {
  CLI::App* group = line.group("hosts", "Hosts of this installation: how they are, and keeping one from claiming");
  line.command(
      group, "list", "List them with version, plugins, what is switched off, what is under way, last success and drain",
      [&] { return list_hosts(line.options); }, true);
  CLI::App* drain = line.command(
      group, "drain", "Let a host claim nothing and finish what it has; kept over its restarts",
      [&] { return drain_host(line.options, line.host); }, true);
  drain->add_option("--reason", line.host.reason, "Why, for `waybill hosts list`, `waybill explain` and the audit")->required();
  CLI::App* resume = line.command(
      group, "resume", "End a host's drain: it claims again", [&] { return resume_host(line.options, line.host); }, true);
  for (CLI::App* sub : {drain, resume}) {
    sub->add_option("host", line.host.host, "Its name as `waybill hosts list` shows it, or MACHINE:PID")->required();
    sub->add_option("--actor", line.host.actor, "Who acts, for the audit (default: your user name)");
  }
}

void add_registry_commands(CommandLine& line) {
  CLI::App* group = line.group("registry", "The registry's history: what was in force, by whom, what differs, and back to it");
  const auto version = [&](CLI::App* sub, const char* name, int& into, const char* what) {
    return sub->add_option(name, into, what)->check(CLI::Range(1, 2'000'000'000));
  };
  line.command(
          group, "log", "List which version came into force when, and by whom, the newest first",
          [&] { return log_registry(line.options, line.registry); }, true)
      ->add_option("--limit", line.registry.limit, "How many at most")
      ->check(CLI::Range(1, 500))
      ->capture_default_str();
  CLI::App* show = line.command(
      group, "show", "Show the files of a version", [&] { return show_registry(line.options, line.registry); }, true);
  version(show, "version", line.registry.version, "Its number (default: the one in force)");
  show->add_option("--file", line.registry.file, "Print only the text of this path below the registry, such as targets.json");
  CLI::App* diff = line.command(
      group, "diff", "Show what differs between two versions, by target and field",
      [&] { return diff_registry(line.options, line.registry); }, true);
  version(diff, "from", line.registry.version, "The number of one")->required();
  version(diff, "to", line.registry.other, "The number of the other (default: the one in force)");
  CLI::App* rollback = line.command(
      group, "rollback", "Put the files of a version in the place of the registry folder; a reload puts them in force",
      [&] { return roll_registry_back(line.options, line.registry); }, true);
  version(rollback, "version", line.registry.version, "Its number")->required();
  rollback->add_flag("--dry-run", line.registry.dry_run, "Only check it, and show what would change");
  rollback->add_flag("--force", line.registry.force, "Also if the files were edited since they came into force");
}

}  // namespace waybill
