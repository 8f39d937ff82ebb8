// What is on record of a submission, in the database.  O5
#include "contract/store_world.h"
#include "store/operations/proof_store.h"

namespace waybill::testing {
namespace {

class ProofContract : public StoreWorld {
 protected:
  std::optional<Proof> proof(const std::string& ref, OrgId org = kDefaultOrg, const std::string& kind = "") {
    const auto found = proofs->find(org, kind, ref);
    EXPECT_TRUE(found) << found.error().what;
    return found.value_or(std::nullopt);
  }
  std::unique_ptr<ProofStore> proofs = make_proof_store(address, 1);
};

// O5
TEST_F(ProofContract, HasEachAttemptWithTheHashOfWhatWasSentAndTheKeys) {
  const std::string body = R"({"to":"1"})";
  submit({item("one", body)});
  const auto first = claim(route(), 1, {1}).rows.at(0);
  auto retry = retrying(first, {1}, first.created);
  retry.attempt->sent_hash = "\\x" + to_hex(as_view(sha256("first")));
  settled({retry});
  const auto second = claim(route(), 1, {2}).rows.at(0);
  auto end = ending(second, {2}, Status::accepted);
  end.attempt->sent_hash = "\\x" + to_hex(as_view(sha256("second")));
  end.attempt->signed_with = "0123456789abcdef fedcba9876543210";
  settled({end});
  const auto found = proof("one");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, "intent");
  EXPECT_EQ(found->organisation, "default");
  EXPECT_EQ(found->content_hash, to_hex(as_view(sha256(body))));
  EXPECT_EQ(found->body_hash, found->content_hash);
  EXPECT_EQ(found->body_bytes, static_cast<std::int64_t>(body.size()));
  EXPECT_EQ(found->submission.state, "accepted");
  ASSERT_EQ(found->deliveries.size(), 1u);
  const auto& delivery = found->deliveries[0];
  EXPECT_EQ(delivery.contract.url, "http://gateway.example.org/");
  EXPECT_EQ(delivery.view.status, Status::accepted);
  ASSERT_EQ(delivery.attempts.size(), 2u);
  EXPECT_EQ(delivery.attempts[0].attempt.number, 1u);
  EXPECT_EQ(delivery.attempts[0].sent_hash, to_hex(as_view(sha256("first"))));
  EXPECT_EQ(delivery.attempts[0].signed_with, "");
  EXPECT_EQ(delivery.attempts[1].sent_hash, to_hex(as_view(sha256("second"))));
  EXPECT_EQ(delivery.attempts[1].signed_with, "0123456789abcdef fedcba9876543210");
  EXPECT_EQ(delivery.attempts[1].attempt.provider_ref, "gw-1");
  ASSERT_EQ(found->audit.size(), 1u);
  EXPECT_EQ(found->audit[0].action, "intent_accepted");
  EXPECT_TRUE(found->is_complete);
}

// O5
TEST_F(ProofContract, OneThatHasNotEndedIsProvedAsFarAsItCame) {
  submit({item("one")});
  const auto found = proof("one");
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->submission.completed);
  ASSERT_EQ(found->deliveries.size(), 1u);
  EXPECT_EQ(found->deliveries[0].view.status, Status::due);
  EXPECT_TRUE(found->deliveries[0].attempts.empty());
}

// O5
TEST_F(ProofContract, WhatWasComposedAndWhatWasEditedHaveTheirHashes) {
  submit({item("one")});
  sql.execute(
      "INSERT INTO artifacts (shard, delivery_id, org_id, media_type, body) SELECT 0, delivery_id, 1, 'message/rfc822', 'abc' "
      "FROM ready");
  sql.execute("INSERT INTO edited_payloads (shard, delivery_id, org_id, body) SELECT 0, delivery_id, 1, 'def' FROM ready");
  const auto found = proof("one");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->deliveries.at(0).composed_type, "message/rfc822");
  EXPECT_EQ(found->deliveries.at(0).composed_hash, to_hex(as_view(sha256("abc"))));
  EXPECT_EQ(found->deliveries.at(0).edited_hash, to_hex(as_view(sha256("def"))));
}

// O5 N3
TEST_F(ProofContract, OfAnotherOrganisationThereIsNone) {
  sql.execute("INSERT INTO organisations (name) VALUES ('acme')");
  submit({item("one")});
  EXPECT_FALSE(proof("one", {2}));
  EXPECT_FALSE(proof("two"));
  EXPECT_FALSE(proof("one", kDefaultOrg, "form"));
  rely_on_statements();
  EXPECT_FALSE(proof("one", {2})) << "also without the tenant role";
}

// O5
TEST_F(ProofContract, AReferenceOfSeveralKindsIsAskedBack) {
  auto form = item("one");
  form.kind = "form";
  submit({item("one"), form});
  const auto both = proofs->find(kDefaultOrg, "", "one");
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().kind, Error::Kind::conflict);
  EXPECT_NE(both.error().what.find("form, intent"), std::string::npos) << both.error().what;
  EXPECT_EQ(proof("one", kDefaultOrg, "form")->kind, "form");
}

}  // namespace
}  // namespace waybill::testing
