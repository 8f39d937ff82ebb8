// Handling of proofs, from the parsed request to the reply.
#include "api/proof_routes.h"

#include <nlohmann/json.hpp>

#include "api/error_reply.h"
#include "api/proof_json.h"

namespace waybill {

std::vector<http::Route> proof_routes(FormPool& pool, Log& log, const PublicIds& ids) {
  const auto find = [&pool, &log, ids](http::Request request, http::Reply reply) {
    pool.ask(std::move(request), std::move(reply),
             [&log, ids](FormSession& session, const http::Request& asked, const http::Reply& answered) {
               const auto& id = asked.parameters.at("id");
               const auto kind = asked.query_value("kind").value_or("");
               const auto proof = find_proof(*session.proofs, asked.principal.org, kind, id, ids);
               if (!proof) return answered(error_reply(proof.error(), log, "proof.not_read"));
               answered(*proof ? http::json_response(200, dump(proof_json(**proof, ids)))
                               : http::error_response(404, "not_found", "there is no submission \"" + id + "\""));
             });
  };
  return {http::with_query({"GET", "/v1/proofs/{id}", http::Role::admin, find}, {"kind"})};
}

}  // namespace waybill
