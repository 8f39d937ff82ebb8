// Which jobs of pg-boss may be handed in for a pipeline or a target without losing a part of them.
#pragma once

#include <string>

#include "domain/pipeline_definition.h"
#include "store/pgboss_store.h"

namespace waybill {

// Why the job must stay where it is; "": it may go. A job's `onComplete` asks for another job after it: somebody must begin that
// one. A target begins nothing: `pipeline` is null then.
std::string fault_in_follow_up(const PgBossJob& job, const Pipeline* pipeline);

}  // namespace waybill
