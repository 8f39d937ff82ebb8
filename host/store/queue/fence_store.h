// What may have been sent since the moment to which the database was restored. As the tables' owner; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/pg/pg.h"
#include "store/queue/rescue_store.h"

namespace waybill {

struct FenceState {
  Timestamp now;
  std::optional<Timestamp> newest;  // submission
  std::string living;               // names of hosts; "": none lives
};

struct DoubtfulDelivery {
  OrphanedDelivery delivery;
  SubmissionId submission;
  std::string org, target;
};
struct DoubtPage {
  Timestamp now;
  std::vector<DoubtfulDelivery> items;
  std::optional<DeliveryId> next;  // the place behind which the next page begins; none: this is the last
};
struct DoubtNoted {
  std::int64_t count = 0;
  std::optional<DeliveryId> next;
};

// So many numbers of ids are left out: more than are given out in half a day at 2,000/s.
inline constexpr std::int64_t kIdsLeftOut = 100'000'000;

class FenceStore {
 public:
  virtual ~FenceStore() = default;
  virtual Result<FenceState> state() = 0;
  // False: this moment was noted before, and nothing is changed.
  virtual Result<bool> begin(Timestamp restored_to, const std::string& actor) = 0;
  // Pages of `most` rows of the queue, of which any number is in doubt.
  virtual Result<DoubtPage> in_doubt(Shard shard, Timestamp restored_to, DeliveryId after, std::size_t most) = 0;
  virtual Result<ClaimToken> new_token() = 0;
  // One transaction. Returns those that were free to be claimed under the token.
  virtual Result<std::vector<DeliveryId>> take(Shard shard, ClaimToken token, std::span<const DeliveryId> deliveries) = 0;
  // Of what may be sent again. A dry run only counts.
  virtual Result<DoubtNoted> note_doubt(Shard shard, Timestamp restored_to, DeliveryId after, std::size_t most, bool dry_run) = 0;
  virtual Result<void> end(Timestamp restored_to, const std::string& actor, std::int64_t ended, std::int64_t noted) = 0;
};

std::unique_ptr<FenceStore> make_fence_store(const DatabaseAddress& owner);

}  // namespace waybill
