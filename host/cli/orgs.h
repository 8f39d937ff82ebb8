// `waybill org ...`: the organisations that share an installation. No host need run.
#pragma once

#include <string>

#include "app/installation.h"

namespace waybill {

int list_orgs(const GlobalOptions& options);
int create_org(const GlobalOptions& options, const std::string& name);
int show_org(const GlobalOptions& options, const std::string& name);
int weigh_org(const GlobalOptions& options, const std::string& name, const std::string& text);
int disable_org(const GlobalOptions& options, const std::string& name);
int enable_org(const GlobalOptions& options, const std::string& name);

}  // namespace waybill
