// Which columns of an organisation's rows an import does not take as they are.
#pragma once

#include <span>
#include <string_view>

namespace waybill {

// Ids that are given anew, each kind by itself (imported_ids in import.sql), and what else belongs to an installation. A contract
// test holds the list against every column of numbers that there is.
struct ImportedColumn {
  std::string_view table;  // "*": each that has the column
  std::string_view column;
  std::string_view kind;
  std::string_view source{};  // of a shard: the column whose object tells it; of a delivery: the column of its submission
};

namespace imported {
// Ids, of which others speak.
inline constexpr std::string_view kObject = "object";    // submissions and deliveries, of object_ids, with their shard
inline constexpr std::string_view kNumber = "number";    // digests, of object_ids
inline constexpr std::string_view kEvent = "event";      // alert_events.event_no
inline constexpr std::string_view kRoute = "route";      // contract_snapshots.route_id
inline constexpr std::string_view kVersion = "version";  // pipeline_versions.version_id, found by its content
// Others.
inline constexpr std::string_view kAnew = "anew";  // an id that nothing speaks of: the database makes it
inline constexpr std::string_view kOrg = "org";
inline constexpr std::string_view kName = "name";
inline constexpr std::string_view kShard = "shard";    // that of `source`
inline constexpr std::string_view kHome = "home";      // a shard that the row tells itself
inline constexpr std::string_view kToken = "token";    // of a claim
inline constexpr std::string_view kHost = "host";      // none of this installation
inline constexpr std::string_view kKey = "key";        // the organisation's first data key
inline constexpr std::string_view kSecret = "secret";  // sealed afterwards
}  // namespace imported

std::span<const ImportedColumn> imported_columns();
bool is_imported_id(std::string_view kind);

}  // namespace waybill
