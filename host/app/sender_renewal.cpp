// Reads anew, holds against what is in force, tries, and swaps.
#include "app/sender_renewal.h"

#include <algorithm>
#include <set>

#include "app/installation.h"

namespace waybill {
namespace {

constexpr Millis kStartsWithin{30'000};

template <class Map>
void take_entry(Map& into, const Map& from, const std::string& type) {
  into.erase(type);
  if (const auto found = from.find(type); found != from.end()) into.insert(*found);
}

template <class Map>
bool has_same(const Map& a, const Map& b, const std::string& type) {
  const auto in_a = a.find(type), in_b = b.find(type);
  return in_a == a.end() ? in_b == b.end() : in_b != b.end() && in_a->second == in_b->second;
}

std::set<std::string> types_in(const Config& a, const Config& b, const Catalogue& before, const Catalogue& next) {
  std::set<std::string> types;
  for (const auto* config : {&a, &b}) {
    for (const auto& [type, settings] : config->senders) types.insert(type);
    for (const auto& [type, isolation] : config->isolations.by_type) types.insert(type);
  }
  for (const auto* catalogue : {&before, &next})
    for (auto& name : catalogue->names()) types.insert(std::move(name));
  return types;
}

// A reload takes up neither what is of the host itself, nor that a secret is not named any more.
bool is_same_but_for_senders(const Config& now, Config fresh) {
  fresh.senders = now.senders;
  fresh.readable_secrets = now.readable_secrets;
  fresh.isolations = now.isolations;
  fresh.transports = now.transports;
  fresh.places = now.places;
  fresh.warnings = now.warnings;
  const bool has_all = std::all_of(now.secrets.begin(), now.secrets.end(),
                                   [&](const auto& secret) { return fresh.secrets.contains(secret.first); });
  fresh.secrets = now.secrets;
  return has_all && fresh == now;
}

// What the configuration asks for, and no file can do.
Problems impossible(const SenderRenewal::Next& next) {
  Problems problems;
  for (const auto& change : next.changes)
    if (change.after.empty())
      problems.push_back(
          next.config.problem("senders." + change.action_type,
                              "no file has the version that plugin_version names; " + change.before + " stays in use"));
  for (const auto& [type, isolation] : next.config.isolations.by_type)
    if (const auto* plugin = next.catalogue->plugin_of(type);
        plugin != nullptr && isolation.mode == IsolationMode::in_process && plugin->file.ends_with(".plugin"))
      problems.push_back(next.config.problem("senders." + type + ".isolation",
                                             "its plugin is an executable, which cannot run inside of the host"));
  return problems;
}

}  // namespace

// Of senders whose plugins stay in the host all is as it was: their settings are read at a start.
Config SenderRenewal::merged(const Config& fresh, const Catalogue& next, Problems& warnings) const {
  Config config = *config_;
  config.places = fresh.places;
  config.isolations.others = fresh.isolations.others;
  config.isolations.says_others = fresh.isolations.says_others;
  for (const auto& [name, references] : fresh.secrets) config.secrets[name] = references;
  for (const auto& type : types_in(*config_, fresh, catalogue_, next)) {
    const bool stays = next.find(type) != nullptr && !next.process_plugin(type) && next.action(type) == catalogue_.action(type);
    if (!stays) {
      take_entry(config.senders, fresh.senders, type);
      take_entry(config.readable_secrets, fresh.readable_secrets, type);
      take_entry(config.isolations.by_type, fresh.isolations.by_type, type);
      take_entry(config.transports, fresh.transports, type);
    } else if (!has_same(config.senders, fresh.senders, type) ||
               !has_same(config.readable_secrets, fresh.readable_secrets, type) ||
               !has_same(config.isolations.by_type, fresh.isolations.by_type, type) ||
               !has_same(config.transports, fresh.transports, type)) {
      warnings.push_back(
          fresh.problem("senders." + type, "the plugin runs in the host: a restart takes up what has changed here"));
    }
  }
  return config;
}

tl::expected<SenderRenewal::Next, Problems> SenderRenewal::prepare() const {
  auto fresh = read_configuration({.config = config_->file});
  if (!fresh) return tl::unexpected(std::move(fresh.error()));
  Next next;
  next.catalogue = catalogue_.renewed(fresh->senders, fresh->isolations);
  for (const auto& file : next.catalogue->not_taken())
    next.warnings.push_back(
        {(config_->plugins / file.file).string(), 0, "", "is " + file.how + " since this host started: restart it to load it"});
  for (const auto& plugin : next.catalogue->refused())
    next.warnings.push_back({(config_->plugins / plugin.file).string(), 0, "",
                             "cannot be used: " + plugin.reason + " (" + plugin.remedy + "); what was in use before goes on"});
  next.config = merged(*fresh, *next.catalogue, next.warnings);
  if (!is_same_but_for_senders(*config_, *fresh))
    next.warnings.push_back(
        {config_->file.string(), 0, "", "has changed in more than a reload takes up: a restart takes up the rest"});
  next.terms = factory_.terms_of(next.catalogue, next.config);
  for (auto& type : factory_.changed_types(*next.terms))
    next.changes.push_back({type, catalogue_.name_of(type), next.catalogue->name_of(type)});
  if (auto problems = impossible(next); !problems.empty()) return tl::unexpected(std::move(problems));
  return next;
}

Problems SenderRenewal::try_out(const Next& next) {
  Problems problems;
  for (const auto& change : next.changes) {
    if (change.after.empty()) continue;
    if (const auto tried = factory_.try_out(next.terms, change.action_type); !tried)
      problems.push_back(next.config.problem("senders." + change.action_type,
                                             change.after + " cannot be used: " + tried.error().what + "; " +
                                                 (change.before.empty() ? "nothing" : change.before) + " stays in use"));
  }
  return problems;
}

void SenderRenewal::take(Next next) {
  factory_.take(next.terms);
  catalogue_.take(*next.catalogue);
  config_ = std::make_shared<const Config>(std::move(next.config));
  for (const auto& change : next.changes) {
    log_.info("sender.renewed", {{"action_type", change.action_type}, {"before", change.before}, {"after", change.after}});
    if (const auto* plugin = catalogue_.plugin_of(change.action_type))
      metrics_.plugin_loaded(change.action_type, plugin->id, plugin->version);
    executor_.renew(change.action_type);
  }
  for (const auto& change : next.changes) {  // so that what is said of it is true
    if (!executor_.wait_renewed(change.action_type, kStartsWithin))
      log_.warn("sender.renews_late",
                {{"action_type", change.action_type}, {"effect", "until then the sender of before takes new work"}});
    if (change.before.empty()) continue;
    const std::lock_guard lock(mutex_);
    replaced_[change.action_type].push_back(change.before);
  }
}

std::vector<std::string> SenderRenewal::draining(const std::string& action_type) {
  const auto still = executor_.retiring(action_type);
  const std::lock_guard lock(mutex_);
  const auto found = replaced_.find(action_type);
  if (found == replaced_.end()) return {};
  auto& versions = found->second;  // the oldest ends first, as a rule
  versions.erase(versions.begin(), versions.end() - static_cast<std::ptrdiff_t>(std::min(still, versions.size())));
  return versions;
}

}  // namespace waybill
