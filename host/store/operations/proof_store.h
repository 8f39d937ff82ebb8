// Everything on record of one submission, read at one moment, to prove what was sent for it. Each call has a session of its own
// for its time. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "store/forms/form_view.h"
#include "store/pg/pg.h"
#include "store/submissions/attempt_view.h"
#include "store/submissions/submission_view.h"

namespace waybill {

// Hashes are SHA-256 in hexadecimal digits; "": not on record.
struct ProvedAttempt {
  AttemptView attempt;
  std::string sent_hash;    // of the body that went out
  std::string signed_with;  // ids of keys (services/sign.h), parted by blanks
};
struct ProvedDelivery {
  ActionDeliveryView view;
  Contract contract;
  std::string composed_type, composed_hash;  // of what its plugin composed once for all attempts
  std::string edited_hash;                   // of what an operator gave it in place of the submission's body
  std::vector<ProvedAttempt> attempts;       // in order
};
struct Proof {
  Timestamp now;
  std::string organisation, kind;
  SubmissionView submission;
  std::string content_hash;  // by which a repetition is told from another submission under its reference
  std::string body_hash;     // "": the body is not kept any more
  std::optional<std::int64_t> body_bytes;
  std::vector<ProvedDelivery> deliveries;  // by action, then replay
  std::vector<AuditView> audit;            // in order of time
  bool is_complete = true;                 // all attempts are there, up to kMaxProvedAttempts
};
inline constexpr std::size_t kMaxProvedAttempts = 10'000;

class ProofStore {
 public:
  virtual ~ProofStore() = default;
  // None: there is no such submission. `kind`: intent, form or pipeline; "": any. Error::conflict: the reference is that of
  // submissions of several kinds.
  virtual Result<std::optional<Proof>> find(OrgId org, const std::string& kind, const std::string& reference) = 0;
  virtual Result<std::optional<Proof>> find_notification(OrgId org, DeliveryId id) = 0;
};

std::unique_ptr<ProofStore> make_proof_store(const DatabaseAddress& address, int shards);

}  // namespace waybill
