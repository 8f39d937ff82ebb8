// The commands that look after an installation.
#include "cli/commands.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/host_identity.h"
#include "base/printing.h"
#include "cli/json_output.h"
#include "cli/living_hosts.h"
#include "cli/progress_line.h"
#include "store/operations/database_check.h"
#include "store/pg/migrations.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

// Of the hosts that run, with why that is not known.
Result<std::vector<PluginInUse>> used_by_hosts(const Config& config) {
  Log log = quiet_log();
  const auto database = fit_database(config, log);
  TRY(database);
  const auto hosts = make_read_store(database->address, 1)->living_hosts();
  TRY(hosts);
  return plugins_in_use(*hosts);
}

Json json_of(const Result<std::vector<PluginInUse>>& used) {
  if (!used) return nullptr;
  Json list = Json::array();
  for (const auto& one : *used)
    list.push_back({{"host", one.host},
                    {"actionType", one.action_type},
                    {"plugin", one.plugin},
                    {"isolation", one.isolation},
                    {"draining", one.draining}});
  return list;
}

void print(const Result<std::vector<PluginInUse>>& used) {
  if (!used) return print_line("what running hosts use is not known: " + used.error().what);
  for (const auto& one : *used) {
    std::string words = "host " + one.host + " uses " + one.plugin + " for " + one.action_type + " (" + one.isolation + ")";
    for (const auto& version : one.draining) words += "; " + version + " finishes what it has";
    print_line(words);
  }
}

void print_marked(const std::string& file, Ink ink, const char* mark, const std::string& words) {
  print_text("%-24s ", file.c_str());
  print_text(ink, "%-10s", mark);
  print_text(" %s\n", words.c_str());
}

}  // namespace

int list_plugins(const GlobalOptions& options) {
  const auto config = configuration(options);
  if (!config) return 1;
  const auto used = used_by_hosts(*config);
  const auto catalogue = Catalogue::load(config->plugins, config->senders, config->isolations);
  if (options.json) {
    Json loaded = Json::array(), refused = Json::array();
    for (const auto& p : catalogue->loaded())
      loaded.push_back({{"file", p.file},
                        {"id", p.id},
                        {"version", p.version},
                        {"abiMinor", p.abi_minor},
                        {"actionTypes", p.action_types},
                        {"isolation", word_of(p.isolation.mode)},
                        {"isolationWhy", p.isolation.why},
                        {"notIsolated", p.not_isolated},
                        {"inPlace", p.why_in_place}});
    for (const auto& p : catalogue->refused()) refused.push_back({{"file", p.file}, {"reason", p.reason}, {"remedy", p.remedy}});
    Json superseded = Json::array();
    for (const auto& p : catalogue->superseded())
      superseded.push_back({{"file", p.file},
                            {"version", p.version},
                            {"actionType", p.action_type},
                            {"by", p.by},
                            {"byVersion", p.by_version},
                            {"wanted", p.wanted}});
    print_json({{"folder", config->plugins.string()},
                {"loaded", loaded},
                {"refused", refused},
                {"superseded", superseded},
                {"hosts", json_of(used)}});
  } else {
    print_text(Ink::bold, "in %s\n", config->plugins.c_str());
    for (const auto& p : catalogue->loaded()) {
      std::string types;
      for (const auto& type : p.action_types) types += (types.empty() ? "" : ", ") + type;
      print_text("%-24s %-10s %s (%s: %s)\n", p.file.c_str(), p.version.c_str(), types.c_str(), word_of(p.isolation.mode),
                 p.isolation.why.c_str());
      for (const auto& missing : p.not_isolated) print_text("%-24s %-10s not isolated: %s\n", "", "", missing.c_str());
      if (!p.why_in_place.empty())
        print_text("%-24s %-10s loaded in place, never write over it: %s\n", "", "", p.why_in_place.c_str());
    }
    for (const auto& p : catalogue->refused()) print_marked(p.file, Ink::red, "refused", p.reason + " (" + p.remedy + ")");
    for (const auto& p : catalogue->superseded()) print_marked(p.file, Ink::yellow, "not used", words_of(p));
    if (catalogue->loaded().empty() && catalogue->refused().empty()) print_line("no plugins");
    print(used);
  }
  return catalogue->refused().empty() ? 0 : 1;
}

int switch_on(const GlobalOptions& options, const std::string& action_type) {
  const auto config = configuration(options);
  if (!config) return 1;
  const auto folder = BreadcrumbFolder::open(breadcrumb_place(*config));
  if (!folder) return failed(folder.error().what);
  if (!(*folder)->switch_on(action_type))
    return failed("action type " + action_type + " is not switched off on this machine (" + (*folder)->path().string() + ")");
  if (options.json)
    print_json({{"actionType", action_type}, {"switchedOn", true}});
  else
    print_line("switched on; running hosts take its work again within a second");
  return 0;
}

}  // namespace waybill
