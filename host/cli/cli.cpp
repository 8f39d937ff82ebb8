// The command line's grammar.
#include "cli/cli.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>

#include "app/quarantine.h"
#include "base/nearest.h"
#include "base/printing.h"
#include "cli/archive.h"
#include "cli/commands.h"
#include "cli/dead.h"
#include "cli/drain.h"
#include "cli/exit_watch.h"
#include "cli/failures.h"
#include "cli/forms.h"
#include "cli/new_plugin.h"
#include "cli/orgs.h"
#include "cli/pipelines.h"
#include "cli/repairs.h"
#include "cli/tokens.h"

#ifndef WAYBILL_VERSION
#error "the build gives WAYBILL_VERSION"
#endif

namespace waybill {
namespace {

using AddCommand = std::function<CLI::App*(CLI::App*, const char*, const char*, std::function<int()>, bool)>;

void add_repair_commands(CLI::App* group, const AddCommand& command, const GlobalOptions& options, RepairOptions& repair) {
  using Kind = PipelineRepair::Kind;
  const auto add = [&](Kind kind, const char* name, const char* what) {
    CLI::App* sub = command(
        group, name, what, [&options, &repair, kind] { return repair_pipelines(options, repair, kind); }, true);
    sub->add_option("id", repair.ids, "Ids of submissions");
    sub->add_option("--pipeline", repair.pipeline, "Instead of ids: the blocked ones of this pipeline, with a filter");
    sub->add_option("--from", repair.from, "Only those that are in this state");
    sub->add_option("--reference", repair.reference, "Only those of this reference");
    sub->add_option("--reason", repair.reason, "Only those whose action failed for this reason");
    sub->add_flag("--all", repair.all, "Every blocked submission of the pipeline");
    sub->add_option("--org", repair.org, "Their organisation")->capture_default_str();
    sub->add_option("--comment", repair.comment, "For the audit");
    sub->add_option("--actor", repair.actor, "Who acts, for the audit (default: your user name)");
    sub->add_flag("--dry-run", repair.dry_run, "Only tell which, and where they would go");
    return sub;
  };
  CLI::App* rerun = add(Kind::rerun, "rerun", "Run blocked submissions again, from a state on");
  rerun->add_option("--state", repair.state, "From which state on (default: the one where they are)");
  rerun->add_option("--input", repair.input, "File with the JSON that the state's action is sent; - for standard input");
  rerun->add_option("--action", repair.action, "Which action gets the input, where the state runs several");
  CLI::App* skip = add(Kind::skip, "skip", "Take the failed actions of blocked submissions as done");
  skip->add_option("--result", repair.result, "File with the result that they are to have, JSON; - for standard input");
  CLI::App* end = add(Kind::end, "end", "End blocked submissions without sending anything more");
  end->add_option("--state", repair.state, "In which terminal state (default: the only one)");
}

void add_dead_commands(CLI::App& app, const AddCommand& command, const GlobalOptions& options, DeadOptions& dead) {
  CLI::App* group = app.add_subcommand("dead", "Dead letters: deliveries that ended without their receiver having taken them")
                        ->require_subcommand(1)
                        ->fallthrough();
  const auto add = [&](const char* name, const char* what, int (*run)(const GlobalOptions&, const DeadOptions&)) {
    CLI::App* sub = command(
        group, name, what, [&options, &dead, run] { return run(options, dead); }, true);
    sub->add_option("--org", dead.org, "Their organisation")->capture_default_str();
    return sub;
  };
  const auto add_filters = [&](CLI::App* sub) {
    sub->add_option("id,--id", dead.ids, "Numbers of dead letters");
    sub->add_option("--reference", dead.reference, "Only of this submission");
    sub->add_option("--form", dead.form, "Only of this form, or of this target");
    sub->add_option("--reason", dead.reason, "Only those that ended for this reason");
    sub->add_option("--before", dead.before, "Only those that died before this time (RFC 3339)");
    sub->add_option("--after", dead.after, "Only those that died at this time or later");
  };
  const auto add_actor = [&](CLI::App* sub) {
    sub->add_option("--actor", dead.actor, "Who acts, for the audit (default: your user name)");
  };
  const auto add_id = [&](CLI::App* sub) { sub->add_option("id", dead.id, "Number of the dead letter")->required(); };
  CLI::App* list = add("list", "List them, the newest first", list_dead);
  add_filters(list);
  list->add_flag("--replayed", dead.replayed, "Also those that were replayed");
  list->add_option("--limit", dead.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
  add_id(add("show", "Show one with what it holds, its attempts and its edits", show_dead));
  CLI::App* edit = add("edit", "Change what will be sent, or where to; before and after are kept", edit_dead);
  add_id(edit);
  edit->add_option("--fields", dead.fields, "File with the new fields, a JSON object; - for standard input");
  edit->add_option("--destination", dead.destination, "The action's new destination");
  add_actor(edit);
  CLI::App* replay = add("replay", "Send them again, no faster than dead.replay_rate", replay_dead);
  add_filters(replay);
  replay->add_flag("--dry-run", dead.dry_run, "Only tell how many and which");
  replay->add_flag("--all", dead.all, "Every dead letter of the organisation");
  add_actor(replay);
  CLI::App* clone = add("clone", "Hand its submission in anew, under another reference", clone_dead);
  add_id(clone);
  clone->add_option("reference", dead.new_reference, "The new reference")->required();
  add_actor(clone);
}

void add_failure_commands(CLI::App& app, const AddCommand& command, const GlobalOptions& options, FailureOptions& failures) {
  CLI::App* group = app.add_subcommand("failures", "Messages that providers accepted and then did not deliver")
                        ->require_subcommand(1)
                        ->fallthrough();
  CLI::App* check = command(
      group, "check", "Read the providers' lists now, store a digest, raise an alert if there is something new",
      [&] { return check_failures(options, failures); }, true);
  check->add_option("target", failures.targets, "Only these targets (default: failure_check.targets)");
  check->add_flag("--due", failures.is_due, "Only what the schedule asks for")->group("");  // for hosts
  check->add_option("--parent", failures.parent, "The process that it ends with")->group("");
  CLI::App* list = command(
      group, "list", "List the digests, or the failures of one", [&] { return list_digests(options, failures); }, true);
  list->add_option("--org", failures.org, "Whose")->capture_default_str();
  list->add_option("--digest", failures.digest, "The number of one digest: list its failures");
  list->add_option("--limit", failures.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
}

void add_archive_commands(CLI::App& app, const AddCommand& command, const GlobalOptions& options, ArchiveOptions& archive) {
  CLI::App* group = app.add_subcommand("archive", "Pipelines' submissions that ended, or failed and were left, long ago")
                        ->require_subcommand(1)
                        ->fallthrough();
  CLI::App* list = command(
      group, "list", "List them, the newest first", [&] { return list_archive(options, archive); }, true);
  list->add_option("--pipeline", archive.pipeline, "Only of this pipeline");
  list->add_option("--state", archive.state, "Only in this state");
  list->add_option("--reference", archive.reference, "Only with this reference");
  list->add_option("--limit", archive.limit, "How many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
  CLI::App* show = command(
      group, "show", "Show one with its payload, deliveries, answers and audit, as JSON",
      [&] { return show_archived(options, archive); }, true);
  show->add_option("id", archive.submission, "The submissionId")->required();
  for (CLI::App* sub : {list, show}) sub->add_option("--org", archive.org, "Their organisation")->capture_default_str();
}

void add_form_commands(CLI::App& app, const AddCommand& command, const GlobalOptions& options, FormOptions& form) {
  CLI::App* group = app.add_subcommand("form", "Forms of the registry, tried without a host; nothing is sent")
                        ->require_subcommand(1)
                        ->fallthrough();
  CLI::App* preview = command(
      group, "preview", "Print each action's message as it would be sent, and to whom",
      [&] { return preview_form(options, form); }, true);
  CLI::App* simulation = command(
      group, "simulate", "Run each action once, with a stand-in for relays and receivers, and print what it sent and its verdict",
      [&] { return simulate_form(options, form); }, true);
  for (CLI::App* sub : {preview, simulation}) {
    sub->add_option("form", form.form, "The form_id")->required();
    sub->add_option("--fields", form.fields, "JSON file with the fields of a submission; - for standard input")->required();
    sub->add_option("--attachments", form.attachments, "JSON file with its attachments, as POST /v1/submissions takes them");
    sub->add_option("--reference", form.reference, "Its submissionId")->capture_default_str();
  }
}

void add_token_commands(CLI::App& app, const AddCommand& command, const GlobalOptions& options, TokenOptions& token) {
  CLI::App* group = app.add_subcommand("token", "API tokens")->require_subcommand(1)->fallthrough();
  CLI::App* creation = command(
      group, "create", "Make a token and print it, this once", [&] { return create_token(options, token); }, true);
  creation->add_option("name,--name", token.name, "What it is for")->required();
  creation
      ->add_option("--role", token.role, "What it may do; operator: look after the installation, for the organisation default")
      ->check(CLI::IsMember({"member", "admin", "owner", "operator"}))
      ->capture_default_str();
  creation->add_option("--expires", token.expires, "How long it is good, such as 90d (default: until it is revoked)");
  creation->add_option("--certificate", token.certificate,
                       "Of a client, in PEM: it is shown instead of a secret (tls.client_ca in the configuration)");
  creation->add_option("--target", token.targets, "Only for intents of this target; may be given several times")
      ->allow_extra_args(false);
  creation->add_flag("--future-target", token.future_targets, "The registry need not have the targets of --target yet");
  creation
      ->add_option("--path", token.paths,
                   "Only for this path and those below it, such as /v1/intents; may be given several times")
      ->allow_extra_args(false);
  CLI::App* list = command(
      group, "list", "List those that are not revoked, with what they are for and when they were last used",
      [&] { return list_tokens(options, token); }, true);
  list->add_flag("--all-orgs", token.all_orgs, "Of every organisation");
  list->add_flag("--revoked", token.also_revoked, "Also those that are revoked");
  CLI::App* revocation = command(
      group, "revoke", "Revoke a token", [&] { return revoke_token(options, token); }, false);
  revocation->add_option("name", token.name, "The token's name");
  revocation->add_option("--id", token.id, "Its id, as `waybill token list` shows it, whatever its organisation");
  for (CLI::App* sub : {creation, list, revocation})
    sub->add_option("--org", token.org, "Its organisation")->capture_default_str();
}

// The word that stands where a command should, if it is none; "" else. Only --config may stand before a command.
std::string unknown_command(CLI::App& app, int argc, char** argv, std::vector<std::string>& known) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-c" || word == "--config") ++i;
    if (word.starts_with('-')) continue;
    known.clear();
    const CLI::App* next = nullptr;
    for (const auto* sub : at->get_subcommands([](const CLI::App*) { return true; })) {
      if (sub->get_name() == word) next = sub;
      if (!sub->get_group().empty()) known.push_back(sub->get_name());
    }
    if (known.empty()) return {};  // a command's own word
    if (next == nullptr) return word;
    at = next;
  }
  return {};
}

int wrong_call(CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  std::vector<std::string> known;
  if (const auto word = code == 0 ? "" : unknown_command(app, argc, argv, known); !word.empty()) {
    print_error("waybill: there is no command \"%s\"%s `waybill --help` lists them\n", word.c_str(),
                (nearest(word, known).empty() ? ";" : did_you_mean(word, known)).c_str());
    return 2;
  }
  print_text("%s", out.str().c_str());
  print_error("%s", err.str().c_str());
  return code == 0 ? 0 : 2;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("Waybill: hands submissions to their destinations and sees each one to a recorded end.", "waybill");
  app.set_version_flag("--version", WAYBILL_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  GlobalOptions options;
  app.add_option("-c,--config", options.config, "Configuration file (default: $WAYBILL_CONFIG, else ./waybill.yaml)");

  std::function<int()> chosen;
  const auto command = [&](CLI::App* parent, const char* name, const char* what, std::function<int()> run,
                           bool prints_data = false) {
    CLI::App* sub = parent->add_subcommand(name, what);
    sub->fallthrough();
    if (prints_data) sub->add_flag("--json", options.json, "Print JSON");
    sub->callback([&chosen, run = std::move(run)] { chosen = run; });
    return sub;
  };
  std::string org = "default", name, weight, id, since = "24h", folder = ".";

  command(&app, "serve", "Run the daemon", [&] { return serve(options); });
  pid_t parent = 0;
  CLI::App* alone = command(&app, "quarantine", "Try suspects; hosts start it", [&] { return quarantine(options, parent); });
  alone->add_option("--parent", parent, "The process that it ends with");
  alone->group("");  // not for people
  bool online = false;
  command(
      &app, "check", "Check configuration, plugins and registry; names file, line and field",
      [&] { return check(options, online); }, true)
      ->add_flag("--online", online, "Also ask the database, relays and destinations, without sending anything");
  command(&app, "migrate", "Bring the database's schema up to this program's version", [&] { return migrate_database(options); });
  std::string application, reader, tenant;
  CLI::App* roles = command(
      &app, "roles",
      "Set up the database's roles: for the host, for what it does for one organisation, and for reading; run as the tables' "
      "owner",
      [&] { return give_roles(options, application, reader, tenant); }, true);
  roles->add_option("--app", application, "The host's role (default: as set up before, else waybill_app)");
  roles->add_option("--reader", reader, "The role that only reads (default: as set up before, else waybill_reader)");
  roles->add_option("--tenant", tenant,
                    "As whom the host works for one organisation (default: as set up before, else waybill_tenant)");
  CLI::App* keys =
      app.add_subcommand("keys", "The keys that channels' secrets are sealed with")->require_subcommand(1)->fallthrough();
  command(
      keys, "rewrap", "Seal all data keys with the newest master key; hosts may run meanwhile, and it may be run again",
      [&] { return rewrap_keys(options); }, true);
  std::string master;
  command(
      keys, "give-up",
      "List the master keys that are in use and not there; with --master, give up the channels' secrets that one sealed",
      [&] { return give_up_keys(options, master); }, true)
      ->add_option("--master", master, "The lost master key's name, as the list shows it");
  command(&app, "reload", "Check the registry, then make the running hosts of this machine take it up",
          [&] { return reload(options); });

  CLI::App* explanation = command(
      &app, "explain", "Tell why an intent, a form's submission or a delivery to a channel is where it is",
      [&] { return explain(options, org, id); }, true);
  explanation->add_option("id", id, "The intentId, the submissionId, or the number of a delivery to a channel")->required();
  explanation->add_option("--org", org, "Its organisation")->capture_default_str();

  DeadOptions dead;
  add_dead_commands(app, command, options, dead);
  DrainOptions drain;
  CLI::App* draining = command(
      &app, "drain", "Take over the jobs of pg-boss that were never started; may be run again",
      [&] { return drain_pgboss(options, drain); }, true);
  draining->add_option("--from-pgboss", drain.schema, "The schema of pg-boss")->required();
  draining->add_option("--from-url", drain.from, "Its database, if it is another one than database.url");
  draining->add_option("--map", drain.maps,
                       "QUEUE=TARGET: what becomes of the jobs of a queue (default: the target of the same name)");
  draining->add_option("--org", drain.org, "The organisation that they are handed in for")->capture_default_str();
  draining->add_option("--batch", drain.batch, "Jobs in one transaction")->check(CLI::Range(1, 10'000))->capture_default_str();
  draining->add_flag("--dry-run", drain.dry_run, "Only tell what is there, and what would become of it");
  ArchiveOptions archive;
  add_archive_commands(app, command, options, archive);
  FailureOptions failing;
  add_failure_commands(app, command, options, failing);

  CLI::App* plugin = app.add_subcommand("plugin", "Plugins of this installation")->require_subcommand(1)->fallthrough();
  command(
      plugin, "list", "List what is loaded, and what is refused and why", [&] { return list_plugins(options); }, true);
  CLI::App* switched =
      command(plugin, "switch-on", "Let an action type run again that was switched off on this machine after hosts died in it",
              [&] { return switch_on(options, name); });
  switched->add_option("type", name, "The action type")->required();
  std::string language = "c++";
  CLI::App* scaffold = command(plugin, "new", "Write a small, whole plugin to begin with", [&] {
    return new_plugin(name, folder,
                      language == "c"          ? PluginLanguage::c
                      : language == "blocking" ? PluginLanguage::blocking
                                               : PluginLanguage::cpp);
  });
  scaffold->add_option("--language", language, "blocking: C++ with a client library that waits")
      ->check(CLI::IsMember({"c++", "c", "blocking"}))
      ->capture_default_str();
  scaffold->add_option("name", name, "Its action type: [a-z][a-z0-9_]*")->required();
  scaffold->add_option("--dir", folder, "Where its folder goes")->capture_default_str();

  PluginCheckOptions checked;
  CLI::App* conformance = command(
      plugin, "check", "Check whether a plugin keeps the rules of waybill/plugin.h; each check runs in a process of its own",
      [&] {
        checked.json = options.json;
        return check_plugin_file(checked);
      },
      true);
  conformance->add_option("file", checked.file, "The plugin, a .so file");
  conformance->add_option("--samples", checked.samples,
                          "JSON file with settings, destination and payload that the plugin accepts");
  conformance->add_option("--only", checked.only, "Only the check of this name; may be given several times");
  conformance->add_option("--time-limit", checked.time_limit, "Seconds that each check may take")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  conformance->add_flag("--list", checked.list, "List the checks and their rules");

  CLI::App* provider = app.add_subcommand("provider", "Questions to a destination, asked through its plugin")
                           ->require_subcommand(1)
                           ->fallthrough();
  CLI::App* probe = command(
      provider, "probe", "Ask whether a target can be reached; sends nothing that counts",
      [&] { return probe_target(options, name); }, true);
  probe->add_option("target", name, "The target's name")->required();
  CLI::App* status = command(
      provider, "status", "Ask what became of an intent after it was accepted", [&] { return ask_status(options, org, id); },
      true);
  status->add_option("id", id, "The intentId")->required();
  status->add_option("--org", org, "Its organisation")->capture_default_str();
  CLI::App* failures = command(
      provider, "failures", "List what a target's receiver accepted and then failed to deliver",
      [&] { return list_failures(options, name, since); }, true);
  failures->add_option("target", name, "The target's name")->required();
  failures->add_option("--since", since, "How far back, as in 24h")->capture_default_str();
  CLI::App* outages = app.add_subcommand("target", "Targets of this installation")->require_subcommand(1)->fallthrough();
  CLI::App* resume = command(outages, "resume", "End a target's outage: what waits for it goes out again",
                             [&] { return resume_target(options, org, name); });
  resume->add_option("target", name, "The target's name, or sender:TYPE for the sender of forms")->required();
  resume->add_option("--org", org, "Its organisation")->capture_default_str();
  CLI::App* pipelines =
      app.add_subcommand("pipeline", "Pipelines of the registry, and Waybill's own")->require_subcommand(1)->fallthrough();
  command(
      pipelines, "list", "List them", [&] { return list_pipelines(options); }, true);
  RepairOptions repair;
  add_repair_commands(pipelines, command, options, repair);
  CLI::App* diagram = command(
      pipelines, "show", "Print one's diagram (Mermaid)", [&] { return show_pipeline(options, name); }, true);
  diagram->add_option("name", name, "The pipeline's name")->required();
  CLI::App* orgs = app.add_subcommand("org", "Organisations that share this installation")->require_subcommand(1)->fallthrough();
  command(
      orgs, "list", "List them", [&] { return list_orgs(options); }, true);
  const auto add_org_command = [&](const char* what, const char* help, int (*run)(const GlobalOptions&, const std::string&)) {
    CLI::App* sub = command(
        orgs, what, help, [&options, &name, run] { return run(options, name); }, true);
    sub->add_option("name", name, "Its name")->required();
  };
  add_org_command("create", "Make one; `waybill token create --org NAME` then makes its tokens", create_org);
  add_org_command("show", "Show one", show_org);
  CLI::App* weighing = command(
      orgs, "weight", "Give one more than its share where several want more than there is",
      [&] { return weigh_org(options, name, weight); }, true);
  weighing->add_option("name", name, "Its name")->required();
  weighing->add_option("weight", weight, "From 1, which all have at first, to 1000")->required();
  add_org_command("disable", "Refuse its tokens; what it has handed in is still delivered", disable_org);
  add_org_command("enable", "Accept the tokens of a disabled one again", enable_org);
  FormOptions form;
  add_form_commands(app, command, options, form);
  TokenOptions token;
  add_token_commands(app, command, options, token);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return wrong_call(app, argc, argv, e);
  }
  try {
    const ExitWatch watch;
    return chosen();
  } catch (const std::exception& e) {
    return failed(std::string("unexpected: ") + e.what());
  }
}

}  // namespace waybill
