// The grammar of every subcommand.
#include "cli/grammar.h"

#include "app/quarantine.h"
#include "base/version.h"
#include "cli/command_notes.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/new_plugin.h"
#include "cli/orgs.h"
#include "cli/pipelines.h"

namespace waybill {
namespace {

void add_host_commands(CommandLine& line) {
  line.command(&line.app, "serve", "Run the daemon", [&] { return serve(line.options); });
  CLI::App* alone = line.command(&line.app, "quarantine", "Try suspects; hosts start it",
                                 [&] { return quarantine(line.options, line.parent); });
  alone->add_option("--parent", line.parent, "The process that it ends with");
  alone->group("");  // not for people
  line.command(
          &line.app, "check", "Check configuration, plugins and registry; names file, line and field",
          [&] { return check(line.options, line.online); }, true)
      ->add_flag("--online", line.online, "Also ask the database, relays and destinations, without sending anything");
  line.command(
          &line.app, "migrate", "Bring the database's schema up to this program's version",
          [&] { return migrate_database(line.options, line.plan); }, true)
      ->add_flag("--plan", line.plan, "Only tell what it would do: steps, locks, how long, and which hosts stand in the way");
}

void add_doctor_command(CommandLine& line) {
  CLI::App* doctor = line.command(
      &line.app, "doctor",
      "Tell how the running installation is: database, disk, hosts, plugins, secrets, what waits; exit code for monitoring",
      [&] { return examine(line.options, line.doctor); }, true);
  doctor->add_flag("--verbose", line.doctor.verbose, "Also what is fine");
  doctor->add_option("--watch", line.doctor.watch, "Look again every so many seconds, and tell what changed")
      ->expected(0, 1)
      ->default_str("10")
      ->check(CLI::Range(1, 86'400));
}

void add_restore_command(CommandLine& line) {
  CLI::App* fence = line.command(
      &line.app, "restore-fence",
      "After a restore, before hosts start: end what may have been sent since and must not be sent twice",
      [&] { return fence_restore(line.options, line.restore); }, true);
  fence->add_option("--since", line.restore.since, "The moment to which the database was restored (RFC 3339)")->required();
  fence->add_flag("--dry-run", line.restore.dry_run, "Only tell how many, and of which targets");
  fence->add_flag("--force", line.restore.force, "Also while hosts run, or after they have run since the restore");
  fence->add_option("--actor", line.restore.actor, "Who acts, for the audit (default: your user name)");
}

void add_roles_command(CommandLine& line) {
  CLI::App* roles = line.command(
      &line.app, "roles",
      "Set up the database's roles: for the host, for what it does for one organisation, and for reading; run as the tables' "
      "owner",
      [&] { return give_roles(line.options, line.application, line.reader, line.tenant); }, true);
  roles->add_option("--app", line.application, "The host's role (default: as set up before, else waybill_app)");
  roles->add_option("--reader", line.reader, "The role that only reads (default: as set up before, else waybill_reader)");
  roles->add_option("--tenant", line.tenant,
                    "As whom the host works for one organisation (default: as set up before, else waybill_tenant)");
}

void add_key_commands(CommandLine& line) {
  CLI::App* keys = line.group("keys", "The keys that channels' secrets are sealed with");
  line.command(
      keys, "rewrap", "Seal all data keys with the newest master key; hosts may run meanwhile, and it may be run again",
      [&] { return rewrap_keys(line.options); }, true);
  line.command(
          keys, "give-up",
          "List the master keys that are in use and not there; with --master, give up the channels' secrets that one sealed",
          [&] { return give_up_keys(line.options, line.master); }, true)
      ->add_option("--master", line.master, "The lost master key's name, as the list shows it");
}

void add_reload_command(CommandLine& line) {
  line.command(
      &line.app, "reload", "Check registry and plugins, then make the running hosts of this machine take them up",
      [&] { return reload(line.options); }, true);
}

void add_explain_command(CommandLine& line) {
  CLI::App* explanation = line.command(
      &line.app, "explain", "Tell why an intent, a form's submission or a delivery to a channel is where it is",
      [&] { return explain(line.options, line.org, line.id); }, true);
  explanation->add_option("id", line.id, "The intentId, the submissionId, or the number of a delivery to a channel")->required();
  explanation->add_option("--org", line.org, "Its organisation")->capture_default_str();
}

void add_drain_command(CommandLine& line) {
  CLI::App* draining = line.command(
      &line.app, "drain", "Take over the jobs of pg-boss that were never started; may be run again",
      [&] { return drain_pgboss(line.options, line.drain); }, true);
  draining->add_option("--from-pgboss", line.drain.schema, "The schema of pg-boss")->required();
  draining->add_option("--from-url", line.drain.from, "Its database, if it is another one than database.url");
  draining->add_option("--map", line.drain.maps,
                       "QUEUE=TARGET: what becomes of the jobs of a queue (default: the target of the same name)");
  draining->add_option("--org", line.drain.org, "The organisation that they are handed in for")->capture_default_str();
  draining->add_option("--batch", line.drain.batch, "Jobs in one transaction")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  draining->add_flag("--dry-run", line.drain.dry_run, "Only tell what is there, and what would become of it");
}

void add_archive_commands(CommandLine& line) {
  CLI::App* group = line.group("archive", "Pipelines' submissions that ended, or failed and were left, long ago");
  CLI::App* list = line.command(
      group, "list", "List them, the newest first", [&] { return list_archive(line.options, line.archive); }, true);
  list->add_option("--pipeline", line.archive.pipeline, "Only of this pipeline");
  list->add_option("--state", line.archive.state, "Only in this state");
  list->add_option("--reference", line.archive.reference, "Only with this reference");
  list->add_option("--limit", line.archive.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
  CLI::App* show = line.command(
      group, "show", "Show one with its payload, deliveries, answers and audit, as JSON",
      [&] { return show_archived(line.options, line.archive); }, true);
  show->add_option("id", line.archive.submission, "The submissionId")->required();
  for (CLI::App* sub : {list, show}) sub->add_option("--org", line.archive.org, "Their organisation")->capture_default_str();
}

void add_failure_commands(CommandLine& line) {
  CLI::App* group = line.group("failures", "Messages that providers accepted and then did not deliver");
  CLI::App* check = line.command(
      group, "check", "Read the providers' lists now, store a digest, raise an alert if there is something new",
      [&] { return check_failures(line.options, line.failures); }, true);
  check->add_option("target", line.failures.targets, "Only these targets (default: failure_check.targets)");
  check->add_flag("--due", line.failures.is_due, "Only what the schedule asks for")->group("");  // for hosts
  check->add_option("--parent", line.failures.parent, "The process that it ends with")->group("");
  CLI::App* list = line.command(
      group, "list", "List the digests, or the failures of one", [&] { return list_digests(line.options, line.failures); }, true);
  list->add_option("--org", line.failures.org, "Whose")->capture_default_str();
  list->add_option("--digest", line.failures.digest, "The number of one digest: list its failures");
  list->add_option("--limit", line.failures.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
}

void add_plugin_commands(CommandLine& line) {
  CLI::App* plugin = line.group("plugin", "Plugins of this installation");
  line.command(
      plugin, "list", "List what is loaded, and what is refused and why", [&] { return list_plugins(line.options); }, true);
  CLI::App* switched = line.command(
      plugin, "switch-on", "Let an action type run again that was switched off on this machine after hosts died in it",
      [&] { return switch_on(line.options, line.name); }, true);
  switched->add_option("type", line.name, "The action type")->required();
  CLI::App* scaffold = line.command(
      plugin, "new", "Write a small, whole plugin to begin with",
      [&] {
        return new_plugin(line.options, line.name, line.folder,
                          line.language == "c"            ? PluginLanguage::c
                          : line.language == "blocking"   ? PluginLanguage::blocking
                          : line.language == "python"     ? PluginLanguage::python
                          : line.language == "typescript" ? PluginLanguage::typescript
                                                          : PluginLanguage::cpp);
      },
      true);
  scaffold
      ->add_option("--language", line.language,
                   "blocking: C++ with a client library that waits; python, typescript: an executable, which has a process")
      ->check(CLI::IsMember({"c++", "c", "blocking", "python", "typescript"}))
      ->capture_default_str();
  scaffold->add_option("name", line.name, "Its action type: [a-z][a-z0-9_]*")->required();
  scaffold->add_option("--dir", line.folder, "Where its folder goes")->type_name("FOLDER")->capture_default_str();

  CLI::App* conformance = line.command(
      plugin, "check", "Check whether a plugin keeps the rules of waybill/plugin.h; each check runs in a process of its own",
      [&] {
        line.checked.json = line.options.json;
        return check_plugin_file(line.checked);
      },
      true);
  conformance->add_option("file", line.checked.file, "The plugin: a .so file, or a folder NAME.plugin")->type_name("FILE");
  conformance
      ->add_option("--samples", line.checked.samples, "JSON file with settings, destination and payload that the plugin accepts")
      ->type_name("FILE");
  conformance->add_option("--only", line.checked.only, "Only the check of this name; may be given several times");
  conformance->add_option("--time-limit", line.checked.time_limit, "Seconds that each check may take")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  conformance->add_flag("--list", line.checked.list, "List the checks and their rules");
}

void add_provider_commands(CommandLine& line) {
  CLI::App* provider = line.group("provider", "Questions to a destination, asked through its plugin");
  CLI::App* probe = line.command(
      provider, "probe", "Ask whether a target can be reached; sends nothing that counts",
      [&] { return probe_target(line.options, line.name); }, true);
  probe->add_option("target", line.name, "The target's name")->required();
  CLI::App* status = line.command(
      provider, "status", "Ask what became of an intent after it was accepted",
      [&] { return ask_status(line.options, line.org, line.id); }, true);
  status->add_option("id", line.id, "The intentId")->required();
  status->add_option("--org", line.org, "Its organisation")->capture_default_str();
  CLI::App* failures = line.command(
      provider, "failures", "List what a target's receiver accepted and then failed to deliver",
      [&] { return list_failures(line.options, line.name, line.since); }, true);
  failures->add_option("target", line.name, "The target's name")->required();
  failures->add_option("--since", line.since, "How far back, as in 24h")->capture_default_str();
}

void add_repair_commands(CommandLine& line, CLI::App* group) {
  using Kind = PipelineRepair::Kind;
  const auto add = [&](Kind kind, const char* name, const char* what) {
    CLI::App* sub = line.command(
        group, name, what, [&line, kind] { return repair_pipelines(line.options, line.repair, kind); }, true);
    sub->add_option("id", line.repair.ids, "Ids of submissions");
    sub->add_option("--pipeline", line.repair.pipeline, "Instead of ids: the blocked ones of this pipeline, with a filter");
    sub->add_option("--from", line.repair.from, "Only those that are in this state");
    sub->add_option("--reference", line.repair.reference, "Only those of this reference");
    sub->add_option("--reason", line.repair.reason, "Only those whose action failed for this reason");
    sub->add_flag("--all", line.repair.all, "Every blocked submission of the pipeline");
    sub->add_option("--org", line.repair.org, "Their organisation")->capture_default_str();
    sub->add_option("--comment", line.repair.comment, "For the audit");
    sub->add_option("--actor", line.repair.actor, "Who acts, for the audit (default: your user name)");
    sub->add_flag("--dry-run", line.repair.dry_run, "Only tell which, and where they would go");
    return sub;
  };
  CLI::App* rerun = add(Kind::rerun, "rerun", "Run blocked submissions again, from a state on");
  rerun->add_option("--state", line.repair.state, "From which state on (default: the one where they are)");
  rerun->add_option("--input", line.repair.input, "File with the JSON that the state's action is sent; - for standard input")
      ->type_name("FILE");
  rerun->add_option("--action", line.repair.action, "Which action gets the input, where the state runs several");
  CLI::App* skip = add(Kind::skip, "skip", "Take the failed actions of blocked submissions as done");
  skip->add_option("--result", line.repair.result, "File with the result that they are to have, JSON; - for standard input")
      ->type_name("FILE");
  CLI::App* end = add(Kind::end, "end", "End blocked submissions without sending anything more");
  end->add_option("--state", line.repair.state, "In which terminal state (default: the only one)");
}

void add_pipeline_commands(CommandLine& line) {
  CLI::App* pipelines = line.group("pipeline", "Pipelines of the registry, and Waybill's own");
  line.command(
      pipelines, "list", "List them", [&] { return list_pipelines(line.options); }, true);
  add_repair_commands(line, pipelines);
  CLI::App* diagram = line.command(
      pipelines, "show", "Print one's diagram (Mermaid)", [&] { return show_pipeline(line.options, line.name); }, true);
  diagram->add_option("name", line.name, "The pipeline's name")->required();
}

void add_org_commands(CommandLine& line) {
  CLI::App* orgs = line.group("org", "Organisations that share this installation");
  line.command(
      orgs, "list", "List them", [&] { return list_orgs(line.options); }, true);
  const auto add_org_command = [&](const char* what, const char* help, int (*run)(const GlobalOptions&, const std::string&)) {
    CLI::App* sub = line.command(
        orgs, what, help, [&line, run] { return run(line.options, line.name); }, true);
    sub->add_option("name", line.name, "Its name")->required();
  };
  add_org_command("create", "Make one; `waybill token create --org NAME` then makes its tokens", create_org);
  add_org_command("show", "Show one", show_org);
  CLI::App* weighing = line.command(
      orgs, "weight", "Give one more than its share where several want more than there is",
      [&] { return weigh_org(line.options, line.name, line.weight); }, true);
  weighing->add_option("name", line.name, "Its name")->required();
  weighing->add_option("weight", line.weight, "From 1, which all have at first, to 1000")->required();
  add_org_command("disable", "Refuse its tokens; what it has handed in is still delivered", disable_org);
  add_org_command("enable", "Accept the tokens of a disabled one again", enable_org);
  CLI::App* exporting =
      line.command(orgs, "export", "Print everything that one has in the database, but for its secrets, as JSON Lines",
                   [&] { return export_org(line.options, line.exported); });
  exporting->add_option("name", line.exported.org, "Its name")->required();
  exporting->add_option("--actor", line.exported.actor, "Who acts, for the export and the audit (default: your user name)");
  CLI::App* verification = line.command(
      orgs, "verify", "Tell whether a file of `waybill org export` is whole and unchanged",
      [&] { return verify_org_file(line.options, line.name); }, true);
  verification->add_option("file", line.name, "The file; - for standard input")->type_name("FILE")->required();
  CLI::App* importing = line.command(
      orgs, "import", "Make an organisation of a file of `waybill org export`",
      [&] { return import_org(line.options, line.imported); }, true);
  importing->add_option("file", line.imported.file, "The file; - for standard input")->type_name("FILE")->required();
  importing->add_option("--as", line.imported.name, "Another name than the one that it was exported under");
  importing->add_flag("--dry-run", line.imported.dry_run, "Only say what would come of it; all of it is tried, and undone");
  importing->add_option("--actor", line.imported.actor, "Who acts, for the audit (default: your user name)");
  CLI::App* erasure = line.command(
      orgs, "erase", "Delete a disabled one with everything that it has in the database, and certify what was deleted",
      [&] { return erase_org(line.options, line.erase); }, true);
  erasure->add_option("name", line.erase.org, "Its name")->required();
  erasure->add_option("--confirm", line.erase.confirmed, "Its name once more")->required();
  erasure->add_option("--certificate", line.erase.certificate, "A new file for the certificate")->type_name("FILE")->required();
  erasure->add_option("--actor", line.erase.actor, "Who acts, for the audit (default: your user name)");
}

void add_form_commands(CommandLine& line) {
  CLI::App* group = line.group("form", "Forms of the registry, tried without a host; nothing is sent");
  CLI::App* preview = line.command(
      group, "preview", "Print each action's message as it would be sent, and to whom",
      [&] { return preview_form(line.options, line.form); }, true);
  CLI::App* simulation = line.command(
      group, "simulate", "Run each action once, with a stand-in for relays and receivers, and print what it sent and its verdict",
      [&] { return simulate_form(line.options, line.form); }, true);
  for (CLI::App* sub : {preview, simulation}) {
    sub->add_option("form", line.form.form, "The form_id")->required();
    sub->add_option("--fields", line.form.fields, "JSON file with the fields of a submission; - for standard input")
        ->type_name("FILE")
        ->required();
    sub->add_option("--attachments", line.form.attachments, "JSON file with its attachments, as POST /v1/submissions takes them")
        ->type_name("FILE");
    sub->add_option("--reference", line.form.reference, "Its submissionId")->capture_default_str();
  }
}

void add_token_commands(CommandLine& line) {
  CLI::App* group = line.group("token", "API tokens");
  CLI::App* creation = line.command(
      group, "create", "Make a token and print it, this once", [&] { return create_token(line.options, line.token); }, true);
  creation->add_option("name,--name", line.token.name, "What it is for")->required();
  creation
      ->add_option("--role", line.token.role,
                   "What it may do; operator: look after the installation, for the organisation default")
      ->check(CLI::IsMember({"member", "admin", "owner", "operator"}))
      ->capture_default_str();
  creation->add_option("--expires", line.token.expires, "How long it is good, such as 90d (default: until it is revoked)");
  creation
      ->add_option("--certificate", line.token.certificate,
                   "Of a client, in PEM: it is shown instead of a secret (tls.client_ca in the configuration)")
      ->type_name("FILE");
  creation->add_option("--target", line.token.targets, "Only for intents of this target; may be given several times")
      ->allow_extra_args(false);
  creation->add_flag("--future-target", line.token.future_targets, "The registry need not have the targets of --target yet");
  creation
      ->add_option("--path", line.token.paths,
                   "Only for this path and those below it, such as /v1/intents; may be given several times")
      ->allow_extra_args(false);
  CLI::App* list = line.command(
      group, "list", "List those that are not revoked, with what they are for and when they were last used",
      [&] { return list_tokens(line.options, line.token); }, true);
  list->add_flag("--all-orgs", line.token.all_orgs, "Of every organisation");
  list->add_flag("--revoked", line.token.also_revoked, "Also those that are revoked");
  CLI::App* revocation = line.command(
      group, "revoke", "Revoke a token", [&] { return revoke_token(line.options, line.token); }, true);
  revocation->add_option("name", line.token.name, "The token's name");
  revocation->add_option("--id", line.token.id, "Its id, as `waybill token list` shows it, whatever its organisation");
  for (CLI::App* sub : {creation, list, revocation})
    sub->add_option("--org", line.token.org, "Its organisation")->capture_default_str();
}

void add_own_commands(CommandLine& line) {
  CLI::App* completion = line.command(&line.app, "completion", "Print a script that completes commands and options in a shell",
                                      [&] { return print_completion(line.tree(), line.shell); });
  completion->add_option("shell", line.shell, "The shell")->check(CLI::IsMember({"bash", "zsh", "fish"}))->required();
  CLI::App* manual = line.command(&line.app, "manual", "Write the manual pages, of each command and of waybill.yaml",
                                  [&] { return write_manual(line.tree(), built_version(), line.folder); });
  manual->add_option("folder", line.folder, "A folder of manual pages, such as share/man: man1 and man5 are made in it")
      ->type_name("FOLDER")
      ->required();
}

}  // namespace

CommandLine::CommandLine()
    : app("Waybill: hands submissions to their destinations and sees each one to a recorded end.", "waybill") {
  app.set_version_flag("--version", version_words());
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("-c,--config", options.config,
                 "Configuration file (default: $WAYBILL_CONFIG, else ./waybill.yaml, else /etc/waybill/waybill.yaml)")
      ->type_name("FILE");
  for (const auto add : {add_host_commands,     add_doctor_command,  add_restore_command,   add_roles_command,
                         add_key_commands,      add_reload_command,  add_hosts_commands,    add_registry_commands,
                         add_explain_command,   add_proof_command,   add_queue_command,     add_waiting_commands,
                         add_failed_commands,   add_dead_commands,   add_drain_command,     add_archive_commands,
                         add_failure_commands,  add_plugin_commands, add_provider_commands, add_target_commands,
                         add_pipeline_commands, add_org_commands,    add_form_commands,     add_token_commands,
                         add_own_commands})  // as `waybill --help` lists them
    add(*this);
  app.footer(group_footer(""));
}

CLI::App* CommandLine::group(const char* word, const char* what) {
  return app.add_subcommand(word, what)->require_subcommand(1)->fallthrough()->footer(group_footer(word));
}

CLI::App* CommandLine::command(CLI::App* under, const char* word, const char* what, std::function<int()> run, bool prints_data) {
  CLI::App* sub = under->add_subcommand(word, what);
  sub->fallthrough();
  if (prints_data) sub->add_flag("--json", options.json, "Print JSON");
  const auto parents = under == &app ? "" : under->get_name() + " ";
  if (const auto* notes = notes_of(parents + word)) sub->footer(help_footer(*notes));
  sub->callback([this, run = std::move(run)] { chosen = run; });
  return sub;
}

}  // namespace waybill
