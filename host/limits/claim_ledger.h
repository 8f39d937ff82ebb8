// The claims of this host by fencing token: open (with unsettled deliveries), done, or unconfirmed.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "domain/job.h"
#include "store/queue/queue_store.h"

namespace waybill {

// Safe from any thread.
class ClaimLedger {
 public:
  ClaimToken next(HostId host) { return token_of(host, ++claims_); }

  void opened(Shard shard, ClaimToken token, std::size_t rows);  // this claim took `rows` deliveries
  // Claims in `unwritten` have deliveries that could not be written and stay claimed until their lease ends.
  void settled(const std::vector<Finished>& batch, const std::vector<ClaimToken>& unwritten);
  std::map<Shard, std::vector<ClaimToken>> open() const;  // claims with unsettled deliveries
  DoneClaims take_done(Shard shard);                      // to be deleted from the table claims
  void put_back_done(Shard shard, const DoneClaims& done);
  void deleted(Shard shard, const DoneClaims& done);  // from that table
  // The last kRemembered that were deleted are done once more: a new primary may lack that commit of the old one.
  void done_again();
  static constexpr std::size_t kRemembered = 20'000;

  struct UnconfirmedClaim {
    Shard shard;
    HostId host;
    ClaimToken token;
  };
  void unconfirmed(UnconfirmedClaim claim);  // its answer never came: it may have committed, or may still commit
  std::optional<UnconfirmedClaim> any_unconfirmed() const;
  void given_back(ClaimToken token);

 private:
  struct Open {
    Shard shard;
    std::size_t left;  // unsettled deliveries
    bool stays;        // some could not be written: the claim stays until its lease ends
  };

  std::atomic<std::int64_t> claims_ = 0;
  mutable std::mutex mutex_;  // for all below
  std::unordered_map<ClaimToken, Open> open_;
  std::map<Shard, DoneClaims> done_;
  std::deque<std::pair<Shard, ClaimToken>> deleted_;
  std::vector<UnconfirmedClaim> unconfirmed_;
};

}  // namespace waybill
