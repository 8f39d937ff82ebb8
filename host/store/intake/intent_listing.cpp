// Ids are given out before they are committed: what is listed up to an id is complete once nobody can commit one below it.
#include "store/intake/intent_listing.h"

#include <algorithm>

#include "base/id.h"
#include "store/intake/intent_listing.sql.h"

namespace waybill {
namespace {

constexpr int kBatchesInARow = 8;

std::int64_t last_id_of(std::int64_t number) { return (number << kShardBits) | ((1 << kShardBits) - 1); }

// True: there was as much as one batch takes.
Result<bool> list_next(Connection& connection, std::int64_t newest, ListingBatch batch) {
  const auto locked = connection.run(sql::lock_listing);
  TRY(locked);
  if (locked->empty()) return false;
  const auto above = locked->front().upto(), first = above >> kShardBits;
  if (newest - first < batch.least) return false;
  const auto upto = last_id_of(std::min(newest, first + batch.most));
  TRY(connection.run(sql::list_next_intents, {std::to_string(above), std::to_string(upto)}));
  TRY(connection.run(sql::move_listing, {std::to_string(upto)}));
  return newest - first > batch.most;
}

}  // namespace

Result<bool> IntentListing::extend(Link& link, ListingBatch batch) {
  Look look;
  const auto newest = link.run(sql::newest_object);  // before the writers: who takes a number later is not among those
  TRY(newest);
  look.newest = newest->front().newest();
  look.session = newest->front().session();
  const auto writers = link.run(sql::writers_of_submissions, {last_.writers});
  TRY(writers);
  look.writers = writers->front().writers();
  const bool have_ended = !writers->front().has_known();
  if (look.session != last_.session) {
    last_ = std::move(look);
    return false;
  }
  if (!have_ended) return false;
  const auto complete = last_.newest;
  last_ = std::move(look);
  bool is_more = true;
  for (int i = 0; is_more && i < kBatchesInARow; ++i) {
    const auto listed = link.transact([&](Connection& connection) { return list_next(connection, complete, batch); });
    TRY(listed);
    is_more = *listed;
  }
  return is_more;
}

}  // namespace waybill
