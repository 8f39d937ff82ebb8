// HMAC-SHA256 with secrets that plugins know by name only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "services/secrets.h"

namespace waybill {

using Mac = std::array<std::uint8_t, 32>;

// One HMAC of the concatenated parts for each secret valid under this name, the newest first. False if the name is unknown.
// Safe from any thread.
bool sign_hmac_sha256(const Secrets& secrets, std::string_view name, std::span<const std::string_view> parts,
                      const std::function<void(const Mac&)>& sink);

// What tells a key from others and does not give it away: the first 16 hexadecimal digits of the HMAC of "waybill-key-id".
std::string key_id(const Secret& key);
std::string ids_of(std::span<const Secret> keys);  // with blanks between them

// The same with these keys.
void sign_hmac_sha256(std::span<const Secret> keys, std::span<const std::string_view> parts,
                      const std::function<void(const Mac&)>& sink);

}  // namespace waybill
