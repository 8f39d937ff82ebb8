// Where routes read: sessions that see submissions and tokens.
#pragma once

#include <memory>

#include "api/session_pool.h"
#include "store/read_store.h"
#include "store/token_store.h"

namespace waybill {

struct ReadSession {
  std::unique_ptr<ReadStore> reader;
  std::unique_ptr<TokenStore> tokens;
};
using ReadPool = SessionPool<ReadSession>;

}  // namespace waybill
