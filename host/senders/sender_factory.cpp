// Makes senders from the loaded plugins and the operator's settings.
#include "senders/sender_factory.h"

#include <algorithm>

#include "plugin_process/ready_processes.h"
#include "senders/plugin_sender.h"
#include "senders/process_plugin.h"

namespace waybill {
namespace {

// For a sender that gets no work.
class NoCompletions final : public Completions {
  bool complete(CallId, Outcome) override { return false; }
  void not_begun(CallId) override {}
  void flush() override {}
  void died(CallId, std::string_view) override {}
  void interrupted(CallId, std::string_view) override {}
  void lost(std::string_view) override {}
};

}  // namespace

struct PluginSenderFactory::Terms {
  // Of one action type in processes: they are started as long as a sender of it may need another.
  struct Processes {
    std::shared_ptr<ProcessPlugin> plugin;  // whose file they are of
    plugin_process::ReadyProcesses ready;
  };

  const std::shared_ptr<const Catalogue> catalogue;
  const std::map<std::string, std::string> settings;
  const Isolations isolations;
  const std::map<std::string, std::set<std::string, std::less<>>> readable_secrets;
  std::mutex mutex{};
  std::map<std::string, std::shared_ptr<Processes>> processes{};  // by action type; guarded by mutex
  std::set<std::string> hanging{};                                // action types whose create never returned; guarded by mutex

