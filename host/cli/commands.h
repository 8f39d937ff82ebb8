// The subcommands, each from its options to its exit code.
#pragma once

#include <string>

#include "cli/installation.h"

namespace waybill {

int serve(const GlobalOptions& options);
int check(const GlobalOptions& options);
int migrate_database(const GlobalOptions& options);
int list_plugins(const GlobalOptions& options);
int create_token(const GlobalOptions& options, const std::string& org, const std::string& name, const std::string& role);
int revoke_token(const GlobalOptions& options, const std::string& org, const std::string& name);
int explain(const GlobalOptions& options, const std::string& org, const std::string& intent_id);
int reload(const GlobalOptions& options);
int probe_target(const GlobalOptions& options, const std::string& target);
int ask_status(const GlobalOptions& options, const std::string& org, const std::string& intent_id);
int list_failures(const GlobalOptions& options, const std::string& target, const std::string& since);

}  // namespace waybill
