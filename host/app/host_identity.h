// What a host and the quarantine that it starts have in common.
#pragma once

#include <signal.h>

#include <filesystem>
#include <string>

#include "breadcrumbs/breadcrumb_folder.h"
#include "config/config.h"
#include "senders/catalogue.h"

namespace waybill {

std::string host_name();                         // machine:pid
std::string quarantine_name();                   // machine:pid/quarantine: statements that list hosts leave it out
std::string lasting_name(const Config& config);  // that a restart leaves the host
// SIGTERM, SIGINT and SIGHUP, for who waits for them; to be called before any thread starts. SIGPIPE is ignored.
sigset_t block_signals();
BreadcrumbFolder::Place breadcrumb_place(const Config& config);
std::filesystem::path plugin_file(const Config& config, const Catalogue& catalogue, const std::string& action_type);

}  // namespace waybill
