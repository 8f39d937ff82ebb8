// The table of keys. A row is a path, what it counts, its default, and how it is read, with its bounds.
#include "config/keys.h"

namespace waybill::config {
namespace {

using std::chrono::hours;
using Name = const std::string&;

constexpr Millis kDay = hours{24};

void read_auth(const Value& value, Config& config) {
  std::string word = config.auth_none ? "none" : "tokens";
  value.word(word, {"tokens", "none"});
  config.auth_none = word == "none";
}

void read_url(const Value& value, Config& config) {
  constexpr auto kAllowed = "postgresql://user@host:port/name, or words such as host=... dbname=...";
  const auto text = value.text(kAllowed);
  if (!text) return;
  const bool known = text->starts_with("postgresql://") || text->starts_with("postgres://") ||
                     (text->find('=') != std::string::npos && text->find("://") == std::string::npos);
  if (!known) return value.fail(std::string("must be ") + kAllowed);
  config.database.url = *text;
}

void read_schema(const Value& value, Config& config) {
  constexpr auto kAllowed = "a name of PostgreSQL: a lower-case letter or _, then lower-case letters, digits or _, 63 at most, not pg_...";
  const auto text = value.text(kAllowed);
  if (!text) return;
  const bool good = text->size() <= 63 && text->find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
                    !(text->front() >= '0' && text->front() <= '9') && !text->starts_with("pg_");
  if (!good) return value.fail(std::string("must be ") + kAllowed);
  config.database.schema = *text;
}

// Nothing here captures; each row's lambda becomes a plain function pointer.
constexpr Key kKeys[] = {
    // path                     unit           default             how it is read
    {"listen", "address", "127.0.0.1:8080", [](const Value& v, Name, Config& c) { read_listen(v, c); }},
    {"auth", "word", "tokens", [](const Value& v, Name, Config& c) { read_auth(v, c); }},
    {"database.url", "libpq address", "", [](const Value& v, Name, Config& c) { read_url(v, c); }},
    {"database.embedded", "path", "", [](const Value& v, Name, Config& c) { v.path(c.database.embedded); }},
    {"database.schema", "name", "waybill", [](const Value& v, Name, Config& c) { read_schema(v, c); }},
    {"database.migrate", "true or false", "true", [](const Value& v, Name, Config& c) { v.flag(c.database.migrate); }},
    {"registry", "path", "./registry", [](const Value& v, Name, Config& c) { v.path(c.registry); }},
    {"plugins", "path", "./plugins", [](const Value& v, Name, Config& c) { v.path(c.plugins); }},
    {"port_file", "path", "", [](const Value& v, Name, Config& c) { v.path(c.port_file); }},
    {"senders.<action type>", "mapping", "{}", read_sender},
    {"secrets.<name>", "reference", "", read_secret},
    {"retry.<action type>", "mapping", "", read_retry},
    {"limits.in_flight", "deliveries", "2048", [](const Value& v, Name, Config& c) { v.count(c.limits.in_flight, 1, 1'000'000); }},
    {"limits.per_target", "deliveries", "256", [](const Value& v, Name, Config& c) { v.count(c.limits.per_target, 1, 1'000'000); }},
    {"limits.per_org", "deliveries", "1024", [](const Value& v, Name, Config& c) { v.count(c.limits.per_org, 1, 1'000'000); }},
    {"limits.per_host_name", "requests", "128",
     [](const Value& v, Name, Config& c) { v.count(c.limits.per_host_name, 1, 100'000); }},
    {"limits.blocking_workers", "threads", "8",
     [](const Value& v, Name, Config& c) { v.count(c.limits.blocking_workers, 1, 1024); }},
    {"limits.claim_batch", "deliveries", "1000", [](const Value& v, Name, Config& c) { v.count(c.limits.claim_batch, 1, 100'000); }},
    {"limits.http_connections", "connections", "10000",
     [](const Value& v, Name, Config& c) { v.count(c.limits.http_connections, 1, 1'000'000); }},
    {"limits.body_bytes", "bytes", "1048576",
     [](const Value& v, Name, Config& c) { v.count(c.limits.body_bytes, 1024, 256 << 20); }},
    {"limits.header_bytes", "bytes", "16384",
     [](const Value& v, Name, Config& c) { v.count(c.limits.header_bytes, 1024, 1 << 20); }},
    {"timeouts.attempt", "duration", "10s",
     [](const Value& v, Name, Config& c) { v.duration(c.timeouts.attempt, Millis{10}, hours{1}); }},
    {"timeouts.attempt_grace", "duration", "1s",
     [](const Value& v, Name, Config& c) { v.duration(c.timeouts.attempt_grace, Millis{10}, hours{1}); }},
    {"timeouts.request_read", "duration", "10s",
     [](const Value& v, Name, Config& c) { v.duration(c.timeouts.request_read, Millis{100}, hours{1}); }},
    {"timeouts.idle", "duration", "75s",
     [](const Value& v, Name, Config& c) { v.duration(c.timeouts.idle, Millis{100}, hours{1}); }},
    {"timeouts.drain", "duration", "20s", [](const Value& v, Name, Config& c) { v.duration(c.timeouts.drain, Millis{0}, hours{1}); }},
    {"timeouts.lease", "duration", "60s", [](const Value& v, Name, Config& c) { v.duration(c.timeouts.lease, Millis{1000}, kDay); }},
    {"timeouts.poll", "duration", "500ms",
     [](const Value& v, Name, Config& c) { v.duration(c.timeouts.poll, Millis{10}, hours{1}); }},
    {"timeouts.takeover", "duration", "250ms",
     [](const Value& v, Name, Config& c) { v.duration(c.timeouts.takeover, Millis{10}, hours{1}); }},
    {"timeouts.target_rest", "duration", "30s",
     [](const Value& v, Name, Config& c) { v.duration(c.timeouts.target_rest, Millis{0}, kDay); }},
    {"log.level", "word", "info", [](const Value& v, Name, Config& c) { v.word(c.log_level, {"debug", "info", "warn", "error"}); }},
    {"log.format", "word", "auto", [](const Value& v, Name, Config& c) { v.word(c.log_format, {"auto", "json", "pretty"}); }},
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

}  // namespace waybill::config
