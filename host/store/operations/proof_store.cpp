// Reading what is on record of one submission on PostgreSQL, in one snapshot.
#include "store/operations/proof_store.h"

#include "domain/idempotency.h"
#include "store/forms/forms.sql.h"
#include "store/operations/proofs.sql.h"
#include "store/pg/tenant_link.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

template <class OneRow>
Proof read_proof(const OneRow& row) {
  return {.now = row.now(),
          .organisation = std::string(row.organisation()),
          .kind = std::string(row.kind()),
          .submission = read_submission(row),
          .content_hash = std::string(row.content_hash()),
          .body_hash = text_or_empty(row.body_hash()),
          .body_bytes = row.body_bytes(),
          .deliveries = {},
          .audit = {}};
}

Result<void> add_deliveries(Connection& connection, Proof& proof) {
  const auto& submission = proof.submission;
  const std::string shard = std::to_string(shard_of(submission.id));
  const auto rows =
      connection.run(sql::proof_deliveries, {shard, std::to_string(submission.org.value), std::to_string(submission.id.value)});
  TRY(rows);
  ArrayText ids;
  for (const auto row : *rows) {
    auto contract = contract_from_json(row.contract());
    TRY(contract);
    ids.add(row.delivery_id());
    proof.deliveries.push_back({.view = read_action_delivery(row),
                                .contract = std::move(*contract),
                                .composed_type = std::string(row.composed_type()),
                                .composed_hash = std::string(row.composed_hash()),
                                .edited_hash = std::string(row.edited_hash()),
                                .attempts = {}});
  }
  const auto attempts = connection.run(sql::proof_attempts, {shard, ids.take(), std::to_string(kMaxProvedAttempts + 1)});
  TRY(attempts);
  std::size_t count = 0;
  for (const auto row : *attempts) {
    proof.is_complete = ++count <= kMaxProvedAttempts;
    if (!proof.is_complete) break;
    for (auto& delivery : proof.deliveries) {
      if (delivery.view.delivery.value != row.delivery_id()) continue;
      delivery.attempts.push_back({read_attempt(row), std::string(row.sent_hash()), std::string(row.signed_with())});
      delivery.attempts.back().attempt.answer = row.answer();
    }
  }
  return {};
}

Result<std::optional<Proof>> completed(Connection& connection, Proof proof) {
  TRY(add_deliveries(connection, proof));
  const auto id = proof.submission.id;
  const auto audit = connection.run(sql::audit_of, {std::to_string(shard_of(id)), std::to_string(id.value)});
  TRY(audit);
  for (const auto row : *audit) proof.audit.push_back(read_audit_event(row));
  return proof;
}

class PgProofStore final : public ProofStore {
 public:
  PgProofStore(const DatabaseAddress& address, int shards) : address_(address), shards_(shards) {}

  Result<std::optional<Proof>> find(OrgId org, const std::string& kind, const std::string& reference) override {
    return read(org, [&](Connection& connection) -> Result<std::optional<Proof>> {
      const auto rows = connection.run(sql::proof_submissions, {std::to_string(shard_for(org, reference, shards_)),
                                                                std::to_string(org.value), null_if_empty(kind), reference});
      TRY(rows);
      if (rows->empty()) return std::optional<Proof>();
      if (rows->size() == 1) return completed(connection, read_proof(rows->front()));
      std::string kinds;
      for (const auto row : *rows) kinds += (kinds.empty() ? "" : ", ") + std::string(row.kind());
      return fail(Error::Kind::conflict,
                  "\"" + reference + "\" is the reference of several submissions: say which kind (" + kinds + ")");
    });
  }

  Result<std::optional<Proof>> find_notification(OrgId org, DeliveryId id) override {
    return read(org, [&](Connection& connection) -> Result<std::optional<Proof>> {
      const auto rows = connection.run(sql::proof_notification,
                                       {std::to_string(shard_of(id)), std::to_string(org.value), std::to_string(id.value)});
      TRY(rows);
      return rows->empty() ? std::optional<Proof>() : completed(connection, read_proof(rows->front()));
    });
  }

 private:
  template <class Work>
  Result<std::optional<Proof>> read(OrgId org, Work work) const {
    Link link(address_, "proof");
    return TenantLink(link, WithoutTenantRole::rely_on_statements).transact(org, work, kReadOnlySnapshot);
  }

  const DatabaseAddress address_;
  const int shards_;
};

}  // namespace

std::unique_ptr<ProofStore> make_proof_store(const DatabaseAddress& address, int shards) {
  return std::make_unique<PgProofStore>(address, shards);
}

}  // namespace waybill
