// Notes which intents are whose, so that lists need no index of `submissions` (docs/decisions/0040-lists-of-intents.md).
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "store/pg/pg.h"

namespace waybill {

// How many numbers of ids are noted together: fewer wait for more, since each time costs a row for each organisation.
struct ListingBatch {
  std::int64_t least = 2'000;
  std::int64_t most = 10'000;
};

// On the session of its user; one thread at a time. Several hosts take turns.
class IntentListing {
 public:
  // Lists what came in before the last call of it, as far as that can no longer change. True: there is more.
  Result<bool> extend(Link& link, ListingBatch batch = {});

 private:
  // The newest number at one moment, and who may have written then. Once all of these have ended, no intent with a number up to
  // that one can appear any more.
  struct Look {
    std::int64_t newest = 0;
    std::string session;  // whose server it was: after a failover numbers may begin again below
    std::string writers = "{}";
  };
  Look last_;
};

// A place in `listed_intents`.
struct ListedPlace {
  std::int64_t org = 0;
  std::int64_t above = 0;
};

}  // namespace waybill
