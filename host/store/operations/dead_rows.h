// Parts of the transactions on dead letters; call each inside a transaction.
#pragma once

#include <string>
#include <vector>

#include "store/operations/dead_store.h"
#include "store/pg/pg.h"

namespace waybill {

// A letter with everything that its operations need.
struct DeadLetterState {
  DeadLetter letter;
  std::string state;           // of the submission
  bool kept = false;           // its payload is still there
  std::string payload;         // as edited last, with Payloads::read
  Contract contract;           // of the delivery that died, with the destination as edited last
  RouteId route;               // of the delivery that died
  std::string result;          // JSON, or empty; with Payloads::read
  bool unfinished = false;     // the same action has an unfinished delivery
  bool infected = false;       // an attachment was found infected
  bool clean = false;          // every attachment was found clean
  bool present_stage = false;  // its submission is still in the state that the action belongs to; of a pipeline's
};
// The existing letters, in the order of `ids`. Do not read thousands of payloads at once.
enum class Payloads { leave, read };
Result<std::vector<DeadLetterState>> states_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids,
                                               Payloads payloads);
// Locks the rows of their submissions, in order of id.
Result<void> lock_submissions_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids);

// Newest first.
Result<DeadPage> letters_of(Connection& connection, OrgId org, const DeadFilter& filter, std::size_t most,
                            std::optional<DeliveryCursor> after, std::size_t max_walked = kMaxWalked);
// Oldest first; kinds that can be replayed come before others.
Result<std::vector<DeliveryId>> to_be_replayed(Connection& connection, OrgId org, const DeadFilter& filter, std::size_t most);

struct ReplayOrder {
  OrgId org;
  const DeadFilter& filter;
  const std::string& actor;
  bool dry_run = false;
  std::size_t rate = 1;  // a second
};
Result<Replays> replay_in(Connection& connection, const ReplayOrder& order);

struct CloneOrder {
  OrgId org;
  DeliveryId id;
  const std::string& reference;
  Shard shard;  // of the reference
  const std::vector<CloneAction>& actions;
  const std::string& actor;
};
Result<CloneResult> clone_in(Connection& connection, const CloneOrder& order);

}  // namespace waybill
