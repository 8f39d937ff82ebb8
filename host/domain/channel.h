// An organisation's channel as a claim reads it: where its deliveries go now, and its secrets, still sealed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace waybill {

// Secrets are sealed with the organisation's data key, and that with a master key (vault/vault.h).
struct Channel {
  std::string id;                // a UUID
  std::string destination;       // JSON object for the plugin; its member "secret" is the channel's id
  std::int32_t key_id = 0;       // of the data key
  std::string data_key;          // sealed
  std::string secret;            // sealed
  std::string secondary;         // the secret before the last rotation, sealed; empty: none
  bool signs_with_text = false;  // the secret's own bytes are the key, also of "whsec_..."
  bool is_deleted = false;
  bool is_disabled = false;
};

// Ends of a delivery to a channel, beside those of its plugin.
inline constexpr const char* kChannelDeleted = "channel_deleted";
inline constexpr const char* kChannelDisabled = "channel_disabled";
inline constexpr const char* kGone = "gone";  // what an action type says of a destination that will not come back

inline constexpr const char* kRateField = "rate";  // of a channel's settings: the host's, not the plugin's

inline constexpr const char* kSecretField = "secret";  // of a channel: what its secrets are sealed for (vault/vault.h)

inline std::string channel_target(const std::string& channel_id) { return "channel:" + channel_id; }
inline bool is_channel_target(std::string_view target) { return target.starts_with("channel:"); }

}  // namespace waybill
