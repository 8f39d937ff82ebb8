// Makes senders from the loaded plugins and the operator's settings.
#include "senders/sender_factory.h"

#include "plugin_process/ready_processes.h"
#include "senders/plugin_sender.h"
#include "senders/process_plugin.h"

namespace waybill {

PluginSenderFactory::PluginSenderFactory(const Catalogue& catalogue, const Config& config,
                                         std::shared_ptr<const LiveSecrets> secrets, TextServices texts, const Clock& clock,
                                         Log& log, Metrics& metrics, std::shared_ptr<BreadcrumbFile> breadcrumbs,
                                         TransportSource transport, OAuth2Tokens::TransportOf oauth2_transport,
                                         std::shared_ptr<const StandIn> stand_in)
    : catalogue_(catalogue),
      settings_(config.senders),
      isolations_(config.isolations),
      readable_secrets_(config.readable_secrets),
      limits_(config.limits),
      max_retry_after_(config.timeouts.retry_after),
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
      stand_in_(std::move(stand_in)) {}

PluginSenderFactory::~PluginSenderFactory() = default;

Result<std::unique_ptr<Sender>> PluginSenderFactory::make(const std::string& action_type, Completions& completions) {
  return make_plugin_sender(action_type, completions, Millis{0});
}

Isolation PluginSenderFactory::isolation_of(std::string_view action_type) const {
  const auto found = isolations_.find(action_type);
  return found == isolations_.end() ? Isolation{} : found->second;
}

plugin_process::ReadyProcesses& PluginSenderFactory::processes_of(ProcessPlugin& plugin, const std::string& action_type) {
  const std::lock_guard lock(mutex_);
  auto& processes = processes_[action_type];
  if (!processes) processes = std::make_unique<plugin_process::ReadyProcesses>(plugin.spec(isolation_of(action_type)));
  return *processes;
}

Result<std::unique_ptr<PluginSender>> PluginSenderFactory::make_in_process(ProcessPlugin& plugin, SenderParts parts,
                                                                           Millis wait) {
  auto& processes = processes_of(plugin, parts.type.name);
  auto ready = processes.take(wait);
  TRY(ready);
  if (ready->process->wait_for_end(Millis{0})) {
    processes.died();
    return fail(Error::Kind::unavailable, "its process ended while it waited; the next one is starting");
  }
  const auto type = parts.type.name;
  const bool has_network = isolation_of(type).network;
  parts.breadcrumbs = nullptr;  // this host does not die of it
  const auto next = [&processes](bool after_death) {
    if (after_death) processes.died();
    return processes.take(Millis{0});
  };
  auto sender =
      PluginSender::create(std::move(parts), {.first = std::move(*ready), .next = next, .sends_through_host = !has_network});
  if (sender || sender.error().kind != Error::Kind::unavailable) return sender;
  processes.died();
  violations_->record(type, "hangs_in_create", 0);
  return fail(Error::Kind::invalid, sender.error().what);
}

Result<std::unique_ptr<PluginSender>> PluginSenderFactory::make_plugin_sender(const std::string& action_type,
                                                                              Completions& completions, Millis wait) {
  const auto* type = catalogue_.find(action_type);
  if (type == nullptr) return fail(Error::Kind::not_found, "no plugin has the action type " + action_type);
  {
    const std::lock_guard lock(mutex_);
    if (hanging_.contains(action_type))
      return fail(Error::Kind::invalid, "the plugin's create hung before: a restart tries it again");
  }
  const std::string settings = choice_of(settings_, action_type).settings;
  if (const auto problems = catalogue_.check_settings(action_type, settings); !problems.empty())
    return fail(Error::Kind::invalid, "settings of " + action_type + ": " + to_string(problems.front()));
  const auto readable = readable_secrets_.find(action_type);
  HttpClientSettings http{.per_host_name = limits_.per_host_name,
                          .kept_connections = limits_.in_flight,
                          .user_agent = "waybill",
                          .egress = egress_,
                          .stand_in = stand_in_,
                          .max_retry_after = max_retry_after_};
  SenderParts parts{
      .type = *type,
      .plugin = catalogue_.plugin_of(action_type)->id,
      .breadcrumbs = breadcrumbs_,
      .action = catalogue_.action(action_type),
      .settings = settings,
      .http = std::move(http),
      .secrets = secrets_,
      .readable_secrets = readable == readable_secrets_.end() ? std::set<std::string, std::less<>>{} : readable->second,
      .oauth2 = oauth2_,
      .transport = transport_,
      .vault = vault_,
      .texts = texts_,
      .violations = violations_,
      .counters = counters_,
      .clock = clock_,
      .log = log_,
      .completions = completions};
  if (auto* const plugin = catalogue_.process_plugin(action_type)) return make_in_process(*plugin, std::move(parts), wait);
  auto sender = PluginSender::create(std::move(parts));
  if (!sender && sender.error().kind == Error::Kind::unavailable) {
    const std::lock_guard lock(mutex_);
    hanging_.insert(action_type);
    violations_->record(action_type, "hangs_in_create", 0);
    return fail(Error::Kind::invalid, sender.error().what);
  }
  return sender;
}

std::size_t PluginSenderFactory::senders(std::string_view action_type) const {
  const auto* type = catalogue_.find(action_type);
  if (type == nullptr) return 0;
  if (type->blocking) return limits_.blocking_workers;
  return catalogue_.process_plugin(action_type) == nullptr ? 1 : isolation_of(action_type).processes;
}

std::size_t PluginSenderFactory::calls_per_sender(std::string_view action_type) const {
  const auto* type = catalogue_.find(action_type);
  return type != nullptr && !type->blocking ? limits_.in_flight : 1;
}

}  // namespace waybill
