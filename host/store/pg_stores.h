// Creates the stores on PostgreSQL.
#pragma once

#include <memory>

#include "base/public_ids.h"
#include "store/forms/form_store.h"
#include "store/intake/intake_store.h"
#include "store/notifications/notify_store.h"
#include "store/operations/alert_store.h"
#include "store/operations/archive_store.h"
#include "store/operations/dead_store.h"
#include "store/operations/failure_check_store.h"
#include "store/operations/maintenance_store.h"
#include "store/operations/monitor_store.h"
#include "store/organisations/org_store.h"
#include "store/organisations/token_store.h"
#include "store/pg/pg.h"
#include "store/pipelines/pipeline_store.h"
#include "store/queue/queue_store.h"
#include "store/queue/rescue_store.h"
#include "store/queue/settle_store.h"
#include "store/queue/suspect_store.h"
#include "store/submissions/read_store.h"
#include "vault/vault.h"

namespace waybill {

std::unique_ptr<IntakeStore> make_intake_store(const DatabaseAddress& address);
// `masters`: the master keys that open the secrets of channels; without them nothing of these is claimed.
std::unique_ptr<QueueStore> make_queue_store(const DatabaseAddress& address, std::vector<std::string> masters = {});
// `shards` of the database: pipelines may start submissions in others.
std::unique_ptr<SettleStore> make_settle_store(const DatabaseAddress& address, int shards = 1);
std::unique_ptr<RescueStore> make_rescue_store(const DatabaseAddress& address);
std::unique_ptr<MaintenanceStore> make_maintenance_store(const DatabaseAddress& address);
std::unique_ptr<ReadStore> make_read_store(const DatabaseAddress& address, int shards);
std::unique_ptr<AlertStore> make_alert_store(const DatabaseAddress& address);
std::unique_ptr<ArchiveStore> make_archive_store(const DatabaseAddress& address);
std::unique_ptr<MonitorStore> make_monitor_store(const DatabaseAddress& address, int shards);
std::unique_ptr<SuspectStore> make_suspect_store(const DatabaseAddress& address);
// `purpose` of its session: "tokens" reads only, and a host's task writes.
std::unique_ptr<TokenStore> make_token_store(const DatabaseAddress& address, const std::string& purpose = "tokens");
// `lease`: how long a check is its process's without a sign of it.
std::unique_ptr<FailureCheckStore> make_failure_check_store(const DatabaseAddress& address, Millis lease);
std::unique_ptr<OrgStore> make_org_store(const DatabaseAddress& address);
// `kept`: the retention of submissions that name none.
std::unique_ptr<FormStore> make_form_store(const DatabaseAddress& address, int shards, Millis kept,
                                           Millis try_again = kTryFormAgain);
std::unique_ptr<PipelineStore> make_pipeline_store(const DatabaseAddress& address, int shards);
// `rate`: the most replays per second and organisation.
std::unique_ptr<DeadStore> make_dead_store(const DatabaseAddress& address, int shards, std::size_t rate);

struct NotifyStoreSettings {
  std::shared_ptr<const Vault> vault;
  Millis debounce;               // a window ends so long after its latest event
  Millis max_wait{600'000};      // and so long after its first, whatever comes
  std::uint32_t attempts = 4;    // of each delivery
  std::size_t max_bytes = 0;     // of a notification; an event that is too much for an open one begins another
  std::size_t replay_rate = 10;  // deliveries that become due a second, when those of a window are sent again
  Millis secret_grace;           // how long a second secret may stay
};
std::unique_ptr<NotifyStore> make_notify_store(const DatabaseAddress& address, int shards, NotifyStoreSettings settings);

// The number of shards of this database.
Result<int> read_shards(const DatabaseAddress& address);
Result<Timestamp> read_time(const DatabaseAddress& address);
// What the API shows ids with.
Result<PublicIds> read_public_ids(const DatabaseAddress& address);
// Whether plugins that are not Waybill's own stay in the host where nobody says otherwise, since hosts of an earlier version ran
// here.
Result<bool> keeps_plugins_in_host(const DatabaseAddress& address);

}  // namespace waybill
