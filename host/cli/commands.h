// The subcommands, each from its options to its exit code.
#pragma once

#include <string>
#include <vector>

#include "app/installation.h"

namespace waybill {

int serve(const GlobalOptions& options);
int check(const GlobalOptions& options, bool online);                // online: see online_check.h
int migrate_database(const GlobalOptions& options, bool only_plan);  // only_plan: tells what it would do
// "": the name that was set up before, else the standard one.
int give_roles(const GlobalOptions& options, const std::string& application, const std::string& reader,
               const std::string& tenant);
// `waybill plugin switch-on TYPE`: one that was switched off on this machine may run again.
int switch_on(const GlobalOptions& options, const std::string& action_type);
int list_plugins(const GlobalOptions& options);
int explain(const GlobalOptions& options, const std::string& org, const std::string& id);
// `waybill keys rewrap`
int rewrap_keys(const GlobalOptions& options);
// `waybill keys give-up`; master "": only tells which are lost
int give_up_keys(const GlobalOptions& options, const std::string& master);
int reload(const GlobalOptions& options);
int probe_target(const GlobalOptions& options, const std::string& target);
int ask_status(const GlobalOptions& options, const std::string& org, const std::string& id);  // of an intent or a submission
int list_failures(const GlobalOptions& options, const std::string& target, const std::string& since);

struct PluginCheckOptions {
  std::string file;
  std::string samples;            // "" for none
  std::vector<std::string> only;  // names of checks; empty for all
  double time_limit = 10;         // seconds, of each check
  bool list = false;              // only tell what is checked
  bool json = false;
};
int check_plugin_file(const PluginCheckOptions& options);  // needs no installation

}  // namespace waybill
