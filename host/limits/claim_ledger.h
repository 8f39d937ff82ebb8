// The ledger of this host's claims: the tokens it gave out, which claims are open, which are done, which are unconfirmed.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "domain/job.h"
#include "store/queue_store.h"

namespace waybill {

// Safe from any thread.
class ClaimLedger {
 public:
  // Of all hosts' claims no two have the same token: a host makes fewer than 2^38 in its life (a thousand a second for eight
  // years), and fewer than 2^25 hosts ever register.
  static constexpr int kClaimBits = 38;
  ClaimToken next(HostId host) { return {host.value << kClaimBits | ++claims_}; }

  void opened(Shard shard, ClaimToken token, std::size_t rows);  // a claim of so many rows was carried out
  // Of the claims in `unwritten` some deliveries stay claimed until their lease is over.
  void settled(const std::vector<Finished>& batch, const std::vector<ClaimToken>& unwritten);
  std::map<Shard, std::vector<ClaimToken>> open() const;  // not all of their deliveries are settled
  DoneClaims take_done(Shard shard);                      // to be forgotten in the database
  void put_back_done(Shard shard, const DoneClaims& done);

  struct UnconfirmedClaim {
    Shard shard;
    HostId host;
    ClaimToken token;
  };
  void unconfirmed(UnconfirmedClaim claim);  // its answer never came: it may have been carried out all the same, or still may be
  std::optional<UnconfirmedClaim> any_unconfirmed() const;
  void given_back(ClaimToken token);

 private:
  struct Open {
    Shard shard;
    std::size_t left;  // deliveries of it that are not settled
    bool stays;        // not all of it could be written: its lease will tell
  };

  std::atomic<std::int64_t> claims_ = 0;
  mutable std::mutex mutex_;  // for all below
  std::unordered_map<ClaimToken, Open> open_;
  std::map<Shard, DoneClaims> done_;
  std::vector<UnconfirmedClaim> unconfirmed_;
};

}  // namespace waybill
