// The grammar of the command line, and what a call gave to it.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "cli/archive.h"
#include "cli/command_tree.h"
#include "cli/commands.h"
#include "cli/dead.h"
#include "cli/doctor.h"
#include "cli/drain.h"
#include "cli/failed.h"
#include "cli/failures.h"
#include "cli/forms.h"
#include "cli/hosts.h"
#include "cli/org_erase.h"
#include "cli/org_export.h"
#include "cli/org_import.h"
#include "cli/proof.h"
#include "cli/queue.h"
#include "cli/registry.h"
#include "cli/repairs.h"
#include "cli/restore.h"
#include "cli/targets.h"
#include "cli/tokens.h"
#include "cli/waiting.h"

namespace waybill {

struct CommandLine {
  CommandLine();  // knows every subcommand
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App* group(const char* word, const char* what);  // of subcommands
  CLI::App* command(CLI::App* under, const char* word, const char* what, std::function<int()> run, bool prints_data = false);

  CommandEntry tree() const { return command_tree(app); }

  CLI::App app;
  std::function<int()> chosen;  // by parsing: carries the subcommand out and returns the exit code

  GlobalOptions options;
  DeadOptions dead;
  DoctorOptions doctor;
  DrainOptions drain;
  ArchiveOptions archive;
  FailureOptions failures;
  FailedOptions failed;
  ProofOptions proof;
  QueueOptions queue;
  WaitingOptions waiting;
  PluginCheckOptions checked;
  RepairOptions repair;
  RestoreOptions restore;
  EraseOptions erase;
  ExportOptions exported;
  ImportOptions imported;
  FormOptions form;
  TokenOptions token;
  TargetOptions target;
  HostOptions host;
  RegistryOptions registry;
  std::string org = "default", name, weight, id, since = "24h", folder = ".", language = "c++", shell;
  std::string application, reader, tenant, master;
  pid_t parent = 0;
  bool online = false;
  bool plan = false;  // of migrate
};

// host_grammar.cpp
void add_hosts_commands(CommandLine& line);
void add_registry_commands(CommandLine& line);
// failure_grammar.cpp
void add_failed_commands(CommandLine& line);
void add_dead_commands(CommandLine& line);
void add_target_commands(CommandLine& line);
void add_proof_command(CommandLine& line);
void add_queue_command(CommandLine& line);
void add_waiting_commands(CommandLine& line);

}  // namespace waybill
