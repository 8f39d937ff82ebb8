// Every key that an operator can set: the one table that the loader reads by and that the documentation is tested against.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/value.h"

namespace waybill::config {

struct Key {
  std::string_view path;      // "limits.per_target"; a last part in angle brackets stands for a name of the operator's choice
  std::string_view unit;      // for people: "requests", "duration", "path", ...
  std::string_view fallback;  // the default as one would write it; empty when there is none
  void (*read)(const Value& value, const std::string& name, Config& config);  // `name` is what stands for the angle brackets

  bool is_named() const { return path.back() == '>'; }
  std::string_view section() const;      // "limits", or "" at the top
  std::string environment_name() const;  // "WAYBILL_LIMITS_PER_TARGET", "WAYBILL_RETRY_<ACTION TYPE>"
};

std::span<const Key> keys();

// A key that was renamed. The old name still works, with a warning.
struct DeprecatedKey {
  std::string_view path, now;
};
std::span<const DeprecatedKey> deprecated_keys();

// What an entry of `retry` and a reference of `secrets` may hold.
inline constexpr std::string_view kRetryFields[] = {"kind", "delay", "factor", "max_delay", "jitter"};
inline constexpr std::string_view kOAuth2Fields[] = {"token_url",       "client_id", "client_secret", "credentials",
                                                     "service_account", "subject",   "scope",         "audience"};
inline constexpr std::string_view kSecretFields[] = {"env", "file", "credential", "last"};

// "limits.per_target" -> "WAYBILL_LIMITS_PER_TARGET"; every character that a variable's name cannot have becomes "_".
std::string environment_name_of(std::string_view path);

// Readers of what is more than one word, in entries.cpp.
void read_listen(const Value& value, const std::string&, Config& config);
void read_metrics_listen(const Value& value, const std::string&, Config& config);
void read_allowed_hosts(const Value& value, const std::string&, Config& config);
void read_trusted_proxies(const Value& value, const std::string&, Config& config);
void read_egress_allow(const Value& value, const std::string&, Config& config);
void read_egress_deny(const Value& value, const std::string&, Config& config);
void read_sender(const Value& value, const std::string& action_type, Config& config);
void read_oauth2(const Value& value, const std::string& name, Config& config);
void read_secret(const Value& value, const std::string& secret, Config& config);
void read_schedule(const Value& value, const std::string&, Config& config);
void read_time_zone(const Value& value, const std::string&, Config& config);
void read_checked_targets(const Value& value, const std::string&, Config& config);
void read_tracing_endpoint(const Value& value, const std::string&, Config& config);
void read_tracing_headers(const Value& value, const std::string&, Config& config);
void read_retry(const Value& value, const std::string& action_type, Config& config);

}  // namespace waybill::config
