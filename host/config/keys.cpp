// The table of keys. A row is a path, what it counts, its default, and how it is read, with its bounds.
#include "config/keys.h"

namespace waybill::config {
namespace {

using Name = const std::string&;

void read_auth(const Value& value, Name, Config& config) {
  std::string word = config.auth_none ? "none" : "tokens";
  value.word(word, {"tokens", "none"});
  config.auth_none = word == "none";
}

void read_plugin_isolation(const Value& value, Name, Config& config) {
  auto& isolations = config.isolations;
  std::string word = isolations.others == IsolationMode::process ? "process" : "in_process";
  value.word(word, {"process", "in_process"});
  isolations.others = word == "process" ? IsolationMode::process : IsolationMode::in_process;
  isolations.says_others = true;
}

void read_metrics_access(const Value& value, Name, Config& config) {
  std::string word = config.metrics.is_open ? "open" : "token";
  value.word(word, {"token", "open"});
  config.metrics.is_open = word == "open";
}
void read_objective(const Value& value, Name, Config& config) {
  value.duration(config.metrics.objective, Millis{100}, std::chrono::hours{24 * 30});
}
void read_tracing_ratio(const Value& value, Name, Config& config) { value.number(config.tracing.ratio, 0, 1); }
void read_service_name(const Value& value, Name, Config& config) {
  if (const auto text = value.text("a name, such as waybill")) config.tracing.service_name = *text;
}
template <auto Field>
void tls_path(const Value& value, Name, Config& config) {
  value.path(config.tls.*Field);
}
void read_tls_clients(const Value& value, Name, Config& config) {
  std::string word = config.tls.client_required ? "required" : "optional";
  value.word(word, {"optional", "required"});
  config.tls.client_required = word == "required";
}
void read_tls_version(const Value& value, Name, Config& config) { value.word(config.tls.min_version, {"1.2", "1.3"}); }

void read_host_name(const Value& value, Name, Config& config) {
  constexpr auto kAllowed = "a name: letters, digits, \".\", \"_\" or \"-\", 1 to 100";
  const auto text = value.text(kAllowed);
  if (!text) return;
  constexpr auto kSigns = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  if (text->empty() || text->size() > 100 || text->find_first_not_of(kSigns) != std::string::npos)
    return value.fail(std::string("must be ") + kAllowed);
  config.host_name = *text;
}

void read_address(const Value& value, std::string& address) {
  constexpr auto kAllowed = "postgresql://user@host:port/name, or words such as host=... dbname=...";
  const auto text = value.text(kAllowed);
  if (!text) return;
  const bool known = text->starts_with("postgresql://") || text->starts_with("postgres://") ||
                     (text->find('=') != std::string::npos && text->find("://") == std::string::npos);
  if (!known) return value.fail(std::string("must be ") + kAllowed);
  address = *text;
}
void read_url(const Value& value, Name, Config& config) { read_address(value, config.database.url); }
void read_owner_url(const Value& value, Name, Config& config) { read_address(value, config.database.owner_url); }

void read_schema(const Value& value, Name, Config& config) {
  constexpr auto kAllowed =
      "a name of PostgreSQL: a lower-case letter or _, then lower-case letters, digits or _, 63 at most, not pg_...";
  const auto text = value.text(kAllowed);
  if (!text) return;
  const bool good = text->size() <= 63 && text->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
                    !(text->front() >= '0' && text->front() <= '9') && !text->starts_with("pg_");
  if (!good) return value.fail(std::string("must be ") + kAllowed);
  config.database.schema = *text;
}

void read_link_key(const Value& value, Name, Config& config) {
  if (const auto text = value.text("the name of a secret")) config.link_key = *text;
}

void read_kept_forms(const Value& value, Name, Config& config) {
  value.duration(config.kept_forms, std::chrono::minutes{1}, std::chrono::hours{24 * 3650});
}

template <auto Field>
void read_kept(const Value& value, Name, Config& config) {
  value.duration(config.*Field, Millis{0}, std::chrono::hours{24 * 36500});
}

void read_alert_target(const Value& value, Name, Config& config) {
  if (const auto text = value.text("the name of a target")) config.alerts.target = *text;
}

void read_replay_rate(const Value& value, Name, Config& config) { value.count(config.replay_rate, 1, 10'000); }
void read_notify_key(const Value& value, Name, Config& config) {
  if (const auto text = value.text("the name of a secret")) config.notify.key = *text;
}

void read_egress_guard(const Value& value, Name, Config& config) {
  std::string word;
  value.word(word, {"standard", "strict", "off"});
  if (word.empty()) return;
  config.egress.guard = word == "off" ? EgressGuard::off : word == "strict" ? EgressGuard::strict : EgressGuard::standard;
}

void read_embedded(const Value& value, Name, Config& config) { value.path(config.database.embedded); }
void read_migrate(const Value& value, Name, Config& config) { value.flag(config.database.migrate); }
void read_log_level(const Value& value, Name, Config& config) {
  value.word(config.log_level, {"debug", "info", "warn", "error"});
}
void read_plugins(const Value& value, Name, Config& config) {
  config.more_plugins.clear();
  if (value.node().kind != Node::Kind::list) return value.path(config.plugins);
  if (value.node().children.empty()) return value.fail("must be a path, or a list of paths");
  value.element(0).path(config.plugins);
  for (std::size_t i = 1; i < value.node().children.size(); ++i) value.element(i).path(config.more_plugins.emplace_back());
}
void read_log_format(const Value& value, Name, Config& config) {
  value.word(config.log_format, {"auto", "json", "pretty", "journal"});
}

// Readers of the plain kinds. Durations are given in milliseconds.
template <auto Field, std::size_t least, std::size_t most>
void count(const Value& value, Name, Config& config) {
  value.count(config.limits.*Field, least, most);
}
template <auto Field, Millis::rep least, Millis::rep most>
void duration(const Value& value, Name, Config& config) {
  value.duration(config.timeouts.*Field, Millis{least}, Millis{most});
}
template <auto Field>
void database_time(const Value& value, Name, Config& config) {
  value.duration(config.database.timeouts.*Field, Millis{100}, Millis{3'600'000});
}
template <auto Field, Millis::rep least, Millis::rep most>
void alert_time(const Value& value, Name, Config& config) {
  value.duration(config.alerts.*Field, Millis{least}, Millis{most});
}
template <auto Field, Millis::rep least, Millis::rep most>
void notify_time(const Value& value, Name, Config& config) {
  value.duration(config.notify.*Field, Millis{least}, Millis{most});
}
template <auto Field>
void archive_time(const Value& value, Name, Config& config) {
  value.duration(config.archive.*Field, Millis{0}, std::chrono::hours{24 * 36500});
}
void read_monitor(const Value& value, Name, Config& config) {
  value.duration(config.monitor_interval, Millis{0}, std::chrono::hours{24});
}
template <auto Field, std::size_t least, std::size_t most>
void notify_count(const Value& value, Name, Config& config) {
  value.count(config.notify.*Field, least, most);
}
template <auto Field>
void path(const Value& value, Name, Config& config) {
  value.path(config.*Field);
}

constexpr Millis::rep kHour = 3'600'000;
constexpr Millis::rep kDay = 24 * kHour;

// clang-format off
constexpr Key kKeys[] = {
    // path                      unit             default           how it is read, from least to most
    {"listen",                   "address",       "127.0.0.1:8080", read_listen},
    {"auth",                     "word",          "tokens",         read_auth},
    {"allowed_hosts",            "list",          "",               read_allowed_hosts},
    {"trusted_proxies",          "list",          "",               read_trusted_proxies},
    {"tls.certificate",          "path",          "",               tls_path<&ListenTls::certificate>},
    {"tls.key",                  "path",          "",               tls_path<&ListenTls::key>},
    {"tls.client_ca",            "path",          "",               tls_path<&ListenTls::client_ca>},
    {"tls.clients",              "word",          "optional",       read_tls_clients},
    {"tls.min_version",          "word",          "1.2",            read_tls_version},
    {"metrics.listen",           "address",       "",               read_metrics_listen},
    {"metrics.access",           "word",          "token",          read_metrics_access},
    {"metrics.objective",        "duration",      "60s",            read_objective},
    {"tracing.endpoint",         "URL",           "",               read_tracing_endpoint},
    {"tracing.headers",          "mapping",       "",               read_tracing_headers},
    {"tracing.ratio",            "number",        "0.1",            read_tracing_ratio},
    {"tracing.service_name",     "name",          "waybill",        read_service_name},
    {"database.url",             "libpq address", "",               read_url},
    {"database.owner_url",       "libpq address", "",               read_owner_url},
    {"database.embedded",        "path",          "",               read_embedded},
    {"database.schema",          "name",          "waybill",        read_schema},
    {"database.migrate",         "true or false", "true",           read_migrate},
    {"database.liveness_timeout", "duration",      "2s",             database_time<&DatabaseTimeouts::liveness>},
    {"database.intake_timeout",  "duration",      "5s",             database_time<&DatabaseTimeouts::intake>},
    {"database.read_timeout",    "duration",      "5s",             database_time<&DatabaseTimeouts::read>},
    {"database.claim_timeout",   "duration",      "15s",            database_time<&DatabaseTimeouts::claim>},
    {"database.settle_timeout",  "duration",      "15s",            database_time<&DatabaseTimeouts::settle>},
    {"database.maintenance_timeout",  "duration",      "2m",             database_time<&DatabaseTimeouts::maintenance>},
    {"database.lock_timeout",    "duration",      "3s",             database_time<&DatabaseTimeouts::lock>},
    {"registry",                 "path",          "./registry",     path<&Config::registry>},
    {"plugins",                  "path or paths", "./plugins",      read_plugins},
    {"plugin_isolation",         "word",          "process",        read_plugin_isolation},
    {"host_name",                "name",          "",               read_host_name},
    {"port_file",                "path",          "",               path<&Config::port_file>},
    {"breadcrumbs",              "path",          "",               path<&Config::breadcrumbs>},
    {"senders.<action type>",    "mapping",       "{}",             read_sender},
    {"secrets.<name>",           "reference",     "",               read_secret},
    {"oauth2.<name>",            "mapping",       "",               read_oauth2},
    {"links.key",                "name",          "",               read_link_key},
    {"retention.forms",          "duration",      "90d",            read_kept_forms},
    {"retention.intents",        "duration",      "0s",             read_kept<&Config::kept_intents>},
    {"retention.notifications",  "duration",      "90d",            read_kept<&Config::kept_notifications>},
    {"alerts.target",            "name",          "",               read_alert_target},
    {"alerts.quiet",             "duration",      "15m",            alert_time<&Alerts::quiet, 100, 7 * kDay>},
    {"alerts.stuck",             "duration",      "15m",            alert_time<&Alerts::stuck, 1000, 7 * kDay>},
    {"alerts.digest_every",      "duration",      "1h",             alert_time<&Alerts::digest_every, 1000, 7 * kDay>},
    {"notify.key",               "name",          "",               read_notify_key},
    {"notify.debounce",          "duration",      "2m",             notify_time<&Notify::debounce, 0, kDay>},
    {"notify.max_wait",          "duration",      "10m",            notify_time<&Notify::max_wait, 0, kDay>},
    {"notify.attempts",          "attempts",      "4",              notify_count<&Notify::attempts, 1, 1000>},
    {"notify.per_org",           "deliveries",    "5",              count<&Limits::per_org_channels, 1, 100'000>},
    {"notify.per_channel",       "deliveries",    "3",              count<&Limits::per_channel, 1, 100'000>},
    {"notify.orphan_scan",       "duration",      "5m",             notify_time<&Notify::orphan_scan, 100, kDay>},
    {"notify.secret_grace",      "duration",      "1d",             notify_time<&Notify::secret_grace, 1000, 365 * kDay>},
    {"notify.disable_after",     "duration",      "5d",             notify_time<&Notify::disable_after, 1000, 365 * kDay>},
    {"failure_check.schedule",   "cron",          "0 9 * * *",      read_schedule},
    {"failure_check.time_zone",  "name",          "UTC",            read_time_zone},
    {"failure_check.targets",    "list",          "",               read_checked_targets},
    {"archive.failed_after",     "duration",      "30d",            archive_time<&ArchiveConfig::failed_after>},
    {"archive.completed_after",  "duration",      "30d",            archive_time<&ArchiveConfig::completed_after>},
    {"archive.delete_after",     "duration",      "7d",             archive_time<&ArchiveConfig::delete_after>},
    {"monitor.interval",         "duration",      "10s",            read_monitor},
    {"dead.replay_rate",         "a second",      "10",             read_replay_rate},
    {"retry.<action type>",      "mapping",       "",               read_retry},
    {"egress.allow",             "list",          "",               read_egress_allow},
    {"egress.deny",              "list",          "",               read_egress_deny},
    {"egress.guard",             "word",          "standard",       read_egress_guard},
    {"limits.in_flight",         "deliveries",    "2048",           count<&Limits::in_flight, 1, 1'000'000>},
    {"limits.per_target",        "deliveries",    "256",            count<&Limits::per_target, 1, 1'000'000>},
    {"limits.per_org",           "deliveries",    "1024",           count<&Limits::per_org, 1, 1'000'000>},
    {"limits.per_host_name",     "requests",      "128",            count<&Limits::per_host_name, 1, 100'000>},
    {"limits.blocking_workers",  "threads",       "8",              count<&Limits::blocking_workers, 1, 1024>},
    {"limits.in_flight_bytes",   "bytes",         "67108864",       count<&Limits::in_flight_bytes, 1 << 20, std::size_t{1} << 40>},
    {"limits.claim_batch",       "deliveries",    "1000",           count<&Limits::claim_batch, 1, 100'000>},
    {"limits.http_connections",  "connections",   "10000",          count<&Limits::http_connections, 1, 1'000'000>},
    {"limits.http_connections_per_address", "connections", "2000",  count<&Limits::http_connections_per_address, 1, 1'000'000>},
    {"limits.http_bytes",        "bytes",         "268435456",      count<&Limits::http_bytes, 1 << 20, std::size_t{1} << 40>},
    {"limits.http_bytes_per_address", "bytes",    "134217728",      count<&Limits::http_bytes_per_address, 1 << 20, std::size_t{1} << 40>},
    {"limits.body_bytes",        "bytes",         "1048576",        count<&Limits::body_bytes, 1024, 256 << 20>},
    {"limits.header_bytes",      "bytes",         "16384",          count<&Limits::header_bytes, 1024, 1 << 20>},
    {"limits.failed_sign_ins",   "a minute",      "60",             count<&Limits::failed_sign_ins, 1, 1'000'000>},
    {"timeouts.attempt",         "duration",      "10s",            duration<&Timeouts::attempt, 10, kHour>},
    {"timeouts.attempt_grace",   "duration",      "1s",             duration<&Timeouts::attempt_grace, 10, kHour>},
    {"timeouts.request_read",    "duration",      "10s",            duration<&Timeouts::request_read, 100, kHour>},
    {"timeouts.answer",          "duration",      "5s",             duration<&Timeouts::answer, 100, kHour>},
    {"timeouts.idle",            "duration",      "75s",            duration<&Timeouts::idle, 100, kHour>},
    {"timeouts.drain",           "duration",      "20s",            duration<&Timeouts::drain, 0, kHour>},
    {"timeouts.lease",           "duration",      "60s",            duration<&Timeouts::lease, 1000, kDay>},
    {"timeouts.poll",            "duration",      "500ms",          duration<&Timeouts::poll, 10, kHour>},
    {"timeouts.takeover",        "duration",      "250ms",          duration<&Timeouts::takeover, 10, kHour>},
    {"timeouts.cooldown",        "duration",      "30s",            duration<&Timeouts::cooldown, 0, kDay>},
    {"timeouts.outage",          "duration",      "24h",            duration<&Timeouts::outage, 0, 30 * kDay>},
    {"timeouts.retry_after",     "duration",      "1h",             duration<&Timeouts::retry_after, 0, kDay>},
    {"log.level",                "word",          "info",           read_log_level},
    {"log.format",               "word",          "auto",           read_log_format},
};
// clang-format on

constexpr DeprecatedKey kDeprecatedKeys[] = {
    {"database.upkeep_timeout", "database.maintenance_timeout"},
    {"timeouts.target_rest", "timeouts.cooldown"},
};

}  // namespace

std::string_view Key::section() const {
  const auto dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

std::string environment_name_of(std::string_view path) {
  std::string name = "WAYBILL_";
  for (char c : path) {
    if (c >= 'a' && c <= 'z')
      name += static_cast<char>(c - 'a' + 'A');
    else
      name += (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  }
  return name;
}

std::string Key::environment_name() const {
  const auto fixed = path.find('<');
  if (fixed == std::string_view::npos) return environment_name_of(path);
  auto name = environment_name_of(path.substr(0, fixed)) + "<";
  for (char c : path.substr(fixed + 1)) name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::span<const Key> keys() { return kKeys; }

std::span<const DeprecatedKey> deprecated_keys() { return kDeprecatedKeys; }

}  // namespace waybill::config
