// The list, table by table.
#include "store/organisations/import_columns.h"

namespace waybill {
namespace {

using namespace imported;  // NOLINT(google-build-using-namespace)

constexpr ImportedColumn kColumns[] = {
    {"*", "org_id", kOrg},
    {"organisations", "name", kName},
    {"pipeline_versions", "version_id", kVersion},
    {"contract_snapshots", "route_id", kRoute},
    {"channels", "shard", kHome},
    {"channels", "route_id", kRoute},
    {"channels", "key_id", kKey},
    {"channels", "secret", kSecret},
    {"alert_events", "event_no", kEvent},
    {"archived_submissions", "shard", kShard, "submission_id"},
    {"archived_submissions", "submission_id", kObject},
    {"artifacts", "shard", kShard, "delivery_id"},
    {"artifacts", "delivery_id", kObject},
    {"attachments", "shard", kShard, "submission_id"},
    {"attachments", "submission_id", kObject},
    {"attempts", "shard", kShard, "delivery_id"},
    {"attempts", "delivery_id", kObject},
    {"audit_log", "shard", kShard, "submission_id"},
    {"audit_log", "submission_id", kObject},
    {"audit_log", "delivery_id", kObject, "submission_id"},
    {"audit_log", "id", kAnew},
    {"dead_letter_edits", "id", kAnew},
    {"dead_letter_edits", "shard", kShard, "submission_id"},
    {"dead_letter_edits", "dead_letter_id", kObject, "submission_id"},
    {"dead_letter_edits", "submission_id", kObject},
    {"dead_letters", "shard", kShard, "id"},
    {"dead_letters", "id", kObject, "submission_id"},
    {"dead_letters", "submission_id", kObject},
    {"dead_letters", "replay_delivery", kObject, "submission_id"},
    {"deliveries", "shard", kShard, "id"},
    {"deliveries", "id", kObject, "submission_id"},
    {"deliveries", "submission_id", kObject},
    {"deliveries", "route_id", kRoute},
    {"digest_failures", "digest_id", kNumber},
    {"digest_failures", "shard", kShard, "submission_id"},
    {"digest_failures", "submission_id", kObject},
    {"edited_payloads", "shard", kShard, "delivery_id"},
    {"edited_payloads", "delivery_id", kObject},
    {"failure_digests", "digest_id", kNumber},
    {"form_submissions", "shard", kShard, "submission_id"},
    {"form_submissions", "submission_id", kObject},
    {"notification_events", "shard", kShard, "delivery_id"},
    {"notification_events", "delivery_id", kObject},
    {"notification_events", "event_no", kEvent},
    {"notification_replays", "notification", kObject},
    {"notification_windows", "latest", kObject},
    {"notifications", "shard", kShard, "delivery_id"},
    {"notifications", "delivery_id", kObject},
    {"notifications", "latest", kObject, "delivery_id"},
    {"pipeline_given", "shard", kShard, "submission_id"},
    {"pipeline_given", "submission_id", kObject},
    {"pipeline_repairs", "shard", kShard, "submission_id"},
    {"pipeline_repairs", "submission_id", kObject},
    {"pipeline_steps", "shard", kShard, "submission_id"},
    {"pipeline_steps", "submission_id", kObject},
    {"pipeline_submissions", "shard", kShard, "submission_id"},
    {"pipeline_submissions", "submission_id", kObject},
    {"pipeline_submissions", "version_id", kVersion},
    {"pipeline_submissions", "routes", kRoute},
    {"pipeline_submissions", "parent", kObject},
    {"ready", "shard", kShard, "delivery_id"},
    {"ready", "delivery_id", kObject, "submission_id"},
    {"ready", "submission_id", kObject},
    {"ready", "route_id", kRoute},
    {"ready", "claim_token", kToken},
    {"ready", "claimed_by", kHost},
    {"submissions", "shard", kShard, "id"},
    {"submissions", "id", kObject},
};

}  // namespace

std::span<const ImportedColumn> imported_columns() { return kColumns; }

bool is_imported_id(std::string_view kind) {
  return kind == kObject || kind == kNumber || kind == kEvent || kind == kRoute || kind == kVersion;
}

}  // namespace waybill
