// Hashes and keys.
#include "domain/idempotency.h"

#include <openssl/sha.h>

#include <algorithm>

namespace waybill {
namespace {

bool is_plain(std::string_view reference) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !reference.empty() && reference.size() <= 64 && !reference.starts_with("wb_") &&
         std::all_of(reference.begin(), reference.end(), plain);
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 hash;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  return hash;
}

std::string idempotency_key(OrgId org, std::string_view kind, std::string_view client_reference, int action_order) {
  if (org == kDefaultOrg && kind == "intent" && action_order == 1 && is_plain(client_reference))
    return std::string(client_reference);
  std::string all = std::to_string(org.value);
  all.append(":").append(kind).append(":").append(std::to_string(action_order)).append(":").append(client_reference);
  return "wb_" + to_hex(as_view(sha256(all)).substr(0, 16));
}

Shard shard_for(OrgId org, std::string_view client_reference, int shards) {
  if (shards <= 1) return 0;
  const Sha256 hash = sha256(std::to_string(org.value) + ":" + std::string(client_reference));
  const unsigned number = hash[0] << 24 | hash[1] << 16 | hash[2] << 8 | hash[3];
  return static_cast<Shard>(number % static_cast<unsigned>(shards));
}

}  // namespace waybill
