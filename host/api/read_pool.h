// Where routes read: sessions that see submissions.
#pragma once

#include <memory>

#include "api/session_pool.h"
#include "store/submissions/read_store.h"

namespace waybill {

using ReadPool = SessionPool<std::unique_ptr<ReadStore>>;

}  // namespace waybill
