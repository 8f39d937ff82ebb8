// Typed identifiers: ids of different things never mix, and none is a string.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string_view>

namespace waybill {

template <class Tag>
struct Id {
  std::int64_t value = 0;
  auto operator<=>(const Id&) const = default;
};

using OrgId = Id<struct OrgTag>;
using SubmissionId = Id<struct SubmissionTag>;
using DeliveryId = Id<struct DeliveryTag>;
using RouteId = Id<struct RouteTag>;  // one resolved contract of one organisation; a row of contract_snapshots
using HostId = Id<struct HostTag>;
using ClaimToken = Id<struct ClaimTag>;

// The organisation that is always there. Its owners operate the installation.
inline constexpr OrgId kDefaultOrg{1};
inline constexpr std::string_view kDefaultOrgName = "default";

// A submission lives in one shard whole. Ids carry their shard in the low bits, so a lookup by id can name it.
using Shard = std::int16_t;
inline constexpr int kShardBits = 10;

template <class Tag>
constexpr Shard shard_of(Id<Tag> id) {
  return static_cast<Shard>(id.value & ((1 << kShardBits) - 1));
}

}  // namespace waybill

template <class Tag>
struct std::hash<waybill::Id<Tag>> {
  std::size_t operator()(waybill::Id<Tag> id) const noexcept { return std::hash<std::int64_t>{}(id.value); }
};
