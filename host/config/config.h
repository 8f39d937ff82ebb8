// All of the operator's settings, read once into one immutable value. docs/operations/configuration.md lists every key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/problem.h"
#include "base/time.h"
#include "config/isolation.h"
#include "config/plugin_folders.h"
#include "config/setting_places.h"
#include "domain/retry_timing.h"
#include "egress/egress_policy.h"
#include "egress/transport_rules.h"

namespace waybill {

struct ListenAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free port; the log and the port file say which
  bool operator==(const ListenAddress&) const = default;
  bool is_loopback() const;  // localhost, 127.0.0.0/8 or ::1
};

// Files in PEM; all "" for plain HTTP.
struct ListenTls {
  std::filesystem::path certificate;  // with its chain
  std::filesystem::path key;
  std::filesystem::path client_ca;  // who signs clients' certificates; "": none is asked for
  bool client_required = false;     // no connection without one
  std::string min_version = "1.2";  // or 1.3
  bool operator==(const ListenTls&) const = default;
};

struct MetricsAccess {
  std::optional<ListenAddress> listen;  // a listener for nothing but health and metrics, without tokens
  bool is_open = false;                 // anybody may read them on the API's listener
  Millis objective{60'000};             // deliveries are to be accepted within this, counted from their acknowledgement
  bool operator==(const MetricsAccess&) const = default;
};

// The server ends a statement that takes longer than its kind may. 0 is not possible: nothing is to wait for ever.
struct DatabaseTimeouts {
  Millis intake{5'000};         // storing a group of submissions; a form's surface
  Millis read{5'000};           // an answer to a GET; a token
  Millis claim{15'000};         // a claim, or a look for due work
  Millis settle{15'000};        // a batch of ends
  Millis maintenance{120'000};  // a periodic task: counts, partitions, purges, alerts
  Millis liveness{2'000};       // the sign of life of this host
  Millis lock{3'000};           // of each of these, waiting for a lock
  bool operator==(const DatabaseTimeouts&) const = default;
};

struct DatabaseConfig {
  std::string url;                 // an existing server (libpq URI or keyword string), or
  std::filesystem::path embedded;  // a private PostgreSQL in this folder; exactly one of the two is set
  std::string schema = "waybill";
  bool migrate = true;    // apply missing migrations at start
  std::string owner_url;  // as whom the schema is changed; "" for the same as url
  DatabaseTimeouts timeouts;
  bool operator==(const DatabaseConfig&) const = default;
};

// Where a secret's value is found; never the value itself.
struct SecretReference {
  enum class Kind : std::uint8_t { environment, file, credential };  // credential: what the service manager hands to the service
  Kind kind;
  std::string name;      // variable name, file path or the credential's name
  std::size_t last = 0;  // the secret is so many of its last bytes; 0: all
  int line = 0;          // of the configuration file, where it stands; 0: unknown
  bool operator==(const SecretReference&) const = default;
};

struct Limits {
  std::size_t in_flight = 2048;      // deliveries claimed by this host at one time; some of them reserved, see reserve()
  std::size_t per_target = 256;      // of these, for one target
  std::size_t per_org = 1024;        // of these, for one organisation
  std::size_t per_org_channels = 5;  // by all hosts, to the channels of one organisation: notify.per_org
  std::size_t per_channel = 3;       // of these, to one channel: notify.per_channel
  std::size_t per_host_name = 128;   // open requests to one host name
  std::size_t blocking_workers = 8;  // threads for each action type whose plugin blocks
  std::size_t claim_batch = 1000;
  std::size_t in_flight_bytes = 64 << 20;  // of the bodies of what is in flight
  std::size_t http_connections = 10000;
  std::size_t http_connections_per_address = 2000;
  std::size_t http_bytes = std::size_t{256} << 20;              // of requests that are read or wait for their answer
  std::size_t http_bytes_per_address = std::size_t{128} << 20;  // of these
  std::size_t body_bytes = 1 << 20;
  std::size_t header_bytes = 16 << 10;
  std::size_t failed_sign_ins = 60;  // of one address in a minute; 429 from then on
  bool operator==(const Limits&) const = default;

  // A large host keeps a few places for targets that hold almost none, so that their deliveries need not wait for a released one.
  std::size_t reserve() const { return in_flight >= 1024 ? in_flight / 32 : 0; }
};

struct Timeouts {
  Millis attempt{10'000};                 // one attempt
  Millis attempt_grace{1'000};            // after that, how long a silent plugin may take to give up
  Millis request_read{10'000};            // an HTTP client must have sent its request by then
  Millis answer{5'000};                   // a request is answered by then, with 503 if need be; longer where it waits on purpose
  Millis idle{75'000};                    // a kept-alive connection without a request
  Millis drain{20'000};                   // SIGTERM: how long work in flight may take
  Millis lease{60'000};                   // a claim that nobody settled for so long is taken back; longer than attempt + grace
  Millis poll{500};                       // the longest time between two looks for due work
  Millis takeover{250};                   // between two looks for dead hosts
  Millis cooldown{30'000};                // the longest cooldown of a target in an outage that named no time itself; 0: none
  Millis outage{std::chrono::hours(24)};  // while a target's outage is shorter, attempts do not count
  Millis retry_after{3600'000};           // the most that a destination's Retry-After may ask for
  bool operator==(const Timeouts&) const = default;
};

struct Alerts {
  std::string target;                // of the registry; "" for none
  Millis quiet{15 * 60'000};         // between two messages about one incident
  Millis stuck{15 * 60'000};         // work that is due for so long and not taken is stuck
  Millis digest_every{60 * 60'000};  // failures of providers are summed up over this, aligned to the clock
  bool operator==(const Alerts&) const = default;
};

struct Notify {
  std::string key;                                   // name of the secret that is the master key; "": no channels can be made
  Millis debounce{120'000};                          // a window ends so long after its latest event
  Millis max_wait{10 * 60'000};                      // and so long after its first, whatever comes
  std::size_t attempts = 4;                          // of each delivery to a channel
  Millis orphan_scan{5 * 60'000};                    // how long an event may be without deliveries
  Millis secret_grace{std::chrono::hours{24}};       // how long a rotated secret should stay
  Millis disable_after{std::chrono::hours{5 * 24}};  // a channel that has only failed for so long is disabled
  bool operator==(const Notify&) const = default;
};

struct FailureCheckConfig {
  std::string schedule = "0 9 * * *";  // of cron; "never"
  std::string time_zone = "UTC";
  std::vector<std::string> targets;  // of the registry; empty: all whose plugin lists failures
  bool operator==(const FailureCheckConfig&) const = default;
};

// 0: never.
struct ArchiveConfig {
  Millis failed_after{std::chrono::hours{30 * 24}};     // pipelines' submissions that wait for a replay
  Millis completed_after{std::chrono::hours{30 * 24}};  // those that have ended
  Millis delete_after{std::chrono::hours{7 * 24}};      // from the archive
  bool operator==(const ArchiveConfig&) const = default;
};

// Whose tokens the host gets for plugins (RFC 6749, 4.4, or RFC 7523 with a service account).
struct OAuth2Client {
  std::string token_url;
  std::string client_id;        // of client credentials
  std::string client_secret;    // the name of a secret
  bool secret_in_body = false;  // else in the Authorization header
  std::string service_account;  // the name of a secret, in place of the two; "": client credentials
  std::string subject;          // on whose behalf a service account asks; "": its own
  std::string scope;
  std::string audience;
  TransportRules transport;
  int line = 0;  // of the configuration file
  bool operator==(const OAuth2Client&) const = default;
};

// Where spans of submissions go; "" for none.
struct TracingConfig {
  std::string endpoint;                        // of OTLP over HTTP
  std::map<std::string, std::string> headers;  // further ones; a value may have {secret:NAME}
  double ratio = 0.1;                          // of submissions without a traceparent, the share that is traced
  std::string service_name = "waybill";
  bool operator==(const TracingConfig&) const = default;
  bool is_on() const { return !endpoint.empty(); }
};

struct Config {
  std::filesystem::path file;  // "" when there was none
  std::string host_name;       // by which operators know this host after a restart; "" for the machine's
  ListenAddress listen;
  std::filesystem::path port_file;  // where serve writes the port it got; "" for nowhere
  bool auth_none = false;
  ListenTls tls;
  MetricsAccess metrics;
  TracingConfig tracing;
  std::vector<std::string> allowed_hosts;     // that the Host header may name besides loopback, with auth none; in lower case
  std::vector<AddressRange> trusted_proxies;  // whose X-Forwarded-For is believed
  DatabaseConfig database;
  std::filesystem::path registry = "./registry";
  std::filesystem::path plugins = "./plugins";
  std::vector<std::filesystem::path> more_plugins;  // further folders
  PluginFolders plugin_folders() const { return {plugins, more_plugins}; }
  std::filesystem::path breadcrumbs;           // what a dead host was inside of; "" for the default place
  std::map<std::string, std::string> senders;  // action type -> JSON object of its plugin's settings
  std::map<std::string, std::set<std::string, std::less<>>>
      readable_secrets;   // action type -> names of secrets that its plugin may read
  Isolations isolations;  // where plugins run
  std::map<std::string, OAuth2Client> oauth2;
  std::map<std::string, TransportRules> transports;             // action type -> how its connections are secured
  std::map<std::string, std::vector<SecretReference>> secrets;  // newest first; two during a rotation
  std::string link_key;                                    // name of the secret that signs links to stored objects; "" for none
  Millis kept_intents{0};                                  // how long an intent is kept after it was handed in; 0: for ever
  Millis kept_notifications{std::chrono::hours{90 * 24}};  // the same of deliveries to channels, and their events
  Millis kept_forms{std::chrono::hours{90 * 24}};          // how long a form's submission is kept that says nothing of it
  Alerts alerts;
  Notify notify;
  FailureCheckConfig failure_check;
  ArchiveConfig archive;
  Millis monitor_interval{10'000};                               // between two log events of the queue's state; 0: none
  std::size_t replay_rate = 10;                                  // dead letters replayed a second, of each organisation
  std::map<std::string, RetryTiming> retry = default_timings();  // "default" is always there
  EgressRules egress;
  Limits limits;
  Timeouts timeouts;
  std::string log_level = "info";
  std::string log_format = "auto";  // auto, json, pretty, journal
  Problems warnings;                // old names of keys that were used
  SettingPlaces places;             // where each setting stands

  bool operator==(const Config&) const = default;
  const RetryTiming& retry_for(const std::string& action_type) const;
  // What is wrong with a setting, such as "senders.sms.timeout_ms", where it stands.
  Problem problem(const std::string& path, std::string message) const;
};

// Reads a YAML file, then the environment (WAYBILL_ + the key's path in upper case, dots as underscores), then checks all of
// it. Relative paths in the file are relative to the file's folder, those from the environment to the working directory.
// `environment` is a list of "NAME=value". An empty `file` means defaults and environment only.
tl::expected<Config, Problems> load_config(const std::filesystem::path& file, const std::vector<std::string>& environment);

}  // namespace waybill
