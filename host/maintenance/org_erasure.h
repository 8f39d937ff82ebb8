// Erases an organisation from the database, and says what was erased.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "store/organisations/erasure_store.h"

namespace waybill {

struct ErasureOrder {
  std::string name, actor;
  int pages = 128;  // of a table in one transaction
};

// Hosts refuse the tokens of a disabled organisation within a second, and requests that came before have ended after this.
inline constexpr Seconds kDisabledBeforeErasure{60};

// Returns the certificate, a JSON object, which the audit keeps as well. It may be interrupted and called again; of an
// organisation that was erased before it returns the certificate that is kept. Error::not_found: there is and was none.
// Error::conflict: it is not disabled, or not for long enough. `progress` is told how many rows are erased.
Result<std::string> erase_organisation(ErasureStore& store, const ErasureOrder& order,
                                       const std::function<void(std::int64_t rows)>& progress = {});

}  // namespace waybill
