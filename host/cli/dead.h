// `waybill dead ...`: dead letters worked on from the command line. No host need run.
#pragma once

#include <string>
#include <vector>

#include "app/installation.h"
#include "store/operations/dead_store.h"

namespace waybill {

struct DeadOptions {
  std::string org = "default";
  std::string id;                // of the commands on one letter
  std::vector<std::string> ids;  // list and replay: these filter
  std::string reference, form, reason, before, after;
  bool replayed = false;  // list: those that were replayed as well
  std::size_t limit = 100;
  std::string actor;          // for the audit; "" for the user's name
  std::string fields;         // edit: a file, or - for standard input
  std::string destination;    // edit
  bool dry_run = false;       // replay
  bool all = false;           // replay: without any filter
  std::string new_reference;  // clone
};

int list_dead(const GlobalOptions& options, const DeadOptions& dead);
int show_dead(const GlobalOptions& options, const DeadOptions& dead);
int edit_dead(const GlobalOptions& options, const DeadOptions& dead);
int replay_dead(const GlobalOptions& options, const DeadOptions& dead);
int clone_dead(const GlobalOptions& options, const DeadOptions& dead);
void print_replays(const Replays& replays, bool dry_run);

}  // namespace waybill
