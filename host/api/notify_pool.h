// The sessions in which the routes of notifications do their work.
#pragma once

#include <memory>

#include "api/session_pool.h"
#include "store/notifications/notify_store.h"

namespace waybill {

using NotifyPool = SessionPool<std::unique_ptr<NotifyStore>>;

}  // namespace waybill
