// What a sender says of one attempt, after the host has checked it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace waybill {

enum class Verdict : std::uint8_t { accepted, rejected, transient, deferred };
enum class Reach : std::uint8_t { not_sent, maybe_sent, answered };
enum class Scope : std::uint8_t { this_job, whole_target };

// Bytes that a plugin made once of a delivery, to be sent in every attempt.
struct Artifact {
  std::string type;  // media type
  std::string bytes;

  bool operator==(const Artifact&) const = default;
};

struct Outcome {
  Verdict verdict = Verdict::transient;
  Reach reach = Reach::maybe_sent;
  Scope scope = Scope::this_job;
  std::int32_t code = 0;              // the protocol's own status
  std::optional<Millis> retry_after;  // the least time until a retry, as the receiver asked
  std::string reason;                 // a declared reason for `rejected`, else a short word
  std::string detail;                 // one line for people
  std::string provider_ref;
  std::string result;                           // JSON for the next stage
  std::string result_fault{};                   // why there is none, if the plugin gave one that cannot be stored
  std::shared_ptr<const std::string> answer{};  // JSON: what came back, of an attempt to reach an organisation's channel; or null
  std::optional<Artifact> artifact;             // of an accepted compose: nothing has been sent yet
  std::string sent_hash{};                      // of the last body that went out for it: SHA-256 in hexadecimal; "": not seen
  std::string signed_with{};                    // ids of the keys that signed it (services/sign.h), parted by blanks; or ""

  bool operator==(const Outcome&) const = default;
};

// How the host's own words begin for what a plugin did wrong, such as plugin_silent: its destination had no part in it.
inline constexpr std::string_view kPluginsFault = "plugin_";

std::string_view to_string(Verdict verdict);
std::string_view to_string(Reach reach);

}  // namespace waybill
