// What a host and the quarantine that it starts have in common.
#pragma once

#include <filesystem>
#include <string>

#include "breadcrumbs/breadcrumb_folder.h"
#include "config/config.h"
#include "senders/catalogue.h"

namespace waybill {

std::string host_name();  // machine:pid
BreadcrumbFolder::Place breadcrumb_place(const Config& config);
std::filesystem::path plugin_file(const Config& config, const Catalogue& catalogue, const std::string& action_type);

}  // namespace waybill
