// Writing proofs.
#include "api/proof_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json_answer.h"
#include "api/query.h"
#include "domain/idempotency.h"

namespace waybill {
namespace {

Json keys_json(const std::string& ids) {
  if (ids.empty()) return nullptr;
  Json all = Json::array();
  for (std::size_t from = 0; from < ids.size();) {
    const auto to = std::min(ids.find(' ', from), ids.size());
    all.push_back(ids.substr(from, to - from));
    from = to + 1;
  }
  return all;
}

Json attempt_json(const ProvedAttempt& proved) {
  Json json = attempts_json({proved.attempt}).at(0);
  json["answer"] = json_or_null(proved.attempt.answer);
  json["sentSha256"] = text_or_null(proved.sent_hash);
  json["signedWith"] = keys_json(proved.signed_with);
  return json;
}

Json delivery_json(const Proof& proof, const ProvedDelivery& proved, const PublicIds& ids) {
  const auto& submission = proof.submission;
  const auto& contract = proved.contract;
  Json json{{"id", ids.text(proved.view.delivery.value)},
            {"actionOrder", proved.view.action_order},
            {"target", contract.cooldown_key()},
            {"idempotencyKey", idempotency_key(submission.org, proof.kind, submission.client_ref, proved.view.action_order)}};
  append_delivery(json, proved.view);
  json["replay"] = proved.view.replay;
  json["providerRef"] = text_or_null(proved.view.provider_ref);
  json["destination"] = contract.is_of_channel() ? Json(nullptr) : json_or_null(contract.destination);
  json["composed"] =
      proved.composed_hash.empty() ? Json(nullptr) : Json{{"mediaType", proved.composed_type}, {"sha256", proved.composed_hash}};
  json["editedBodySha256"] = text_or_null(proved.edited_hash);
  Json history = Json::array();
  for (const auto& one : proved.attempts) history.push_back(attempt_json(one));
  json["history"] = std::move(history);
  return json;
}

}  // namespace

Json proof_json(const Proof& proof, const PublicIds& ids) {
  const auto& submission = proof.submission;
  Json json{{"readAt", format_rfc3339(proof.now)},
            {"organisation", proof.organisation},
            {"kind", proof.kind},
            {"id", proof.kind == "notification" ? ids.text(submission.id.value) : submission.client_ref},
            {"target", submission.target},
            {"complete", proof.is_complete}};
  json["acknowledged"] = {{"at", format_rfc3339(submission.created)},
                          {"contentSha256", text_or_null(proof.content_hash)},
                          {"bodySha256", text_or_null(proof.body_hash)},
                          {"bodyBytes", proof.body_bytes ? Json(*proof.body_bytes) : Json(nullptr)}};
  json["state"] = submission.state;
  json["end"] = submission.completed
                    ? Json{{"at", format_rfc3339(*submission.completed)}, {"reason", text_or_null(submission.reason)}}
                    : Json(nullptr);
  Json deliveries = Json::array(), audit = Json::array();
  for (const auto& one : proof.deliveries) deliveries.push_back(delivery_json(proof, one, ids));
  for (const auto& one : proof.audit) audit.push_back(audit_json(one));
  json["deliveries"] = std::move(deliveries);
  json["audit"] = std::move(audit);
  return json;
}

Result<std::optional<Proof>> find_proof(ProofStore& store, OrgId org, const std::string& kind, const std::string& reference,
                                        const PublicIds& ids) {
  if (kind == "notification") {
    const auto id = delivery_id(reference, ids);
    return id ? store.find_notification(org, *id) : std::optional<Proof>();
  }
  if (!kind.empty() && kind != "intent" && kind != "form" && kind != "pipeline")
    return fail(Error::Kind::invalid, "kind must be intent, form, pipeline or notification");
  return store.find(org, kind, reference);
}

}  // namespace waybill
