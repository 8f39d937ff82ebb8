// The keys by which a submission is known once: to us (the payload's hash) and to receivers (the idempotency key).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "base/id.h"

namespace waybill {

using Sha256 = std::array<std::uint8_t, 32>;
Sha256 sha256(std::string_view bytes);
inline std::string_view as_view(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

// The key that every attempt of a delivery carries (referenceId, webhook-id, Message-ID). It depends on nothing but what the
// client handed in, so that a submission repeated after a restore from backup is still known to its receiver. A plain client
// reference of the default organisation ([A-Za-z0-9_-], at most 64 characters, not beginning with "wb_") is its own key; all
// else is hashed, so that two organisations never share one. At most 35 or 64 characters, printable ASCII.
std::string idempotency_key(OrgId org, std::string_view kind, std::string_view client_reference, int action_order);

// The shard of a submission among `shards`.
Shard shard_for(OrgId org, std::string_view client_reference, int shards);

}  // namespace waybill