  Isolation isolation_of(std::string_view type) const {
    const auto found = isolations.by_type.find(type);
    return found == isolations.by_type.end() ? Isolation{} : found->second;
  }
  std::set<std::string, std::less<>> readable_by(const std::string& type) const {
    const auto found = readable_secrets.find(type);
    return found == readable_secrets.end() ? std::set<std::string, std::less<>>{} : found->second;
  }
  std::shared_ptr<Processes> processes_of(const std::shared_ptr<ProcessPlugin>& plugin, const std::string& type) {
    const std::lock_guard lock(mutex);
    auto& found = processes[type];
    if (!found) found.reset(new Processes{plugin, plugin_process::ReadyProcesses(plugin->spec(isolation_of(type)))});
    return found;
  }
  bool makes_same(const Terms& other, const std::string& type) const {
    return catalogue->process_plugin(type) == other.catalogue->process_plugin(type) &&
           catalogue->action(type) == other.catalogue->action(type) &&
           choice_of(settings, type).settings == choice_of(other.settings, type).settings &&
           isolation_of(type) == other.isolation_of(type) && readable_by(type) == other.readable_by(type);
  }
};

PluginSenderFactory::PluginSenderFactory(const Catalogue& catalogue, const Config& config,
                                         std::shared_ptr<const LiveSecrets> secrets, TextServices texts, const Clock& clock,
                                         Log& log, Metrics& metrics, std::shared_ptr<BreadcrumbFile> breadcrumbs,
                                         TransportSource transport, OAuth2Tokens::TransportOf oauth2_transport,
                                         std::shared_ptr<const StandIn> stand_in)
    : limits_(config.limits),
      max_retry_after_(config.timeouts.retry_after),
      records_spans_(config.tracing.is_on()),
      egress_(std::make_shared<const EgressPolicy>(config.egress)),
      secrets_(std::move(secrets)),
      vault_(vault_of(*secrets_->current(), config.notify.key)),
      texts_(std::move(texts)),
      clock_(clock),
      log_(log),
      violations_(std::make_shared<PluginViolations>(log, metrics)),
      counters_(std::make_shared<PluginCounters>(metrics)),
      breadcrumbs_(std::move(breadcrumbs)),
      transport_(std::move(transport)),
      oauth2_(std::make_shared<OAuth2Tokens>(config.oauth2, std::move(oauth2_transport))),
      stand_in_(std::move(stand_in)),
      terms_(terms_of(std::shared_ptr<const Catalogue>(std::shared_ptr<void>(), &catalogue), config)) {}

PluginSenderFactory::~PluginSenderFactory() = default;

std::shared_ptr<PluginSenderFactory::Terms> PluginSenderFactory::terms_of(std::shared_ptr<const Catalogue> catalogue,
                                                                          const Config& config) const {
  return std::shared_ptr<Terms>(new Terms{std::move(catalogue), config.senders, config.isolations, config.readable_secrets});
}

std::shared_ptr<PluginSenderFactory::Terms> PluginSenderFactory::terms() const {
  const std::lock_guard lock(mutex_);
  return terms_;
}

std::vector<std::string> PluginSenderFactory::changed_types(const Terms& next) const {
  const auto now = terms();
  std::set<std::string> types;
  for (const auto* catalogue : {now->catalogue.get(), next.catalogue.get()})
    for (auto& name : catalogue->names()) types.insert(std::move(name));
  std::vector<std::string> changed;
  for (const auto& type : types)
    if ((now->catalogue->process_plugin(type) || next.catalogue->process_plugin(type)) && !next.makes_same(*now, type))
      changed.push_back(type);
  return changed;
}

Result<void> PluginSenderFactory::try_out(const std::shared_ptr<Terms>& terms, const std::string& action_type) {
  constexpr Millis kStartsWithin{30'000}, kEndsWithin{5'000};
  static NoCompletions none;  // a sender that hangs outlives this
  auto sender = make_by(terms, action_type, none, kStartsWithin);
  TRY(sender);
  if (!(*sender)->join(kEndsWithin)) static_cast<void>(sender->release());  // it hangs, and its process is of no further use
  return {};
}

void PluginSenderFactory::take(std::shared_ptr<Terms> next) {
  const auto before = terms();
  for (const auto& type : next->catalogue->names()) {  // what has not changed goes on with its processes
    if (!next->makes_same(*before, type)) continue;
    const std::scoped_lock both(before->mutex, next->mutex);
    if (const auto found = before->processes.find(type); found != before->processes.end()) next->processes.insert(*found);
    if (before->hanging.contains(type)) next->hanging.insert(type);
  }
  const std::lock_guard lock(mutex_);
  terms_ = std::move(next);
}

Result<std::unique_ptr<Sender>> PluginSenderFactory::make(const std::string& action_type, Completions& completions) {
  return make_plugin_sender(action_type, completions, Millis{0});
}

Result<std::unique_ptr<PluginSender>> PluginSenderFactory::make_in_process(const std::shared_ptr<Terms>& terms,
                                                                           std::shared_ptr<ProcessPlugin> plugin,
                                                                           SenderParts parts, Millis wait) {
  const auto processes = terms->processes_of(plugin, parts.type.name);
  auto ready = processes->ready.take(wait);
  TRY(ready);
  if (ready->process->wait_for_end(Millis{0})) {
    processes->ready.died();
    return fail(Error::Kind::unavailable, "its process ended while it waited; the next one is starting");
  }
  const auto type = parts.type.name;
  const bool has_network = terms->isolation_of(type).network;
  parts.breadcrumbs = nullptr;  // this host does not die of it
  const auto next = [processes](bool after_death) {
    if (after_death) processes->ready.died();
    return processes->ready.take(Millis{0});
  };
  auto sender =
      PluginSender::create(std::move(parts), {.first = std::move(*ready), .next = next, .sends_through_host = !has_network});
  if (sender || sender.error().kind != Error::Kind::unavailable) return sender;
  processes->ready.died();
  violations_->record(type, "hangs_in_create", 0);
  return fail(Error::Kind::invalid, sender.error().what);
}

Result<std::unique_ptr<PluginSender>> PluginSenderFactory::make_plugin_sender(const std::string& action_type,
                                                                              Completions& completions, Millis wait) {
  return make_by(terms(), action_type, completions, wait);
}

Result<std::unique_ptr<PluginSender>> PluginSenderFactory::make_by(const std::shared_ptr<Terms>& terms,
                                                                   const std::string& action_type, Completions& completions,
                                                                   Millis wait) {
  const auto& catalogue = *terms->catalogue;
  const auto* type = catalogue.find(action_type);
  if (type == nullptr) return fail(Error::Kind::not_found, "no plugin has the action type " + action_type);
  {
    const std::lock_guard lock(terms->mutex);
    if (terms->hanging.contains(action_type))
      return fail(Error::Kind::invalid, "the plugin's create hung before: a restart tries it again");
  }
  const std::string settings = choice_of(terms->settings, action_type).settings;
  if (const auto problems = catalogue.check_settings(action_type, settings); !problems.empty())
    return fail(Error::Kind::invalid, "settings of " + action_type + ": " + to_string(problems.front()));
  const auto plugin = catalogue.process_plugin(action_type);
  const auto sharing = plugin && !type->blocking ? terms->isolation_of(action_type).processes : 1;
  HttpClientSettings http{.per_host_name = std::max<std::size_t>(1, limits_.per_host_name / sharing),
                          .kept_connections = limits_.in_flight,
                          .user_agent = "waybill",
                          .egress = egress_,
                          .stand_in = stand_in_,
                          .max_retry_after = max_retry_after_};
  SenderParts parts{.type = *type,
                    .plugin = catalogue.plugin_of(action_type)->id,
                    .breadcrumbs = breadcrumbs_,
                    .action = catalogue.action(action_type),
                    .settings = settings,
                    .http = std::move(http),
                    .secrets = secrets_,
                    .readable_secrets = terms->readable_by(action_type),
                    .oauth2 = oauth2_,
                    .transport = transport_,
                    .vault = vault_,
                    .texts = texts_,
                    .violations = violations_,
                    .counters = counters_,
                    .records_spans = records_spans_,
                    .clock = clock_,
                    .log = log_,
                    .completions = completions};
  if (plugin) return make_in_process(terms, plugin, std::move(parts), wait);
  auto sender = PluginSender::create(std::move(parts));
  if (!sender && sender.error().kind == Error::Kind::unavailable) {
    const std::lock_guard lock(terms->mutex);
    terms->hanging.insert(action_type);
    violations_->record(action_type, "hangs_in_create", 0);
    return fail(Error::Kind::invalid, sender.error().what);
  }
  return sender;
}

std::size_t PluginSenderFactory::senders(std::string_view action_type) const {
  const auto now = terms();
  const auto* type = now->catalogue->find(action_type);
  if (type == nullptr) return 0;
  if (type->blocking) return limits_.blocking_workers;
  return now->catalogue->process_plugin(action_type) == nullptr ? 1 : now->isolation_of(action_type).processes;
}

std::size_t PluginSenderFactory::calls_per_sender(std::string_view action_type) const {
  const auto* type = terms()->catalogue->find(action_type);
  if (type == nullptr || type->blocking) return 1;
  return std::max<std::size_t>(1, limits_.in_flight / std::max<std::size_t>(1, senders(action_type)));
}

}  // namespace waybill
